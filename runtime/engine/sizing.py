"""How many KV blocks an engine gets."""

from __future__ import annotations

from runtime.config import CacheConfig
from runtime.errors import ConfigError


def num_blocks(cache: CacheConfig, bytes_per_block: int, *, enough: int, default_bytes: int) -> int:
    """Size the block pool: `cache.num_blocks`, else what `cache.memory_bytes` holds, else what the default holds.

    Args:
        bytes_per_block: keys and values of one block, all layers together.
        enough: blocks with which every request that may run at a time could reach its full length. A pool that is
            sized by memory has no use for more.
        default_bytes: what to take where the configuration says nothing.

    Raises:
        ConfigError: the memory does not hold a single block.
    """
    if cache.num_blocks is not None:
        return cache.num_blocks
    memory, source = (
        (default_bytes, "free memory")
        if cache.memory_bytes is None
        else (
            cache.memory_bytes,
            "cache.memory_bytes",
        )
    )
    fitting = memory // bytes_per_block
    if fitting < 1:
        raise ConfigError(f"{source} of {memory} bytes holds no KV block, which takes {bytes_per_block} bytes")
    return min(fitting, enough)
