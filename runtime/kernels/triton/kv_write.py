"""Keys and values into the pages of the KV cache, the heads' norms and rotation included: one launch a layer.

A block of one warp takes one head of one token: a query, a key or a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.kv.declarations import KV_CODECS
from runtime.kernels.paged import KVPages
from runtime.kernels.rotation import Rotation
from runtime.kernels.triton.encode import int8_scale, to_e4m3, to_e5m2, to_int8
from runtime.kernels.triton.launch import kernels_of
from runtime.kernels.variants import TritonVariant

_WARPS = 1
_BLOCKS = (128, 256)
"""Channels that a block holds, a power of two. A larger head, of which no model is known, is compiled when it comes."""

_STORAGE: Mapping[str, str] = {"float32": "*fp32", "float16": "*fp16", "uint8": "*u8"}
_POINTERS = {
    "head": "*fp16",
    "value": "*fp16",
    "cos": "*fp16",
    "sin": "*fp16",
    "query_norm": "*fp32",
    "key_norm": "*fp32",
    "slots": "*i64",
    "turned": "*fp16",
    "keys": "",
    "values": "",
}
_NUMBERS = {
    "head_stride": "i32",
    "value_stride": "i32",
    "first_value": "i32",
    "num_heads": "i32",
    "num_kv_heads": "i32",
    "head_dim": "i32",
    "num_slots": "i32",
    "row": "i32",
    "group_size": "i32",
    "has_norms": "i32",
    "rotates": "i32",
    "eps": "fp32",
    "k_scale": "fp32",
    "v_scale": "fp32",
}


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    forms = {(spec.storage_dtype, spec.element_dtype) for spec in KV_CODECS if spec.storage_dtype in _STORAGE}
    for storage, element in sorted(forms):
        yield from (_variant(storage, element, block) for block in _BLOCKS)


def write_pages(pages: KVPages, slots: Tensor, keys: Tensor, values: Tensor) -> None:
    """As the reference, for float16 keys and values whose heads are contiguous."""
    absent = keys, keys, keys, keys
    strides = keys.stride(0), values.stride(0), 0
    _launch(pages, (keys, values, *absent, slots, keys), strides, (keys.shape[0], 0, keys.shape[2]), (0, 0, 0.0))


def rotate_and_write(
    pages: KVPages, slots: Tensor, heads: Tensor, rotation: Rotation, room: Tensor | None = None
) -> Tensor:
    """As the reference, for contiguous float16 heads."""
    cos, sin, query_norm, key_norm, eps = rotation
    tokens, total, head_dim = heads.shape
    num_kv_heads = pages.keys.shape[0]
    size = tokens, total - 2 * num_kv_heads, head_dim
    turned = torch.empty(size, dtype=heads.dtype, device=heads.device) if room is None else room
    norms = (cos, cos) if query_norm is None or key_norm is None else (query_norm, key_norm)
    stride = total * head_dim
    _launch(
        pages,
        (heads, heads, cos, sin, *norms, slots, turned),
        (stride, stride, total - num_kv_heads),
        size,
        (int(norms[0] is not cos), 1, eps),
    )
    return turned


def _launch(
    pages: KVPages,
    pointers: tuple[Tensor, ...],
    strides: tuple[int, int, int],
    size: tuple[int, int, int],
    rotation: tuple[int, int, float],
) -> None:
    """Launch with the parts of the kernel's arguments that depend on what is written; `size` is that of `turned`."""
    tokens, num_heads, head_dim = size
    num_kv_heads, num_slots, row = pages.keys.shape
    spec = pages.codec.spec
    kernel = _kernel(spec.storage_dtype, spec.element_dtype, max(_BLOCKS[0], 1 << (head_dim - 1).bit_length()))
    kernel(
        (tokens, num_heads + 2 * num_kv_heads, 1),
        *pointers,
        pages.keys,
        pages.values,
        *strides,
        num_heads,
        num_kv_heads,
        head_dim,
        num_slots,
        row,
        spec.group_size or head_dim,
        *rotation,
        pages.k_scale,
        pages.v_scale,
    )


def _variant(storage: str, element: str, block: int) -> TritonVariant:
    return TritonVariant(
        name=f"kv_write[{element},d{block}]",
        module=__name__,
        function="kv_write_kernel",
        signature={**_POINTERS, "keys": _STORAGE[storage], "values": _STORAGE[storage], **_NUMBERS},
        constexprs={"ELEMENT": element, "BLOCK": block},
        num_warps=_WARPS,
    )


_kernel = kernels_of(_variant)


@triton.jit
def kv_write_kernel(
    head,
    value,
    cos,
    sin,
    query_norm,
    key_norm,
    slots,
    turned,
    keys,
    values,
    head_stride,
    value_stride,
    first_value,
    num_heads,
    num_kv_heads,
    head_dim,
    num_slots,
    row,
    group_size,
    has_norms,
    rotates,
    eps,
    k_scale,
    v_scale,
    ELEMENT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    index = tl.program_id(1)
    cos += token * head_dim
    sin += token * head_dim
    channel = tl.arange(0, BLOCK)
    source = head + token * head_stride + index * head_dim
    if index < num_heads:
        x = _turned(source, cos, sin, query_norm, head_dim, has_norms, rotates, eps, BLOCK)
        place = (token * num_heads + index) * head_dim + channel
        tl.store(turned + place, x.to(tl.float16), mask=channel < head_dim)
    else:
        slot = tl.load(slots + token)
        index -= num_heads
        if index < num_kv_heads:
            x = _turned(source, cos, sin, key_norm, head_dim, has_norms, rotates, eps, BLOCK)
            _store(
                keys + (index.to(tl.int64) * num_slots + slot) * row, x, k_scale, head_dim, group_size, ELEMENT, BLOCK
            )
        else:
            index -= num_kv_heads
            source = value + token * value_stride + (first_value + index) * head_dim
            x = tl.load(source + channel, mask=channel < head_dim, other=0).to(tl.float32)
            _store(
                values + (index.to(tl.int64) * num_slots + slot) * row, x, v_scale, head_dim, group_size, ELEMENT, BLOCK
            )


@triton.jit
def _turned(source, cos, sin, norm, head_dim, has_norms, rotates, eps, BLOCK: tl.constexpr):
    """A head in float32, normalised and rotated."""
    channel = tl.arange(0, BLOCK)
    mask = channel < head_dim
    x = tl.load(source + channel, mask=mask, other=0).to(tl.float32)
    if rotates != 0:
        half = head_dim // 2
        partner = tl.where(channel < half, channel + half, channel - half)
        other = tl.load(source + partner, mask=mask, other=0).to(tl.float32)
        if has_norms != 0:
            factor = tl.rsqrt(tl.sum(x * x, 0) / head_dim + eps)
            x *= factor * tl.load(norm + channel, mask=mask, other=0).to(tl.float32)
            other *= factor * tl.load(norm + partner, mask=mask, other=0).to(tl.float32)
        x = x * tl.load(cos + channel, mask=mask, other=0).to(tl.float32)
        x += other * tl.load(sin + channel, mask=mask, other=0).to(tl.float32)
    return x


@triton.jit
def _store(target, x, scale, head_dim, group_size, ELEMENT: tl.constexpr, BLOCK: tl.constexpr):
    """A head, as the codec stores it; the channels of `x` beyond the head are 0."""
    channel = tl.arange(0, BLOCK)
    mask = channel < head_dim
    if ELEMENT == "float8_e4m3fn":
        tl.store(target + channel, to_e4m3(tl.div_rn(x, scale)), mask=mask)
    elif ELEMENT == "float8_e5m2":
        tl.store(target + channel, to_e5m2(tl.div_rn(x, scale)), mask=mask)
    elif ELEMENT == "int8":
        # Scales lie behind the codes as halves, which zeros fill up to 16 bytes.
        place = tl.arange(0, 8)
        scales = tl.zeros((8,), tl.float32)
        divisors = tl.zeros((BLOCK,), tl.float32)
        for group in range(tl.cdiv(head_dim, group_size)):
            member = channel // group_size == group
            group_scale = int8_scale(tl.where(member, x, 0.0))
            divisors = tl.where(member, group_scale, divisors)
            scales = tl.where(place == group, group_scale, scales)
        tl.store(target + channel, to_int8(x, divisors), mask=mask)
        tl.store((target + head_dim).to(tl.pointer_type(tl.float16), bitcast=True) + place, scales.to(tl.float16))
    else:
        tl.store(target + channel, x.to(target.dtype.element_ty), mask=mask)
