"""The chance in sampling: a function of seed, sequence and position, and of nothing else.

The uniform for the token at position p of sequence i is draw p of Philox4x64-10 keyed with (seed, i) (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011). It is counter-based: any draw can be had without those before
it, so what else is in a batch, or a preemption, cannot change an output. NumPy keeps the raw stream of a bit generator
the same for good, which it does not promise of its distributions.
"""

from __future__ import annotations

import secrets

import numpy as np

_BLOCK = 64  # draws made at once: making one costs as much as making these
_PER_COUNT = 4  # 64-bit draws for each value of the generator's counter
_SEED_MASK = 2**64 - 1


def random_seed() -> int:
    """Return a seed that nobody can foresee."""
    return secrets.randbits(63)


class Uniforms:
    """Uniform numbers of one sequence, by position.

    Args:
        seed: of the request; a negative one counts as its two's complement in 64 bits.
        index: which of the request's sequences this is.
    """

    def __init__(self, seed: int, index: int) -> None:
        self._key = np.array([seed & _SEED_MASK, index], dtype=np.uint64)
        self._start = -1
        self._block: list[float] = []

    def at(self, position: int) -> float:
        """Return the number of this position, a multiple of 2**-52 in [0, 1).

        One bit less than a float64 could hold, so that its product with any total is below that total.
        """
        start = position - position % _BLOCK
        if start != self._start:
            generator = np.random.Philox(key=self._key, counter=start // _PER_COUNT)
            self._block = ((generator.random_raw(_BLOCK) >> np.uint64(12)) * 2.0**-52).tolist()
            self._start = start
        return self._block[position - start]
