"""How many KV blocks an engine gets."""

from __future__ import annotations

from runtime.config import CacheConfig
from runtime.errors import ConfigError

_DEFAULT_SHARE = 0.5  # of what the platform has left: activations, and other programs, need the rest


def num_blocks(cache: CacheConfig, bytes_per_block: int, *, enough: int, free_bytes: int) -> int:
    """Size the block pool: `cache.num_blocks`, else what `cache.memory_bytes` holds, else what the default holds.

    Args:
        bytes_per_block: keys and values of one block, all layers together.
        enough: blocks with which every request that may run at a time could reach its full length. A pool that is
            sized by memory has no use for more.
        free_bytes: what the platform has left; half of it is taken where the configuration says nothing.

    Raises:
        ConfigError: the cache would need more than the platform has left, or would not hold a single block.
    """
    if cache.num_blocks is not None:
        return _checked("cache.num_blocks", cache.num_blocks, bytes_per_block, free_bytes)
    memory, source = int(free_bytes * _DEFAULT_SHARE), "free memory"
    if cache.memory_bytes is not None:
        memory, source = cache.memory_bytes, "cache.memory_bytes"
    fitting = memory // bytes_per_block
    if fitting < 1:
        raise ConfigError(f"{source} of {memory} bytes holds no KV block, which takes {bytes_per_block} bytes")
    return _checked(source, min(fitting, enough), bytes_per_block, free_bytes)


def _checked(source: str, blocks: int, bytes_per_block: int, free_bytes: int) -> int:
    wanted = blocks * bytes_per_block
    if wanted > free_bytes:
        raise ConfigError(f"{source}: the KV cache would take {wanted} bytes, and {free_bytes} are free; ask for less")
    return blocks
