"""The paged KV cache: the tensors that hold every layer's keys and values, and the only way into them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from runtime.attention.declarations import LayerShape
from runtime.errors import ConfigError
from runtime.formats.kv.codecs import KVCodec, get_codec
from runtime.formats.kv.declarations import codec_spec
from runtime.kernels.operators import REFERENCE, Operators
from runtime.kernels.paged import KVPages
from runtime.kernels.rotation import Rotation


class PagedKVCache:
    """Keys and values of all layers, in blocks of `block_size` tokens that a block table strings together.

    A slot is the place of one token, block * block_size + offset. Slots that were never written hold anything at all,
    NaN included, and the operating system gives them no memory: nothing may read them.
    """

    def __init__(
        self,
        layers: Sequence[LayerShape],
        num_blocks: int,
        block_size: int,
        codec: str = "auto",
        k_scale: float = 1.0,
        v_scale: float = 1.0,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        operators: Operators = REFERENCE,
    ) -> None:
        """Reserve the cache.

        Args:
            layers: one shape a layer of the model, in its order.
            num_blocks, block_size: blocks, and tokens in each.
            codec: name of the KV codec; "auto" stores `dtype`.
            k_scale, v_scale: positive; what stored keys and values are divided by, in a codec with such a scale only.
            device: where it lies.
            dtype: the model's compute dtype.
            operators: what writes it.

        Raises:
            ConfigError: an unknown codec, a scale for a codec that has none, or heads that it has no layout for.
        """
        self.codec = get_codec(codec, dtype)
        _check_scales(self.codec, k_scale, v_scale)
        self.num_blocks, self.block_size = num_blocks, block_size
        self.device, self.dtype = torch.device(device), dtype
        self._operators = operators
        self._pages = [self._reserve(shape, k_scale, v_scale) for shape in layers]

    @staticmethod
    def bytes_per_block(
        layers: Sequence[LayerShape], block_size: int, codec: str = "auto", dtype: torch.dtype = torch.float32
    ) -> int:
        """Bytes that one block takes in all layers together, keys and values."""
        spec = codec_spec(codec, str(dtype).removeprefix("torch."))
        return sum(2 * block_size * shape.num_kv_heads * spec.row_bytes(shape.head_dim) for shape in layers)

    @property
    def spare_block(self) -> int:
        """A block beyond the `num_blocks` that requests are given: rows that pad a batch write here."""
        return self.num_blocks

    def pages(self, layer: int) -> KVPages:
        """What a kernel reads of one layer."""
        return self._pages[layer]

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store this step's keys and values.

        Args:
            layer: index of the layer.
            slots: int64 [T], all different.
            keys, values: [T, num_kv_heads, head_dim], any float dtype.
        """
        self._operators.write_pages(self._pages[layer], slots, keys, values)

    def write_rotated(
        self, layer: int, slots: Tensor, heads: Tensor, rotation: Rotation, room: Tensor | None = None
    ) -> Tensor:
        """Rotate queries and keys, store the keys with the values, and return the queries.

        Args:
            layer: index of the layer.
            slots: int64 [T], all different.
            heads: [T, num_heads + 2 * num_kv_heads, head_dim]: queries, keys, values, contiguous.
            rotation: what becomes of queries and keys.
            room: of the result's size and dtype, which it may be put into.

        Returns:
            [T, num_heads, head_dim] in the dtype of `heads`.
        """
        return self._operators.rotate_and_write(self._pages[layer], slots, heads, rotation, room)

    def _reserve(self, shape: LayerShape, k_scale: float, v_scale: float) -> KVPages:
        size = (
            shape.num_kv_heads,
            (self.num_blocks + 1) * self.block_size,
            self.codec.spec.row_elements(shape.head_dim),
        )
        keys, values = (torch.empty(size, dtype=self.codec.storage_dtype, device=self.device) for _ in range(2))
        return KVPages(keys, values, self.codec, k_scale, v_scale)


def _check_scales(codec: KVCodec, k_scale: float, v_scale: float) -> None:
    for key, scale in (("cache.k_scale", k_scale), ("cache.v_scale", v_scale)):
        if not 0.0 < scale < float("inf"):
            raise ConfigError(f"{key}: a scale is positive and finite, not {scale}")
        if scale != 1.0 and codec.spec.scaling != "cache":
            raise ConfigError(f"{key}: codec {codec.spec.name!r} has no scale of the cache; set it to 1.0")
