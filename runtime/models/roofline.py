"""What one step of a decoder costs at least: every operator that `Decoder` runs, with its bytes, flops and launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runtime.attention.declarations import LayerShape
from runtime.formats.kv.declarations import KVCodecSpec
from runtime.formats.weights.declarations import WeightFormatSpec, admission
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels import traffic
from runtime.kernels.cuda.grouped_decode import LEAST_SPLIT_KEYS
from runtime.kernels.splits import split_count
from runtime.kernels.traffic import Traffic
from runtime.linear.selector import DENSE, LinearPlan, select
from runtime.linear.workspace import TILE_ELEMENTS
from runtime.models.config import DecoderConfig
from runtime.models.weights import Slot, layer_slots, model_slots
from runtime.platforms.chips import ChipSpec

_GROUP_SIZE = 128
"""Of formats that admit several: what checkpoints mostly have."""


@dataclass(frozen=True, slots=True)
class StepShape:
    """What one step computes.

    Attributes:
        row_counts: rows of each request: one where it decodes, many where its prompt is read.
        contexts: tokens of each request in the cache, its rows included.
    """

    row_counts: tuple[int, ...]
    contexts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Of all requests."""
        return sum(self.row_counts)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator of a step.

    Attributes:
        operator: what runs, as the declarations have it.
        role: what it is for.
        calls: how often a step runs it.
        in_layers: whether layers run it, and not the step once.
        cost: of one call.
    """

    operator: str
    role: str
    calls: int
    cost: Traffic
    in_layers: bool = True

    def seconds(self, chip: ChipSpec) -> float:
        """The least time that all calls take: that of the bytes, or of the flops where these take longer."""
        speed = chip.tensor_flops if self.cost.tensor_cores else chip.float32_flops
        return self.calls * max(self.cost.bytes_moved / chip.bytes_per_second, self.cost.flops / speed)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """A model and how it is held.

    Attributes:
        config: of the decoder.
        residual_bytes: of an element of the residual stream.
        codec: of the cache.
        format: of the matrices of layers, and of table and head where it is a GGUF type; None for float16. A matrix
            that the format does not admit is held in float16.
        platform: where it runs.
    """

    config: DecoderConfig
    residual_bytes: int
    codec: KVCodecSpec
    format: WeightFormatSpec | None
    platform: str

    def operations(self, step: StepShape) -> tuple[Operation, ...]:
        """All operators of a step, in the order in which they first run."""
        rows, d, config = step.rows, self.config.hidden_size, self.config
        layers, head_dim = len(config.layers), config.head_dim
        row_bytes = self.codec.row_bytes(head_dim)
        table = self._weight(model_slots(config)["embedding"])
        norm = traffic.rms_norm(rows, d, self.residual_bytes)
        rotated = traffic.rotate_and_write(
            rows, config.num_heads, config.num_kv_heads, head_dim, row_bytes, norms=config.qk_norm
        )
        fields = {name: slots for name, slots in layer_slots(config, 0).items() if slots[0].kind == "matrix"}
        ropes = len({kind.rope for kind in config.layers})
        embedded = traffic.embedding(rows, d, table.nbytes // config.vocab_size, self.residual_bytes)
        return (
            Operation("embedding", "embedding", 1, embedded, in_layers=False),
            Operation("rotary_table", "cosines, sines", ropes, traffic.rotary_table(rows, head_dim), in_layers=False),
            Operation("rms_norm", "first norm", 1, norm, in_layers=False),
            self._product("qkv", fields["qkv"], rows, layers, bias=config.qkv_bias),
            Operation("rotate_and_write", "rotation, cache", layers, rotated),
            *self._attention(step),
            *self._join("output", fields["output"], rows, bias=config.output_bias),
            *self._gated(fields["gate_up"], rows),
            *self._join("down", fields["down"], rows, bias=config.mlp_bias),
            *self._answers(len(step.row_counts)),
        )

    def dense_reasons(self) -> tuple[str, ...]:
        """Why matrices of layers are held in float16 although a format was asked for."""
        return tuple(
            f"{name}: {reason}"
            for name, slots in layer_slots(self.config, 0).items()
            if slots[0].kind == "matrix" and (reason := self._weight(*slots).refusal)
        )

    def _gated(self, slots: Sequence[Slot], rows: int) -> Iterator[Operation]:
        """Gate and up, and the activation, which is built into the product of few rows."""
        config, layers = self.config, len(self.config.layers)
        product = self._product("gate_up", slots, rows, layers, bias=config.mlp_bias, gated=True)
        yield product
        if product.cost.tensor_cores:
            activation = traffic.gated_activation(rows, config.intermediate_size)
            yield Operation(f"{config.activation}_and_mul", "activation", layers, activation)

    def _join(self, role: str, slots: Sequence[Slot], rows: int, *, bias: bool) -> Iterator[Operation]:
        """A branch's last product, its sum with the residual stream, and the norm of that."""
        config, layers = self.config, len(self.config.layers)
        fused = bias or config.post_norms
        added_to = 0 if fused else self.residual_bytes
        yield self._product(role, slots, rows, layers, bias=bias, added_to=added_to)
        if fused:
            norm = traffic.add_rms_norm(rows, config.hidden_size, self.residual_bytes, post_norm=config.post_norms)
            yield Operation("add_rms_norm", f"norm after {role}", layers, norm)
        else:
            norm = traffic.rms_norm(rows, config.hidden_size, self.residual_bytes)
            yield Operation("rms_norm", f"norm after {role}", layers, norm)

    def _attention(self, step: StepShape) -> Iterator[Operation]:
        shapes = self.config.layer_shapes()
        for shape in dict.fromkeys(shapes):
            role = "attention" if shape.window is None else f"attention, window {shape.window}"
            yield Operation("attention", role, shapes.count(shape), self._attention_cost(shape, step))

    def _attention_cost(self, shape: LayerShape, step: StepShape) -> Traffic:
        requests, most_keys = len(step.contexts), max(step.contexts)
        splits = 1
        if max(step.row_counts) == 1:
            least = LEAST_SPLIT_KEYS[self.codec.bytes_per_element]
            keys = most_keys if shape.window is None else min(most_keys, shape.window)
            splits = split_count(keys, least, requests * shape.num_kv_heads)
        return traffic.attention(
            step.row_counts,
            step.contexts,
            shape.num_heads,
            shape.num_kv_heads,
            shape.head_dim,
            self.codec.row_bytes(shape.head_dim),
            window=shape.window,
            splits=splits,
        )

    def _answers(self, requests: int) -> Iterator[Operation]:
        """From the last row of each request to its token."""
        slots = model_slots(self.config)
        head = self._product("head", [slots.get("head", slots["embedding"])], requests, 1)
        yield replace(head, in_layers=False)
        cap = self.config.final_softcap is not None
        vocabulary = self.config.vocab_size
        yield Operation("logits", "logits as float32", 1, traffic.logits(requests, vocabulary, softcap=cap), False)
        yield Operation("draw_tokens", "sampling", 1, traffic.draw_tokens(requests, vocabulary), False)

    def _product(
        self,
        role: str,
        slots: Sequence[Slot],
        rows: int,
        calls: int,
        *,
        bias: bool = False,
        added_to: int = 0,
        gated: bool = False,
    ) -> Operation:
        weight = self._weight(*slots)
        plan = LinearPlan(
            rows=rows,
            inputs=weight.inputs,
            outputs=weight.outputs,
            format=weight.format,
            dtype="float16",
            platform=self.platform,
            installed=frozenset({"triton"}),
        )
        provider = select(plan).provider
        arguments = rows, weight.outputs, weight.inputs, weight.nbytes
        if "voltgate::gemv" in provider.operators:
            cost = traffic.product(*arguments, bias=bias, added_to=added_to, gated=gated)
        else:
            tiles = -(-weight.outputs // max(min(weight.outputs, TILE_ELEMENTS // weight.inputs), 1))
            cost = traffic.library_product(*arguments, bias=bias, added_to=added_to, tiles=tiles)
        return Operation(provider.name, role, calls, cost)

    def _weight(self, *slots: Slot) -> _Weight:
        outputs, inputs = sum(slot.shape[0] for slot in slots), slots[0].shape[1]
        dense = 2 * outputs * inputs
        of_layers = slots[0].role.startswith("layer.")
        if self.format is None or not (of_layers or self.format.layout == "gguf"):
            return _Weight(outputs, inputs, DENSE, dense)
        sizes = self.format.group_sizes
        group_size = _GROUP_SIZE if _GROUP_SIZE in sizes else sizes[0]
        if refusal := admission(self.format, outputs, inputs, group_size):
            return _Weight(outputs, inputs, DENSE, dense, refusal)
        matrix = PackedMatrix.empty(self.format, outputs, inputs, group_size, "meta")
        return _Weight(outputs, inputs, self.format.name, matrix.nbytes)


@dataclass(frozen=True, slots=True)
class _Weight:
    """A matrix: its shape, format and bytes, and why it does not have the format that was asked for."""

    outputs: int
    inputs: int
    format: str
    nbytes: int
    refusal: str = ""
