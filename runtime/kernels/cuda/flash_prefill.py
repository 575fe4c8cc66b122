"""Prefill attention on tensor cores: plans and launches flash_prefill.cu."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from torch import Tensor

from runtime.kernels.cuda.arguments import readable, shared_arguments
from runtime.kernels.cuda.codecs import CODECS, HEAD_DIMS
from runtime.kernels.cuda.driver import DRIVER, Launch
from runtime.kernels.paged import KVPages, PagedRows, Scratch
from runtime.kernels.variants import CudaVariant

# Rows of a block, and by head size its threads and the keys of a tile, as flash_prefill.cu has them.
_ROWS = 128
_THREADS = {64: 128, 128: 128, 256: 256}
_KEYS = {64: 64, 128: 32, 256: 32}


def variants() -> Iterator[CudaVariant]:
    """Every variant that a call can need."""
    for codec in CODECS:
        for head_dim in HEAD_DIMS:
            yield _variant(codec, head_dim)


def flash_prefill(
    query: Tensor,
    pages: KVPages,
    rows: PagedRows,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    scratch: Scratch,
    out: Tensor,
    launch: Launch = DRIVER,
) -> None:
    """Attend for requests with any number of rows, causally.

    Arguments as for `runtime.kernels.reference.paged_attention.paged_prefill`, with float16 `query` and `out`, a codec
    of `CODECS` and a head size of `HEAD_DIMS`; `launch` runs the kernel.
    """
    del scratch  # blocks are independent
    _, num_heads, head_dim = query.shape
    num_kv_heads = pages.keys.shape[0]
    tiles = -(-max(rows.query_lens) * (num_heads // num_kv_heads) // _ROWS)
    query = readable(query)
    shared = shared_arguments(query, pages, rows, scale=scale, window=window, softcap=softcap, out=out)
    launch(
        _variant(pages.codec.spec.name, head_dim),
        (tiles, num_kv_heads, len(rows.query_lens)),
        (query, pages.keys, pages.values, out, *shared, rows.metadata.query_lens),
    )


@functools.cache
def _variant(codec: str, head_dim: int) -> CudaVariant:
    return CudaVariant(
        name=f"flash_prefill[{codec},d{head_dim}]",
        source="flash_prefill.cu",
        entry="flash_prefill",
        defines={"HEAD_DIM": head_dim, "CODEC": CODECS[codec]},
        threads=_THREADS[head_dim],
        shared_bytes=(_ROWS + 2 * _KEYS[head_dim]) * head_dim * 2,
        tensor_cores=True,
    )
