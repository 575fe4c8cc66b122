"""Into the pages of the KV cache: what a step computed of keys and values, as the codec stores it."""

from __future__ import annotations

import torch
from torch import Tensor

from runtime.kernels.paged import KVPages
from runtime.kernels.reference.norm import rms_norm
from runtime.kernels.reference.rotary import rotary
from runtime.kernels.rotation import Rotation


def write_pages(pages: KVPages, slots: Tensor, keys: Tensor, values: Tensor) -> None:
    """Store keys and values.

    Args:
        pages: the layer's cache.
        slots: int64 [T], all different.
        keys, values: [T, num_kv_heads, head_dim], any float dtype.
    """
    pages.keys.index_copy_(1, slots, pages.codec.encode(keys, pages.k_scale).transpose(0, 1))
    pages.values.index_copy_(1, slots, pages.codec.encode(values, pages.v_scale).transpose(0, 1))


def rotate_and_write(
    pages: KVPages, slots: Tensor, heads: Tensor, rotation: Rotation, room: Tensor | None = None
) -> Tensor:
    """Normalise and rotate queries and keys, and store the keys with the values.

    Args:
        pages, slots: as for `write_pages`.
        heads: [T, num_heads + 2 * num_kv_heads, head_dim]: queries, keys, values. It is left alone.
        rotation: what becomes of queries and keys.
        room: not used; see `Operators`.

    Returns:
        The queries, [T, num_heads, head_dim] in the dtype of `heads`.
    """
    del room
    num_kv_heads = pages.keys.shape[0]
    sizes = heads.shape[1] - 2 * num_kv_heads, num_kv_heads
    turned, values = heads.split_with_sizes((sum(sizes), num_kv_heads), 1)
    if rotation.query_norm is not None and rotation.key_norm is not None:
        query, key = turned.split_with_sizes(sizes, 1)
        normed = rms_norm(query, rotation.query_norm, rotation.eps), rms_norm(key, rotation.key_norm, rotation.eps)
        turned = torch.cat(normed, 1)
    query, key = rotary(turned, rotation.cos, rotation.sin).split_with_sizes(sizes, 1)
    write_pages(pages, slots, key, values)
    return query
