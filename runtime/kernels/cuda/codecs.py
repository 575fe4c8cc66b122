"""Which KV codecs and head sizes the CUDA kernels are compiled for."""

from __future__ import annotations

from collections.abc import Mapping

# Name -> value of `enum Codec` in paged_kv.cuh.
CODECS: Mapping[str, int] = {
    "fp16": 0,
    "fp8_e4m3": 1,
    "fp8_e5m2": 2,
    "int8_g64": 3,
    "int8_per_token_head": 4,
}

HEAD_DIMS = (64, 128, 256)
