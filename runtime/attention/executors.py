"""What runs each built route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

from runtime.kernels.paged import KVPages, PagedRows, Scratch
from runtime.kernels.reference.paged_attention import paged_decode, paged_prefill


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
    "reference_decode": paged_decode,
    "reference_attention": paged_prefill,
}
