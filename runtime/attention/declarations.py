"""The attention operator as data: what a layer asks for, and every declared route with what it takes.

Nothing here imports torch: analysers, `explain` and people read the same table that execution uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["decode", "verify", "mixed_decode", "prefill"]


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one attention layer asks for.

    Attributes:
        num_heads, num_kv_heads: query heads, and key and value heads; the first is a multiple of the second.
        head_dim: size of a head.
        scale: multiplies the scores.
        window: tokens that a row sees, itself included; None for all.
        softcap: bound of the scores, by softcap * tanh(scores / softcap); None for none.
    """

    num_heads: int
    num_kv_heads: int
    head_dim: int
    scale: float
    window: int | None = None
    softcap: float | None = None

    @property
    def gqa_ratio(self) -> int:
        """Query heads that share a key head."""
        return self.num_heads // self.num_kv_heads


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """One declared way to run attention. An empty tuple, or None as a limit, admits everything.

    Attributes:
        name: unique, and free of formats: a codec is a column of this table, not a branch.
        stage: decode (one row a request), verify (a few rows that continue a context, as a draft's do), mixed_decode
            (both in one launch), prefill (rows of a prompt), or any.
        platforms, dtypes, codecs, head_dims, gqa_ratios: what it takes; dtypes and codecs by name.
        requires: what must be there besides: "triton", the package, or "native", compiled CUDA operators.
        block_alignment: the cache's block size must be a multiple of it.
        query_alignment: the rows of every request must be a multiple of it.
        max_query: the most rows of one request.
        window, softcap: whether it can apply them.
        fallback: the route, later in the table, that takes what this one refuses; None only for a route of stage any.
        observer: a declared counter, not a route, that counts this route's steps together with its kin's.
        implemented: whether the kernel exists; if not, the route can be explained and is never chosen.
        operator: the native operator that it runs, by its name in `runtime.native`; None where it is torch's own.
        capturable: whether its kernel reads what a step holds on the device only, so that its graph can be replayed.
    """

    name: str
    stage: Stage | Literal["any"]
    platforms: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    codecs: tuple[str, ...] = ()
    head_dims: tuple[int, ...] = ()
    gqa_ratios: tuple[int, ...] = ()
    block_alignment: int = 1
    query_alignment: int = 1
    max_query: int | None = None
    window: bool = True
    softcap: bool = True
    fallback: str | None = None
    observer: str | None = None
    implemented: bool = True
    operator: str | None = None
    capturable: bool = False


# Counters that are not routes: what a dashboard watches without knowing the routes.
OBSERVERS: tuple[str, ...] = ("flash", "library", "reference")

VERIFY_ROWS = 16
"""A request with so many rows or fewer that continue its context is attended as a draft is."""

# In order of preference: the first route that admits a call runs it.
ROUTE_SPECS: tuple[RouteSpec, ...] = (
    # Tensor cores pay where heads share keys; a head with keys of its own is bound by their bytes alone.
    RouteSpec(
        name="flash_decode_grouped",
        stage="decode",
        platforms=("sm70",),
        requires=("native",),
        dtypes=("float16",),
        codecs=("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        head_dims=(64, 128, 256),
        gqa_ratios=(2, 3, 4, 5, 6, 7, 8),
        block_alignment=16,
        fallback="flash_decode",
        observer="flash",
        operator="grouped_decode",
        capturable=True,
    ),
    RouteSpec(
        name="flash_decode",
        stage="decode",
        platforms=("sm70", "cuda"),
        requires=("triton",),
        dtypes=("float16",),
        codecs=("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        head_dims=(64, 128, 256),
        block_alignment=16,
        fallback="reference_decode",
        observer="flash",
        operator="paged_attention",
        capturable=True,
    ),
    RouteSpec(
        name="flash_verify",
        stage="verify",
        platforms=("sm70", "cuda"),
        requires=("triton",),
        dtypes=("float16",),
        codecs=("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        head_dims=(64, 128, 256),
        block_alignment=16,
        max_query=VERIFY_ROWS,
        fallback="reference_attention",
        observer="flash",
        operator="paged_attention",
        capturable=True,
    ),
    RouteSpec(
        name="flash_mixed_decode",
        stage="mixed_decode",
        platforms=("sm70", "cuda"),
        requires=("triton",),
        dtypes=("float16",),
        codecs=("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        head_dims=(64, 128, 256),
        block_alignment=16,
        max_query=VERIFY_ROWS,
        fallback="reference_attention",
        observer="flash",
        operator="paged_attention",
        capturable=True,
    ),
    RouteSpec(
        name="flash_prefill",
        stage="prefill",
        platforms=("sm70",),
        requires=("native",),
        dtypes=("float16",),
        codecs=("fp16", "fp8_e4m3", "fp8_e5m2", "int8_g64", "int8_per_token_head"),
        head_dims=(64, 128, 256),
        block_alignment=16,
        fallback="library_prefill",
        observer="flash",
        operator="flash_prefill",
    ),
    # Gathers pages and leaves the rest to torch's memory-efficient attention, which cannot cap scores.
    RouteSpec(
        name="library_prefill",
        stage="prefill",
        platforms=("sm70", "cuda"),
        dtypes=("float16",),
        softcap=False,
        fallback="reference_attention",
        observer="library",
    ),
    RouteSpec(
        name="reference_decode",
        stage="decode",
        fallback="reference_attention",
        observer="reference",
    ),
    RouteSpec(
        name="reference_attention",
        stage="any",
        observer="reference",
    ),
)
