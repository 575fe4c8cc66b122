"""What runs each built route. Compiled kernels are imported when they first run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from runtime.kernels.library.gathered_prefill import gathered_prefill
from runtime.kernels.paged import KVPages, PagedRows, Scratch
from runtime.kernels.reference.paged_attention import paged_decode, paged_prefill
from runtime.native.paged import flash_prefill, grouped_decode, paged_attention


class Kernel(Protocol):
    """The signature of every paged attention kernel; `runtime.kernels.reference.paged_attention` describes it."""

    def __call__(
        self,
        query: Tensor,
        pages: KVPages,
        rows: PagedRows,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
        scratch: Scratch,
        out: Tensor,
    ) -> None: ...


KERNELS: Mapping[str, Kernel] = {
    "flash_decode_grouped": grouped_decode,
    "flash_decode": paged_attention,
    "flash_verify": paged_attention,
    "flash_mixed_decode": paged_attention,
    "flash_prefill": flash_prefill,
    "library_prefill": gathered_prefill,
    "reference_decode": paged_decode,
    "reference_attention": paged_prefill,
}
