"""The forward pass of every decoder: what a config describes, over the tensors of `weights`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.engine.model import Probe
from runtime.kernels.gate import Gate
from runtime.kernels.operators import Operators
from runtime.kernels.rotation import Rotation
from runtime.linear.linear import Linear
from runtime.models.config import DecoderConfig
from runtime.models.rope import RotaryEmbedding
from runtime.models.weights import DecoderWeights, LayerWeights, Matrix, Stack


class Decoder:
    """A decoder that implements the engine's `Model` protocol.

    Products run in one dtype. The residual stream may be wider than that, for families whose activations outgrow it:
    norms then read the wide stream, and each branch is added to it in its own dtype.

    Attributes:
        layers: what attention must know of each layer.
        dtype, residual_dtype: of products and of the residual stream.
        linear: runs all products with weights.
        operators: run everything else but attention.
    """

    def __init__(
        self,
        config: DecoderConfig,
        weights: DecoderWeights,
        dtype: torch.dtype,
        residual_dtype: torch.dtype,
        linear: Linear,
        operators: Operators,
    ) -> None:
        self.config = config
        self.weights = weights
        self.residual_dtype = residual_dtype
        self.linear = linear
        self.operators = operators
        self.layers: Sequence[LayerShape] = config.layer_shapes()
        self.vocab_size = config.vocab_size
        self.max_positions = config.max_positions
        self.dtype = dtype
        self.device = weights.final_norm.device
        ropes = list(dict.fromkeys(kind.rope for kind in config.layers))
        self._rotary = [RotaryEmbedding(rope, config.head_dim, self.device) for rope in ropes]
        self._norms = [*(layer.attention_norm for layer in weights.layers), weights.final_norm]
        self._rope_of_layer = [ropes.index(kind.rope) for kind in config.layers]
        activations = {"silu": operators.silu_and_mul, "gelu_tanh": operators.gelu_tanh_and_mul}
        self._gate = Gate(config.activation, activations[config.activation])

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
        residual = self.operators.embedding(
            self.weights.embedding, tokens, self.residual_dtype, self.config.embedding_scale
        )
        if probe is not None:
            probe("embedding", residual)
        rotations = [rope.rows(positions, self.dtype) for rope in self._rotary]
        x = self._norm(residual, self._norms[0])
        for index, layer in enumerate(self.weights.layers):
            cos, sin = rotations[self._rope_of_layer[index]]
            attended = self._attend(index, layer, x, cos, sin, attention)
            x = self._join(
                residual, attended, layer.output, layer.output_bias, layer.attention_post_norm, layer.mlp_norm
            )
            if probe is not None:
                probe(f"layers.{index}.attention", residual)
            gated = self._gated(x, layer.gate_up, layer.gate_up_bias)
            x = self._join(residual, gated, layer.down, layer.down_bias, layer.mlp_post_norm, self._norms[index + 1])
            if probe is not None:
                probe(f"layers.{index}.mlp", residual)
        return x

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """float32 [R, vocab] of rows of `forward`'s result, [R, d]."""
        logits = self.linear.product(hidden, self.weights.head).float()
        cap = self.config.final_softcap
        return logits if cap is None else logits.div_(cap).tanh_().mul_(cap)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return self.operators.rms_norm(x, weight, self.config.norm_eps, self.dtype)

    def _attend(
        self, index: int, layer: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor, attention: Attention
    ) -> Tensor:
        """Attention of one layer over normed x [T, d], before the output product: [T, H D]."""
        rows = x.shape[0]
        heads = self._product(x, layer.qkv, layer.qkv_bias).view(rows, -1, self.config.head_dim)
        rotation = Rotation(cos, sin, layer.q_norm, layer.k_norm, self.config.norm_eps)
        return attention.forward_rotated(index, heads, rotation).view(rows, -1)

    def _join(
        self,
        residual: Tensor,
        inner: Tensor,
        weight: Matrix,
        bias: Tensor | None,
        post_norm: Tensor | None,
        next_norm: Tensor,
    ) -> Tensor:
        """Add a branch's last product to the residual stream, in place, and return what the next branch reads."""
        if bias is None and post_norm is None:
            self.linear.add_product(residual, inner, weight)
            return self._norm(residual, next_norm)
        branch = self.linear.product(inner, weight, bias)
        return self.operators.add_rms_norm(residual, branch, next_norm, self.config.norm_eps, self.dtype, post_norm)

    def _gated(self, x: Tensor, stack: Stack, bias: Tensor | None) -> Tensor:
        """What the feed-forward's second product reads: [T, F]."""
        if len(stack) == 1:
            return self.linear.gated_product(x, stack[0], bias, self._gate)
        return self._gate.apply(self._product(x, stack, bias))

    def _product(self, x: Tensor, stack: Stack, bias: Tensor | None) -> Tensor:
        """x @ W.T + bias for a matrix W that may be held in several parts, one product for each."""
        if len(stack) == 1:
            return self.linear.product(x, stack[0], bias)
        whole = torch.cat([self.linear.product(x, part) for part in stack], 1)
        return whole if bias is None else whole.add_(bias)
