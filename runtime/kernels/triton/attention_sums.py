"""The sums of attention that a block keeps for a few rows, while it goes through keys and values.

They are three tuples: of each row the largest score and the sum of the weights so far, float32 [KEYS], and the weighted
sum of each element of the values, float32 [KEYS, LANES]. Every token of a tile has its own, and they are joined at the
end. A row is a query head of the block's key head; those of a token follow one another.
"""

from __future__ import annotations

import triton
import triton.language as tl

from runtime.kernels.triton.cached_rows import column_of, lanes_of, word_elements, words_of

LOWEST = tl.constexpr(-1e30)
"""A score below all others, and yet finite: the difference of two of them is 0."""


@triton.jit
def part_of_context(first_row, before, length, group, window, splits, least_split_keys, ROWS: tl.constexpr):
    """The first key that a tile of rows sees, the one after the last, and how many of them a part has.

    `before` is the number of tokens before the request's `length` rows.
    """
    last_token = tl.minimum((first_row + ROWS - 1) // group, length - 1)
    first = tl.maximum(before + first_row // group - window + 1, 0)
    stop = before + last_token + 1
    # A multiple of 64 is one of every KEYS, so that no part ends within a tile of keys.
    part = tl.maximum((tl.cdiv(stop - first, splits) + 63) // 64 * 64, least_split_keys)
    return first, stop, part


@triton.jit
def load_queries(
    queries,
    lane,
    first_row,
    group,
    length,
    query_stride,
    score_scale,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The scaled elements of rows, row after row: a tuple of tensors float32 [LANES]."""
    asked = ()
    for row in tl.static_range(ROWS):
        index = first_row + row
        place = queries + index // group * query_stride + index % group * HEAD_DIM
        present = (lane >= 0) & (index < length * group)
        for element in tl.static_range(_elements(ENCODING, HEAD_DIM)):
            read = tl.load(place + column_of(lane, element, ENCODING, HEAD_DIM), mask=present, other=0)
            asked = asked + (read.to(tl.float32) * score_scale,)
    return asked


@triton.jit
def no_sums(ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr):
    """The sums before any key."""
    tops, totals, sums = (), (), ()
    for _ in tl.static_range(ROWS):
        tops = tops + (tl.full((KEYS,), LOWEST, tl.float32),)
        totals = totals + (tl.zeros((KEYS,), tl.float32),)
        for _ in tl.static_range(_elements(ENCODING, HEAD_DIM)):
            sums = sums + (tl.zeros((KEYS, lanes_of(ENCODING, HEAD_DIM)), tl.float32),)
    return tops, totals, sums


@triton.jit
def add_keys(
    known,
    asked,
    key_rows,
    value_rows,
    token,
    present,
    limits,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The sums with a tile of keys and values, as `load_rows` read them.

    Args:
        token: int32 [KEYS], their positions; present: which of them are.
        limits: (tokens before the first row's, the first row, query heads a key head, window, soft cap or 0).
    """
    tops, totals, sums = known
    before, first_row, group, window, softcap = limits
    new_tops, new_totals, new_sums = (), (), ()
    for row in tl.static_range(ROWS):
        position = before + (first_row + row) // group
        seen = present & (token <= position) & (token > position - window)
        score = tl.where(seen, _score(asked, key_rows, softcap, row, ENCODING, HEAD_DIM), LOWEST)
        top = tl.maximum(tops[row], score)
        kept = tl.exp(tops[row] - top)
        weight = tl.where(seen, tl.exp(score - top), 0)
        new_tops = new_tops + (top,)
        new_totals = new_totals + (totals[row] * kept + weight,)
        new_sums = new_sums + _weighted(sums, kept, weight, value_rows, row, ENCODING, HEAD_DIM)
    return new_tops, new_totals, new_sums


@triton.jit
def store_outputs(
    outputs,
    known,
    lane,
    limits,
    length,
    num_kv_heads,
    value_scale,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Store the weighted means of the values, where `outputs` is the key head's place in the request's first row.

    `limits` are those of `add_keys`.
    """
    tops, totals, sums = known
    _, first_row, group, _, _ = limits
    for row in tl.static_range(ROWS):
        index = first_row + row
        share = tl.exp(tops[row] - tl.max(tops[row], 0))
        factor = value_scale / tl.sum(totals[row] * share, 0)
        place = outputs + (index // group * num_kv_heads * group + index % group) * HEAD_DIM
        present = (lane >= 0) & (index < length * group)
        for element in tl.static_range(_elements(ENCODING, HEAD_DIM)):
            value = tl.sum(sums[row * _elements(ENCODING, HEAD_DIM) + element] * share[:, None], 0) * factor
            tl.store(place + column_of(lane, element, ENCODING, HEAD_DIM), value.to(tl.float16), mask=present)


@triton.jit
def hand_over(
    known,
    parts,
    counter,
    index,
    count,
    lane,
    stored_rows,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    """Store the sums of one part, and in the block that is the last to do so join those of all.

    Args:
        parts: where, for float32 [count, ROWS, HEAD_DIM + 2]; index: of this part.
        counter: how many parts are there, int32: 0 before the first and after the last.
        stored_rows: how many of the rows there are.

    Returns:
        The sums of all parts, or else this one's; and whether they are those of all.
    """
    _store_part(parts + index * ROWS * (HEAD_DIM + 2), known, lane, stored_rows, ENCODING, HEAD_DIM, ROWS)
    # All threads have stored before one of them tells the other blocks so.
    tl.debug_barrier()
    is_last = tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu") == count - 1
    if is_last:
        known = _join_parts(parts, count, lane, stored_rows, ENCODING, HEAD_DIM, ROWS, KEYS)
        tl.store(counter, 0)
    return known, is_last


@triton.jit
def _store_part(part, known, lane, stored_rows, ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr, ROWS: tl.constexpr):
    """Store of each row its weighted values, an element of all lanes after another, its largest score and the sum of
    its weights.
    """
    LANES: tl.constexpr = lanes_of(ENCODING, HEAD_DIM)
    tops, totals, sums = known
    for row in tl.static_range(ROWS):
        exists = row < stored_rows
        top = tl.max(tops[row], 0)
        share = tl.exp(tops[row] - top)
        place = part + row * (HEAD_DIM + 2)
        for element in tl.static_range(_elements(ENCODING, HEAD_DIM)):
            value = tl.sum(sums[row * _elements(ENCODING, HEAD_DIM) + element] * share[:, None], 0)
            tl.store(place + element * LANES + lane, value, mask=exists & (lane >= 0))
        tl.store(place + HEAD_DIM, top, mask=exists)
        tl.store(place + HEAD_DIM + 1, tl.sum(totals[row] * share, 0), mask=exists)


@triton.jit
def _join_parts(
    parts,
    count,
    lane,
    stored_rows,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    """The sums of all parts, which are added like keys, always in the same order."""
    tops, totals, sums = no_sums(ENCODING, HEAD_DIM, ROWS, KEYS)
    for at in range(0, count, KEYS):
        part = at + tl.arange(0, KEYS)
        known = (tops, totals, sums)
        tops, totals, sums = _add_parts(known, parts, part, part < count, lane, stored_rows, ENCODING, HEAD_DIM, ROWS)
    return tops, totals, sums


@triton.jit
def _add_parts(
    known,
    parts,
    part,
    present,
    lane,
    stored_rows,
    ENCODING: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The sums with those of a tile of parts."""
    LANES: tl.constexpr = lanes_of(ENCODING, HEAD_DIM)
    tops, totals, sums = known
    new_tops, new_totals, new_sums = (), (), ()
    for row in tl.static_range(ROWS):
        place, read = parts + (part * ROWS + row) * (HEAD_DIM + 2), present & (row < stored_rows)
        # From the L2 cache, the first that all multiprocessors share.
        part_top = tl.load(place + HEAD_DIM, mask=read, other=LOWEST, cache_modifier=".cg")
        part_total = tl.load(place + HEAD_DIM + 1, mask=read, other=0, cache_modifier=".cg")
        values = ()
        for element in tl.static_range(_elements(ENCODING, HEAD_DIM)):
            column = (element * LANES + lane)[None, :]
            values = values + (tl.load(place[:, None] + column, mask=read[:, None], other=0, cache_modifier=".cg"),)
        top = tl.maximum(tops[row], part_top)
        kept, share = tl.exp(tops[row] - top), tl.exp(part_top - top)
        new_tops = new_tops + (top,)
        new_totals = new_totals + (totals[row] * kept + part_total * share,)
        new_sums = new_sums + _weighted(sums, kept, share, (values, ()), row, ENCODING, HEAD_DIM)
    return new_tops, new_totals, new_sums


@triton.constexpr_function
def _elements(encoding, head_dim):
    """Elements of a lane."""
    return words_of(encoding, head_dim) * word_elements(encoding)


@triton.jit
def _score(asked, key_rows, softcap, ROW: tl.constexpr, ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr):
    """A row's scores with a tile of keys."""
    WORD: tl.constexpr = word_elements(ENCODING)
    elements, scales = key_rows
    products = tl.zeros(elements[0].shape, tl.float32)
    for word in tl.static_range(words_of(ENCODING, HEAD_DIM)):
        product = tl.zeros(elements[0].shape, tl.float32)
        for element in tl.static_range(word * WORD, word * WORD + WORD):
            product += asked[ROW * _elements(ENCODING, HEAD_DIM) + element][None, :] * elements[element]
        products += product * scales[word] if len(scales) > 0 else product
    score = tl.sum(products, 1)
    if softcap != 0:
        score = softcap - 2 * softcap / (tl.exp(score * (2 / softcap)) + 1)
    return score


@triton.jit
def _weighted(sums, kept, weight, value_rows, ROW: tl.constexpr, ENCODING: tl.constexpr, HEAD_DIM: tl.constexpr):
    """What becomes of a row's sums of values: they are scaled by `kept`, and a tile of values is added by `weight`."""
    WORD: tl.constexpr = word_elements(ENCODING)
    elements, scales = value_rows
    added = ()
    for word in tl.static_range(words_of(ENCODING, HEAD_DIM)):
        share = weight[:, None] * scales[word] if len(scales) > 0 else weight[:, None]
        for element in tl.static_range(word * WORD, word * WORD + WORD):
            before = sums[ROW * _elements(ENCODING, HEAD_DIM) + element] * kept[:, None]
            added = added + (before + share * elements[element],)
    return added
