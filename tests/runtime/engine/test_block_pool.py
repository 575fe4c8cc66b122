"""Blocks and the prefix cache on their own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.engine.block_pool import BlockPool, chain_hash, chain_root

TOKENS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4)


def test_a_fresh_pool_hands_out_neighbours() -> None:
    pool = BlockPool(8)
    assert pool.allocate(3) == [0, 1, 2]
    assert pool.allocate(2) == [3, 4]


def test_what_came_back_without_a_name_is_handed_out_lowest_first() -> None:
    pool = BlockPool(4)
    blocks = pool.allocate(4)
    pool.release([blocks[2]])
    pool.release([blocks[0]])
    assert pool.allocate(2) == [0, 2]


def test_a_name_is_found_until_its_block_is_needed() -> None:
    pool = BlockPool(2)
    (block,) = pool.allocate(1)
    pool.name(block, b"a")
    pool.release([block])
    assert pool.match([b"a"]) == [block]
    assert pool.allocate(1) != [block]
    assert pool.match([b"a"]) == [block]
    assert pool.allocate(1) == [block]
    assert pool.match([b"a"]) == []


def test_the_least_recently_used_goes_first_and_ends_of_prefixes_before_their_beginnings() -> None:
    pool = BlockPool(4)
    old, new = pool.allocate(2), pool.allocate(2)
    for block, name in zip(old + new, (b"1", b"2", b"3", b"4"), strict=True):
        pool.name(block, name)
    pool.release(old)
    pool.release(new)
    pool.hold(old)
    pool.release(old)  # used again, so younger than the others now
    assert pool.allocate(4) == [new[1], new[0], old[1], old[0]]


def test_a_match_is_a_prefix_without_gaps() -> None:
    pool = BlockPool(3)
    for block, name in zip(pool.allocate(3), (b"1", b"2", b"3"), strict=True):
        pool.name(block, name)
    pool.forget([1])
    assert pool.match([b"1", b"2", b"3"]) == [0]


def test_a_shared_block_stays_held_until_its_last_holder_goes() -> None:
    pool = BlockPool(1)
    blocks = pool.allocate(1)
    pool.name(blocks[0], b"a")
    pool.hold(blocks)
    pool.release(blocks)
    assert pool.num_available == 0
    pool.release(blocks)
    assert pool.num_available == 1


def test_the_second_block_of_a_name_is_not_remembered() -> None:
    pool = BlockPool(2)
    first, second = pool.allocate(2)
    pool.name(first, b"a")
    pool.name(second, b"a")
    pool.forget([second])
    assert pool.match([b"a"]) == [first]


@pytest.mark.parametrize(("fresh", "spare", "fits"), [(1, 0, True), (2, 0, False), (1, 1, False), (0, 1, True)])
def test_idle_blocks_that_are_matched_do_not_count_as_available(fresh: int, spare: int, fits: bool) -> None:
    pool = BlockPool(3)
    held, idle = pool.allocate(2)
    pool.name(held, b"1")
    pool.name(idle, b"2")
    pool.release([idle])
    assert pool.fits([held, idle], fresh, spare) is fits


@settings(derandomize=True, deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=4), st.lists(TOKENS, min_size=1, max_size=4))
def test_chains_are_equal_exactly_where_all_that_they_cover_is(one: list[list[int]], other: list[list[int]]) -> None:
    def chain(blocks: list[list[int]], salt: str) -> bytes:
        name = chain_root(salt)
        for block in blocks:
            name = chain_hash(name, block)
        return name

    assert (chain(one, "") == chain(other, "")) is (one == other)
    assert chain(one, "") == chain([list(block) for block in one], "")
    assert chain(one, "") != chain(one, "salt")
