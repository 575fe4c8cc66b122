"""What one call of each operator must move and compute: the one home of these formulas. Needs no torch.

Bytes are those that a call needs, each counted once, however often a kernel asks its cache for them: what crosses the
bus of the memory if nothing is there before. `tests/triton_interpret` counts what the kernels touch and compares.
Products and attention run in float16 on tensor cores, or in float32 where few rows leave nothing to win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HALF = 2
_FLOAT = 4
_COUNTER = 4
_INDEX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The cost of one call of an operator.

    Attributes:
        read, written: bytes.
        flops: multiplications and additions of products and attention; those of other operators are not counted.
        tensor_cores: whether they run there.
        launches: kernels that are started.
    """

    read: int
    written: int
    flops: int = 0
    tensor_cores: bool = False
    launches: int = 1

    @property
    def bytes_moved(self) -> int:
        """Read and written."""
        return self.read + self.written


def embedding(rows: int, width: int, row_bytes: int, residual: int) -> Traffic:
    """Rows of a table, `row_bytes` each, as the residual stream of elements of `residual` bytes.

    A packed row, which is shorter than its halves, is first picked and then decoded.
    """
    picked = rows * (row_bytes + _INDEX)
    halves = rows * width * HALF
    if row_bytes >= width * HALF:
        return Traffic(read=picked, written=rows * width * residual)
    decoded = rows * row_bytes + halves
    return Traffic(
        read=picked + decoded + rows * _INDEX,
        written=rows * row_bytes + halves + rows * _INDEX + rows * width * residual,
        launches=4,
    )


def rms_norm(rows: int, width: int, residual: int) -> Traffic:
    """A norm of the residual stream, of elements of `residual` bytes."""
    return Traffic(read=rows * width * residual + width * _FLOAT, written=rows * width * HALF)


def add_rms_norm(rows: int, width: int, residual: int, *, post_norm: bool) -> Traffic:
    """A branch, perhaps normed itself, added to the residual stream, and the norm of that."""
    weights = width * _FLOAT * (2 if post_norm else 1)
    return Traffic(
        read=rows * width * (residual + HALF) + weights,
        written=rows * width * (residual + HALF),
    )


def product(
    rows: int,
    outputs: int,
    inputs: int,
    weight: int,
    *,
    bias: bool = False,
    added_to: int = 0,
    gated: bool = False,
) -> Traffic:
    """x [rows, inputs] times a weight of `weight` bytes that is read as it is, in float32.

    Args:
        added_to: bytes of an element of what the result is added to; 0 where it is a result of its own.
        gated: whether one half of the outputs gates the other, which alone is written.
    """
    results = rows * outputs // (2 if gated else 1)
    operands = rows * inputs * HALF + weight + (outputs * HALF if bias else 0)
    return Traffic(
        read=operands + rows * outputs * added_to,
        written=results * (added_to or HALF),
        flops=2 * rows * outputs * inputs,
    )


def library_product(
    rows: int,
    outputs: int,
    inputs: int,
    weight: int,
    *,
    bias: bool = False,
    added_to: int = 0,
    tiles: int = 1,
) -> Traffic:
    """As `product`, on tensor cores: a packed weight is first decoded into halves, in so many tiles of outputs."""
    dense = outputs * inputs * HALF
    once = product(rows, outputs, inputs, dense, bias=bias, added_to=added_to)
    decoded = weight != dense
    # A residual of another type than the product's is added by a kernel of its own.
    widened = added_to > HALF
    apart = rows * outputs * HALF if widened else 0
    return Traffic(
        read=once.read + (weight if decoded else 0) + apart,
        written=once.written + (dense if decoded else 0) + apart,
        flops=once.flops,
        tensor_cores=True,
        launches=(tiles if decoded else 1) * (1 + decoded + widened),
    )


def ordered_inputs(rows: int, inputs: int, order: int) -> Traffic:
    """Inputs of a product put into the order, of `order` bytes, that a weight has its columns in."""
    halves = rows * inputs * HALF
    return Traffic(read=halves + order, written=halves)


def joined(rows: int, outputs: int, *, bias: bool) -> Traffic:
    """Results of products with parts of a matrix put beside each other, and a bias added to them in place."""
    results = rows * outputs * HALF
    return Traffic(
        read=results + (results + outputs * HALF if bias else 0),
        written=results * (1 + bias),
        launches=1 + bias,
    )


def rotary_table(rows: int, head_dim: int) -> Traffic:
    """Cosines and sines of a step's positions, by single operations of torch."""
    angles, table = rows * head_dim // 2 * _FLOAT, rows * head_dim * _FLOAT
    return Traffic(
        read=rows * (_INDEX + _FLOAT) + head_dim // 2 * _FLOAT + 9 * angles + 2 * table,
        written=rows * _FLOAT + 6 * angles + 2 * table + 2 * rows * head_dim * HALF,
        launches=11,
    )


def rotate_and_write(rows: int, heads: int, kv_heads: int, head_dim: int, row_bytes: int, *, norms: bool) -> Traffic:
    """Heads rotated by position, keys and values written into the cache, `row_bytes` for a head of a token."""
    turned = rows * heads * head_dim * HALF
    read = turned + rows * (2 * kv_heads + 2) * head_dim * HALF + rows * _INDEX
    return Traffic(
        read=read + (2 * head_dim * _FLOAT if norms else 0),
        written=turned + rows * 2 * kv_heads * row_bytes,
    )


def attention(
    row_counts: Sequence[int],
    contexts: Sequence[int],
    heads: int,
    kv_heads: int,
    head_dim: int,
    row_bytes: int,
    *,
    window: int | None = None,
    splits: int = 1,
) -> Traffic:
    """Causal attention of the last rows of each request over its cached keys and values.

    Args:
        row_counts, contexts: of each request, rows and tokens in the cache, these rows included.
        row_bytes: of a head of a token in the cache.
        window: tokens that a row sees, itself included; None for all.
        splits: parts that the keys of a request are shared out in; the partial results of several are joined, by the
            block that counts itself as the last.
    """
    pairs = seen = 0
    for rows, context in zip(row_counts, contexts, strict=True):
        first_row = context - rows
        reach = context if window is None else window
        seen += context - max(0, first_row + 1 - reach)
        pairs += sum(min(reach, first_row + 1 + row) for row in range(rows))
    halves = sum(row_counts) * heads * head_dim * HALF
    counters = len(row_counts) * kv_heads * _COUNTER
    partials = sum(row_counts) * heads * splits * (head_dim + 2) * _FLOAT
    handed_on = counters + partials if splits > 1 else 0
    return Traffic(
        read=seen * 2 * kv_heads * row_bytes + halves + handed_on,
        written=halves + handed_on,
        flops=4 * pairs * heads * head_dim,
        tensor_cores=True,
    )


def gated_activation(rows: int, width: int) -> Traffic:
    """Gate and up, [rows, 2 width], into [rows, width]."""
    return Traffic(read=2 * rows * width * HALF, written=rows * width * HALF)


def logits(rows: int, vocabulary: int, *, softcap: bool) -> Traffic:
    """The results of the head as float32, with the soft cap where there is one: three passes in place."""
    passes = 3 if softcap else 0
    floats = rows * vocabulary * _FLOAT
    return Traffic(
        read=rows * vocabulary * HALF + passes * floats,
        written=(1 + passes) * floats,
        launches=1 + passes,
    )


def draw_tokens(rows: int, vocabulary: int) -> Traffic:
    """A token for each row of logits, by filters and a random number; the logits are overwritten with weights."""
    settings = 4 * 4 + 8
    return Traffic(read=rows * (vocabulary * _FLOAT + settings), written=rows * (vocabulary * _FLOAT + _INDEX))
