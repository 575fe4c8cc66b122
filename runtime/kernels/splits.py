"""How the keys of a long context are shared out among blocks, so that few requests keep a whole device busy."""

from __future__ import annotations

# Blocks that keep every multiprocessor of a large card busy, with a few for each to even out their lengths.
_ENOUGH_BLOCKS = 320

MOST_SPLITS = _ENOUGH_BLOCKS
"""Of a context: where it is the only one."""


def split_count(most_keys: int, least_split_keys: int, blocks: int) -> int:
    """Into how many parts contexts are split.

    Args:
        most_keys: keys that the longest context can have, as far as a launch that may be captured can know.
        least_split_keys: keys that a part has at least.
        blocks: how many there are without splitting.
    """
    return max(1, min(-(-_ENOUGH_BLOCKS // blocks), -(-most_keys // least_split_keys)))
