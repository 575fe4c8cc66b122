"""The number for a position depends on seed, sequence and position alone."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.engine.randomness import Uniforms, random_seed


@pytest.mark.parametrize(("seed", "index"), [(0, 0), (1234, 3), (2**63 - 1, 127), (-1, 0), (-(2**63), 1)])
def test_numbers_are_the_draws_of_philox_in_order(seed: int, index: int) -> None:
    raw = np.random.Philox(key=np.array([seed % 2**64, index], dtype=np.uint64)).random_raw(1000)
    expected = [int(draw) // 2**12 / 2**52 for draw in raw]
    uniforms = Uniforms(seed, index)
    assert [uniforms.at(position) for position in range(1000)] == expected


def test_order_of_asking_does_not_matter() -> None:
    positions = np.random.default_rng(0).integers(0, 10_000, 200).tolist()
    uniforms = Uniforms(7, 0)
    assert [uniforms.at(position) for position in positions] == [Uniforms(7, 0).at(position) for position in positions]


def test_seeds_and_sequences_have_streams_of_their_own() -> None:
    streams = {tuple(Uniforms(seed, index).at(p) for p in range(4)) for seed in range(-20, 20) for index in range(20)}
    assert len(streams) == 40 * 20


def test_the_largest_number_times_any_total_stays_below_it() -> None:
    totals = np.random.default_rng(0).uniform(1e-3, 1e6, 100_000)
    assert ((1 - 2.0**-52) * totals < totals).all()


def test_a_drawn_seed_is_admitted_and_new_each_time() -> None:
    seeds = {random_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
