"""What must hold between settings, beyond the bounds of each."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.config.schema import RuntimeConfig
from runtime.errors import ConfigError

_MOST_THREADS = 1024
"""OpenMP ends the process when it cannot start a thread, so that asking for too many must be refused before."""


def validate(config: RuntimeConfig) -> None:
    """Check the rules that span settings.

    Raises:
        ConfigError: names every rule that is broken, the settings, their values and the remedy.
    """
    problems = [*_cache(config), *_scheduler(config), *_not_yet(config), *_graphs(config), *_threads(config)]
    if problems:
        raise ConfigError("\n".join(problems))


def _cache(config: RuntimeConfig) -> Iterator[str]:
    size = config.cache.block_size
    if size & (size - 1):
        below = 1 << (size.bit_length() - 1)
        yield f"cache.block_size: {size} is not a power of two; use {below} or {below * 2}"


def _scheduler(config: RuntimeConfig) -> Iterator[str]:
    scheduler = config.scheduler
    if scheduler.chunked_prefill:
        return
    budget = scheduler.max_num_batched_tokens
    remedy = "raise it, or set scheduler.chunked_prefill to true"
    if budget < scheduler.max_num_seqs:
        yield (
            f"scheduler.max_num_batched_tokens: {budget} is below scheduler.max_num_seqs = {scheduler.max_num_seqs}, "
            f"so that running requests would starve; {remedy}"
        )
    longest = config.model.max_model_len
    if longest is not None and budget < longest:
        yield (
            f"scheduler.max_num_batched_tokens: {budget} is below model.max_model_len = {longest}, "
            f"so that a long prompt could never run in one step; {remedy}"
        )


def _not_yet(config: RuntimeConfig) -> Iterator[str]:
    if config.parallel.tensor_parallel_size != 1:
        size = config.parallel.tensor_parallel_size
        yield f"parallel.tensor_parallel_size: {size} is not supported yet; leave it at 1, a model runs on one device"
    if config.speculative.num_draft_tokens != 0:
        count = config.speculative.num_draft_tokens
        yield f"speculative.num_draft_tokens: {count} is not supported yet; leave it at 0"


def _graphs(config: RuntimeConfig) -> Iterator[str]:
    sizes = config.graphs.batch_sizes
    if list(sizes) != sorted(set(sizes)):
        yield f"graphs.batch_sizes: {sizes} must be ascending and without repetition"


def _threads(config: RuntimeConfig) -> Iterator[str]:
    threads = config.parallel.threads
    if threads is not None and threads > _MOST_THREADS:
        yield f"parallel.threads: {threads} is more than a machine can start; use at most {_MOST_THREADS}"
