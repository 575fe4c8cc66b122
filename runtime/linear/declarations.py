"""Products with weights as data: every declared provider with what it takes.

Nothing here imports torch: analysers, `explain` and people read the same table that execution uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Weights = Literal["dense", "packed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One declared way to multiply activations [rows, inputs] with a weight [outputs, inputs].

    An empty tuple, or None as a limit, admits everything.

    Attributes:
        name: unique.
        weights: dense (a tensor in the compute dtype), packed (in a weight format), or any.
        platforms, dtypes: what it takes, by name.
        min_rows, max_rows: the fewest and the most rows. The choice depends on rows at these limits alone.
        input_alignment: the inputs must be a multiple of it.
        requires: what must be there besides: "triton", the package.
        fallback: the provider, later in the table, that takes what this one refuses; None only where weights are any.
        operators: what it runs, in order, as a trace names it.
    """

    name: str
    weights: Weights | Literal["any"]
    platforms: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    min_rows: int | None = 1
    max_rows: int | None = None
    input_alignment: int = 1
    requires: tuple[str, ...] = ()
    fallback: str | None = None
    operators: tuple[str, ...] = ()


# In order of preference: the first provider that admits a product runs it.
LINEAR_SPECS: tuple[ProviderSpec, ...] = (
    # Up to eight rows a product is bound by the bytes of the weight, and reading these packed is what counts.
    ProviderSpec(
        name="triton_gemv",
        weights="packed",
        platforms=("sm70", "cuda"),
        dtypes=("float16",),
        max_rows=8,
        input_alignment=16,
        requires=("triton",),
        fallback="dequantize_cublas",
        operators=("voltgate::gemv",),
    ),
    ProviderSpec(
        name="triton_gemv_dense",
        weights="dense",
        platforms=("sm70", "cuda"),
        dtypes=("float16",),
        max_rows=8,
        input_alignment=16,
        requires=("triton",),
        fallback="cublas_fp16",
        operators=("voltgate::gemv",),
    ),
    ProviderSpec(
        name="cublas_fp16",
        weights="dense",
        platforms=("sm70", "cuda"),
        dtypes=("float16",),
        fallback="reference",
        operators=("aten::addmm",),
    ),
    # From nine rows on tensor cores win, which take halves only.
    ProviderSpec(
        name="dequantize_cublas",
        weights="packed",
        platforms=("sm70", "cuda"),
        dtypes=("float16",),
        input_alignment=16,
        requires=("triton",),
        fallback="reference",
        operators=("voltgate::dequantize", "aten::addmm"),
    ),
    # A product of no rows is known.
    ProviderSpec(
        name="empty",
        weights="any",
        min_rows=None,
        max_rows=0,
        fallback="reference",
    ),
    ProviderSpec(
        name="reference",
        weights="any",
        min_rows=None,
        operators=("reference::product",),
    ),
)
