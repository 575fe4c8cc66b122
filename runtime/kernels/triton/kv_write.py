"""Keys and values into the pages of the KV cache, the heads' norms and rotation included: one launch a layer.

A block of one warp takes one head of one token: a query, a key or a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import triton
import triton.language as tl
from torch import Tensor

from runtime.formats.kv.declarations import KV_CODECS, KVCodecSpec
from runtime.kernels.paged import KVPages
from runtime.kernels.rotation import Rotation
from runtime.kernels.triton.encode import int8_scale, to_e4m3, to_e5m2, to_int8
from runtime.kernels.variants import TritonVariant

_WARPS = 1
_BLOCKS = (128, 256)
"""Channels that a block holds, a power of two. A larger head, of which no model is known, is compiled when it comes."""

_STORAGE: Mapping[str, str] = {"float32": "*fp32", "float16": "*fp16", "uint8": "*u8"}
_POINTERS = {
    "query": "*fp16",
    "key": "*fp16",
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
    "key_stride": "i32",
    "value_stride": "i32",
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
_ARGUMENTS = (*_POINTERS, *_NUMBERS)


def variants() -> Iterator[TritonVariant]:
    """Every variant that a call can need."""
    forms = {(spec.storage_dtype, spec.element_dtype) for spec in KV_CODECS if spec.storage_dtype in _STORAGE}
    for storage, element in sorted(forms):
        for block in _BLOCKS:
            yield TritonVariant(
                name=f"kv_write[{element},d{block}]",
                module=__name__,
                function="kv_write_kernel",
                signature={**_POINTERS, "keys": _STORAGE[storage], "values": _STORAGE[storage], **_NUMBERS},
                constexprs={"ELEMENT": element, "BLOCK": block},
                num_warps=_WARPS,
            )


def write_pages(pages: KVPages, slots: Tensor, keys: Tensor, values: Tensor) -> None:
    """As the reference, for float16 keys and values whose heads are contiguous."""
    _launch(pages, slots, keys, keys, values, None, keys)


def rotate_and_write(pages: KVPages, slots: Tensor, heads: Tensor, rotation: Rotation) -> Tensor:
    """As the reference, for contiguous float16 heads."""
    num_kv_heads = pages.keys.shape[0]
    num_heads = heads.shape[1] - 2 * num_kv_heads
    turned = torch.empty((heads.shape[0], num_heads, heads.shape[2]), dtype=heads.dtype, device=heads.device)
    _, keys, values = heads.split_with_sizes((num_heads, num_kv_heads, num_kv_heads), 1)
    _launch(pages, slots, heads, keys, values, rotation, turned)
    return turned


def _launch(
    pages: KVPages,
    slots: Tensor,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    rotation: Rotation | None,
    turned: Tensor,
) -> None:
    tokens, num_kv_heads, head_dim = keys.shape
    num_heads = 0 if rotation is None else turned.shape[1]
    spec = pages.codec.spec
    cos, sin = (keys, keys) if rotation is None else (rotation.cos, rotation.sin)
    norms = (None, None) if rotation is None else (rotation.query_norm, rotation.key_norm)
    absent = keys.new_empty(0, dtype=torch.float32)
    kv_write_kernel[(tokens, num_heads + 2 * num_kv_heads)](
        query,
        keys,
        values,
        cos,
        sin,
        *(absent if norm is None else norm for norm in norms),
        slots,
        turned,
        pages.keys,
        pages.values,
        keys.stride(0),
        values.stride(0),
        num_heads,
        num_kv_heads,
        head_dim,
        pages.keys.shape[1],
        pages.keys.shape[2],
        spec.group_size or head_dim,
        int(None not in norms),
        int(rotation is not None),
        0.0 if rotation is None else rotation.eps,
        pages.k_scale,
        pages.v_scale,
        **_constants(spec, head_dim),
        num_warps=_WARPS,
    )


def _constants(spec: KVCodecSpec, head_dim: int) -> dict[str, object]:
    return {"ELEMENT": spec.element_dtype, "BLOCK": max(_BLOCKS[0], triton.next_power_of_2(head_dim))}


# Compiled once for all values and alignments, so that what runs is what was checked.
@triton.jit(do_not_specialize=_ARGUMENTS, do_not_specialize_on_alignment=_ARGUMENTS)
def kv_write_kernel(
    query,
    key,
    value,
    cos,
    sin,
    query_norm,
    key_norm,
    slots,
    turned,
    keys,
    values,
    key_stride,
    value_stride,
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
    head = tl.program_id(1)
    cos += token * head_dim
    sin += token * head_dim
    channel = tl.arange(0, BLOCK)
    if head < num_heads:
        source = query + token * key_stride + head * head_dim
        x = _turned(source, cos, sin, query_norm, head_dim, has_norms, rotates, eps, BLOCK)
        place = (token * num_heads + head) * head_dim + channel
        tl.store(turned + place, x.to(tl.float16), mask=channel < head_dim)
    else:
        slot = tl.load(slots + token)
        head -= num_heads
        if head < num_kv_heads:
            source = key + token * key_stride + head * head_dim
            x = _turned(source, cos, sin, key_norm, head_dim, has_norms, rotates, eps, BLOCK)
            _store(
                keys + (head.to(tl.int64) * num_slots + slot) * row, x, k_scale, head_dim, group_size, ELEMENT, BLOCK
            )
        else:
            head -= num_kv_heads
            source = value + token * value_stride + head * head_dim
            x = tl.load(source + channel, mask=channel < head_dim, other=0).to(tl.float32)
            _store(
                values + (head.to(tl.int64) * num_slots + slot) * row, x, v_scale, head_dim, group_size, ELEMENT, BLOCK
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
