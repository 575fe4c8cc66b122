"""Registers the native operators with torch when it is imported, so that graphs, exporters and traces know them.

On a CUDA device an operator launches its kernel; on a CPU its reference runs; without data it checks shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from runtime.native import paged, products
from runtime.native.calling import fallback_of, kernel_of
from runtime.native.schemas import NAMESPACE, find_operator

_LIBRARY = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]


def register_operator(
    name: str, *, device: Callable[..., Any], cpu: Callable[..., Any], fake: Callable[..., Any]
) -> None:
    """Make a declared operator known to torch."""
    _LIBRARY.define(find_operator(name).schema)  # type: ignore[no-untyped-call]
    _LIBRARY.impl(name, device, "CUDA")  # type: ignore[no-untyped-call]
    _LIBRARY.impl(name, cpu, "CPU")  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=_LIBRARY)


register_operator(
    "flash_prefill",
    device=paged.on_device("flash_prefill"),
    cpu=paged.on_cpu("flash_prefill"),
    fake=paged.without_data,
)
register_operator(
    "grouped_decode",
    device=paged.on_device("grouped_decode"),
    cpu=paged.on_cpu("grouped_decode"),
    fake=paged.without_data,
)
register_operator(
    "paged_attention",
    device=paged.on_device("paged_attention"),
    cpu=paged.on_cpu("paged_attention"),
    fake=paged.without_data,
)
register_operator(
    "gemv",
    device=products.on_weight("gemv", kernel_of, 1),
    cpu=products.on_weight("gemv", fallback_of, 1),
    fake=products.gemv_without_data,
)
register_operator(
    "gemv_add",
    device=products.on_weight("gemv_add", kernel_of, 2),
    cpu=products.on_weight("gemv_add", fallback_of, 2),
    fake=products.gemv_add_without_data,
)
register_operator(
    "gemv_gated",
    device=products.on_weight("gemv_gated", kernel_of, 1),
    cpu=products.gemv_gated_on_cpu,
    fake=products.gemv_gated_without_data,
)
register_operator(
    "dequantize",
    device=products.on_weight("dequantize", kernel_of, 0),
    cpu=products.dequantize_on_cpu,
    fake=products.dequantize_without_data,
)
