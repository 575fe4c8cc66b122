"""The forward pass of every decoder: what a config describes, over the tensors of `weights`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import embedding

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.engine.model import Probe
from runtime.kernels.reference.activation import gelu_tanh_and_mul, silu_and_mul
from runtime.kernels.reference.norm import rms_norm
from runtime.kernels.reference.product import add_product, product
from runtime.kernels.reference.rotary import rotary
from runtime.models.config import Activation, DecoderConfig
from runtime.models.rope import RotaryEmbedding
from runtime.models.weights import DecoderWeights, LayerWeights

_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"silu": silu_and_mul, "gelu_tanh": gelu_tanh_and_mul}


class Decoder:
    """A decoder that implements the engine's `Model` protocol.

    Products run in the weights' dtype. The residual stream may be wider than that, for families whose activations
    outgrow it: norms then read the wide stream, and each branch is added to it in its own dtype.

    Attributes:
        layers: what attention must know of each layer.
        dtype, residual_dtype: of products and of the residual stream.
    """

    def __init__(self, config: DecoderConfig, weights: DecoderWeights, residual_dtype: torch.dtype) -> None:
        self.config = config
        self.weights = weights
        self.residual_dtype = residual_dtype
        self.layers: Sequence[LayerShape] = config.layer_shapes()
        self.vocab_size = config.vocab_size
        self.max_positions = config.max_positions
        self.dtype = weights.embedding.dtype
        self.device = weights.embedding.device
        ropes = list(dict.fromkeys(kind.rope for kind in config.layers))
        self._rotary = [RotaryEmbedding(rope, config.head_dim, self.device) for rope in ropes]
        self._rope_of_layer = [ropes.index(kind.rope) for kind in config.layers]
        self._activation = _ACTIVATIONS[config.activation]

    @torch.inference_mode()
    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        attention: Attention,
        probe: Probe | None = None,
    ) -> Tensor:
        """Hidden states after the final norm, [T, d] in the compute dtype.

        Args:
            tokens, positions: int64 [T], the rows of all requests of a step one after another.
            attention: after its `begin` for this step.
            probe: called with ("embedding", x), ("layers.0.attention", x), ("layers.0.mlp", x), ... and the residual
                stream [T, d] after each of them, in order.
        """
        residual = embedding(tokens, self.weights.embedding).to(self.residual_dtype)
        if self.config.embedding_scale != 1.0:
            residual.mul_(self.config.embedding_scale)
        if probe is not None:
            probe("embedding", residual)
        rotations = [rope.rows(positions, self.dtype) for rope in self._rotary]
        for index, layer in enumerate(self.weights.layers):
            cos, sin = rotations[self._rope_of_layer[index]]
            attended = self._attend(index, layer, self._norm(residual, layer.attention_norm), cos, sin, attention)
            self._join(residual, attended, layer.output, layer.output_bias, layer.attention_post_norm)
            if probe is not None:
                probe(f"layers.{index}.attention", residual)
            gated = product(self._norm(residual, layer.mlp_norm), layer.gate_up, layer.gate_up_bias)
            self._join(residual, self._activation(gated), layer.down, layer.down_bias, layer.mlp_post_norm)
            if probe is not None:
                probe(f"layers.{index}.mlp", residual)
        return self._norm(residual, self.weights.final_norm)

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """float32 [R, vocab] of rows of `forward`'s result, [R, d]."""
        logits = product(hidden, self.weights.head).float()
        cap = self.config.final_softcap
        return logits if cap is None else logits.div_(cap).tanh_().mul_(cap)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(x, weight, self.config.norm_eps, self.dtype)

    def _attend(
        self, index: int, layer: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor, attention: Attention
    ) -> Tensor:
        """Attention of one layer over normed x [T, d], before the output product: [T, H D]."""
        rows, heads = x.shape[0], self.config.qkv_heads
        qkv = product(x, layer.qkv, layer.qkv_bias).view(rows, -1, self.config.head_dim)
        turned, value = qkv.split_with_sizes((heads[0] + heads[1], heads[2]), 1)
        if layer.q_norm is not None and layer.k_norm is not None:
            query, key = turned.split_with_sizes(heads[:2], 1)
            turned = torch.cat((self._norm(query, layer.q_norm), self._norm(key, layer.k_norm)), 1)
        query, key = rotary(turned, cos, sin).split_with_sizes(heads[:2], 1)
        return attention.forward(index, query, key, value).view(rows, -1)

    def _join(
        self, residual: Tensor, inner: Tensor, weight: Tensor, bias: Tensor | None, post_norm: Tensor | None
    ) -> None:
        """Add a branch's last product to the residual stream, in place."""
        if bias is None and post_norm is None and self.dtype == self.residual_dtype:
            add_product(residual, inner, weight)
            return
        branch = product(inner, weight, bias)
        if post_norm is not None:
            branch = rms_norm(branch, post_norm, self.config.norm_eps, self.residual_dtype)
        residual.add_(branch)
