"""The forward pass of every decoder: what a config describes, over the tensors of `weights`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape
from runtime.engine.model import Probe
from runtime.kernels.gate import Gate
from runtime.kernels.operators import Operators
from runtime.kernels.rotation import Rotation
from runtime.linear.linear import Linear, Product
from runtime.models.config import DecoderConfig
from runtime.models.rope import RotaryEmbedding
from runtime.models.weights import DecoderWeights, LayerWeights, Matrix, Stack
from runtime.models.workspace import Rooms, Workspace


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
        self._first_norm = weights.layers[0].attention_norm if weights.layers else weights.final_norm
        self._workspace = Workspace(config, dtype, residual_dtype, self.device)
        activations = {"silu": operators.silu_and_mul, "gelu_tanh": operators.gelu_tanh_and_mul}
        gate = Gate(config.activation, activations[config.activation])
        next_norms = [*(layer.attention_norm for layer in weights.layers[1:]), weights.final_norm]
        self._layers = [
            _bind_layer(linear, layer, gate, ropes.index(kind.rope), next_norm)
            for layer, kind, next_norm in zip(weights.layers, config.layers, next_norms, strict=True)
        ]
        self._head = linear.bind(weights.head)

    @torch.inference_mode()
    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        attention: Attention,
        probe: Probe | None = None,
    ) -> Tensor:
        """Hidden states after the final norm, [T, d] in the compute dtype; valid until the next step.

        Args:
            tokens, positions: int64 [T], the rows of all requests of a step one after another.
            attention: after its `begin` for this step.
            probe: called with ("embedding", x), ("layers.0.attention", x), ("layers.0.mlp", x), ... and the residual
                stream [T, d] after each of them, in order.
        """
        rooms = self._workspace.rooms(len(tokens))
        residual = self.operators.embedding(
            self.weights.embedding, tokens, self.residual_dtype, self.config.embedding_scale, rooms.residual
        )
        if probe is not None:
            probe("embedding", residual)
        rotations = [rope.rows(positions, self.dtype) for rope in self._rotary]
        x = self._norm(residual, self._first_norm, rooms)
        for index, layer in enumerate(self._layers):
            attended = self._attend(index, layer, x, rotations[layer.rope], attention, rooms)
            x = self._join(residual, attended, layer.output, rooms)
            if probe is not None:
                probe(f"layers.{index}.attention", residual)
            x = self._join(residual, layer.gate_up(x, rooms.gated), layer.down, rooms)
            if probe is not None:
                probe(f"layers.{index}.mlp", residual)
        return x

    @torch.inference_mode()
    def logits(self, hidden: Tensor) -> Tensor:
        """float32 [R, vocab] of rows of `forward`'s result, [R, d]."""
        logits = self._head(hidden).float()
        cap = self.config.final_softcap
        return logits if cap is None else logits.div_(cap).tanh_().mul_(cap)

    def _norm(self, x: Tensor, weight: Tensor, rooms: Rooms) -> Tensor:
        return self.operators.rms_norm(x, weight, self.config.norm_eps, self.dtype, rooms.normed)

    def _attend(
        self,
        index: int,
        layer: _Layer,
        x: Tensor,
        rows: tuple[Tensor, Tensor],
        attention: Attention,
        rooms: Rooms,
    ) -> Tensor:
        """Attention of one layer over normed x [T, d], before the output product: [T, H D]."""
        tokens = x.shape[0]
        heads = layer.qkv(x, rooms.heads).view(tokens, -1, self.config.head_dim)
        rotation = Rotation(*rows, layer.q_norm, layer.k_norm, self.config.norm_eps)
        return attention.forward_rotated(index, heads, rotation, rooms.turned, rooms.attended).view(tokens, -1)

    def _join(self, residual: Tensor, inner: Tensor, end: _End, rooms: Rooms) -> Tensor:
        """Add a branch's last product to the residual stream, in place, and return what the next branch reads."""
        if end.is_added:
            end.product.add_to(residual, inner)
            return self._norm(residual, end.next_norm, rooms)
        branch = end.product(inner, rooms.branch)
        return self.operators.add_rms_norm(
            residual, branch, end.next_norm, self.config.norm_eps, self.dtype, end.post_norm, rooms.normed
        )


@dataclass(frozen=True, slots=True)
class _End:
    """How a branch ends.

    Attributes:
        product: its last one.
        is_added: whether nothing comes between that product and its sum with the residual stream.
        post_norm: of the branch, before it is added.
        next_norm: what the next branch reads is normed by.
    """

    product: Product
    is_added: bool
    post_norm: Tensor | None
    next_norm: Tensor


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer with its products bound; `rope` is the index of its rotation."""

    rope: int
    qkv: Product | _Stacked
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: _End
    gate_up: Product | _Stacked
    down: _End


class _Stacked:
    """Products with a matrix that is held in several parts, one for each."""

    def __init__(self, linear: Linear, stack: Stack, bias: Tensor | None, gate: Gate | None) -> None:
        self._parts = [linear.bind(part) for part in stack]
        self._bias, self._gate = bias, gate

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        whole = torch.cat([part(x) for part in self._parts], 1)
        if self._bias is not None:
            whole.add_(self._bias)
        if self._gate is not None:
            return self._gate.apply(whole)
        return whole


def _bind_layer(linear: Linear, layer: LayerWeights, gate: Gate, rope: int, next_norm: Tensor) -> _Layer:
    def stacked(stack: Stack, bias: Tensor | None, gate: Gate | None = None) -> Product | _Stacked:
        return linear.bind(stack[0], bias, gate) if len(stack) == 1 else _Stacked(linear, stack, bias, gate)

    def end(weight: Matrix, bias: Tensor | None, post_norm: Tensor | None, next_norm: Tensor) -> _End:
        return _End(linear.bind(weight, bias), bias is None and post_norm is None, post_norm, next_norm)

    return _Layer(
        rope=rope,
        qkv=stacked(layer.qkv, layer.qkv_bias),
        q_norm=layer.q_norm,
        k_norm=layer.k_norm,
        output=end(layer.output, layer.output_bias, layer.attention_post_norm, layer.mlp_norm),
        gate_up=stacked(layer.gate_up, layer.gate_up_bias, gate),
        down=end(layer.down, layer.down_bias, layer.mlp_post_norm, next_norm),
    )
