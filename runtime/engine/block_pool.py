"""KV blocks: who holds them, which may be handed out, and which hold a prefix that another request can reuse.

A block is only a number here. Its content is named by a *chain hash*: a digest of the block's tokens and of the hash
of everything before them, so two requests share a block exactly where they share the whole prefix up to its end.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence


def chain_root(salt: str) -> bytes:
    """The parent of a request's first block. Requests with different salts share nothing."""
    return hashlib.sha256(salt.encode()).digest()


def chain_hash(parent: bytes, token_ids: Sequence[int]) -> bytes:
    """Name the content of one full block.

    A cryptographic digest, because a collision would show one user the cache of another's prompt.
    """
    return hashlib.sha256(parent + array("q", token_ids).tobytes()).digest()


class BlockPool:
    """Reference-counted blocks with a prefix cache.

    A block is in one of three conditions: *held* by at least one request, *idle* (held by nobody, its content still
    named, given up in the order of last use), or *free*. Free blocks are handed out before idle ones, lowest number
    first, so that a request's blocks tend to be neighbours.

    Args:
        num_blocks: how many blocks the cache has.
        prefix_caching: whether content is remembered after its last holder has gone.
    """

    def __init__(self, num_blocks: int, *, prefix_caching: bool = True) -> None:
        self.num_blocks = num_blocks
        self.prefix_caching = prefix_caching
        self._free = list(range(num_blocks))  # a heap; ascending numbers already are one
        self._idle: OrderedDict[int, None] = OrderedDict()  # oldest use first
        self._holders = [0] * num_blocks
        self._name: list[bytes | None] = [None] * num_blocks
        self._by_name: dict[bytes, int] = {}

    @property
    def num_available(self) -> int:
        """How many blocks `allocate` could hand out now."""
        return len(self._free) + len(self._idle)

    def match(self, names: Iterable[bytes]) -> list[int]:
        """The blocks that hold the longest cached prefix of `names`. They are not held yet: see `hold`."""
        found = []
        for name in names:
            block = self._by_name.get(name)
            if block is None:
                break
            found.append(block)
        return found

    def fits(self, matched: Sequence[int], fresh: int, spare: int = 0) -> bool:
        """Whether `matched` can be held, `fresh` more blocks allocated, and `spare` still be left."""
        idle = sum(block in self._idle for block in matched)
        return idle + fresh + spare <= self.num_available

    def hold(self, blocks: Iterable[int]) -> None:
        """Count one more holder for each block."""
        for block in blocks:
            if self._holders[block] == 0:
                del self._idle[block]
            self._holders[block] += 1

    def allocate(self, count: int) -> list[int]:
        """Take `count` blocks of undefined content; the caller has checked that there are as many."""
        return [self._take() for _ in range(count)]

    def _take(self) -> int:
        if self._free:
            block = heapq.heappop(self._free)
        else:
            block, _ = self._idle.popitem(last=False)
            self.forget((block,))
        self._holders[block] = 1
        return block

    def name(self, block: int, name: bytes) -> None:
        """Remember that a held block now contains what `name` stands for. The first block of a name keeps it."""
        if self._by_name.setdefault(name, block) == block:
            self._name[block] = name

    def forget(self, blocks: Iterable[int]) -> None:
        """Make blocks unfit for reuse: their content is about to change, or cannot be trusted."""
        for block in blocks:
            name = self._name[block]
            if name is not None:
                del self._by_name[name]
                self._name[block] = None

    def release(self, blocks: Sequence[int]) -> None:
        """Drop one holder of each block of a request, given in the order of its tokens.

        The end of a prefix becomes idle before its beginning, for the beginning serves more requests.
        """
        for block in reversed(blocks):
            self._holders[block] -= 1
            if self._holders[block]:
                continue
            if self._name[block] is None:
                heapq.heappush(self._free, block)
            else:
                self._idle[block] = None
