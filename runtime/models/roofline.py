"""What one step of a decoder costs at least: every operator that `Decoder` runs, with its bytes, flops and launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from runtime.attention.declarations import LayerShape
from runtime.formats.kv.declarations import KVCodecSpec
from runtime.kernels import traffic
from runtime.kernels.cuda.grouped_decode import LEAST_SPLIT_KEYS
from runtime.kernels.splits import split_count
from runtime.kernels.traffic import Traffic
from runtime.linear.selector import PROVIDERS, LinearPlan
from runtime.linear.workspace import TILE_ELEMENTS
from runtime.models.held import HeldMatrix, HeldWeights
from runtime.platforms.chips import ChipSpec


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
        cost: of one call.
        in_layers: whether layers run it, and not the step once.
        format: of the weight, where it is a product.
    """

    operator: str
    role: str
    calls: int
    cost: Traffic
    in_layers: bool = True
    format: str = ""

    def seconds(self, chip: ChipSpec) -> float:
        """The least time that all calls take: that of the bytes, or of the flops where these take longer."""
        speed = chip.tensor_flops if self.cost.tensor_cores else chip.float32_flops
        return self.calls * max(self.cost.bytes_moved / chip.bytes_per_second, self.cost.flops / speed)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """A model and how it is held.

    Attributes:
        weights: of the decoder, as they are held.
        residual_bytes: of an element of the residual stream.
        codec: of the cache.
        platform: where it runs.
    """

    weights: HeldWeights
    residual_bytes: int
    codec: KVCodecSpec
    platform: str

    def operations(self, step: StepShape) -> tuple[Operation, ...]:
        """All operators of a step, in the order in which they first run."""
        rows, config = step.rows, self.weights.config
        d = config.hidden_size
        layers, head_dim = len(config.layers), config.head_dim
        row_bytes = self.codec.row_bytes(head_dim)
        norm = traffic.rms_norm(rows, d, self.residual_bytes)
        rotated = traffic.rotate_and_write(
            rows, config.num_heads, config.num_kv_heads, head_dim, row_bytes, norms=config.qk_norm
        )
        ropes = len({kind.rope for kind in config.layers})
        token_bytes = self.weights.embedding.nbytes // config.vocab_size
        embedded = traffic.embedding(rows, d, token_bytes, self.residual_bytes)
        return (
            Operation("embedding", "embedding", 1, embedded, in_layers=False),
            Operation("rotary_table", "cosines, sines", ropes, traffic.rotary_table(rows, head_dim), in_layers=False),
            Operation("rms_norm", "first norm", 1, norm, in_layers=False),
            *self._products("qkv", rows, bias=config.qkv_bias),
            Operation("rotate_and_write", "rotation, cache", layers, rotated),
            *self._attention(step),
            *self._join("output", rows, bias=config.output_bias),
            *self._products("gate_up", rows, bias=config.mlp_bias, gated=True),
            *self._join("down", rows, bias=config.mlp_bias),
            *self._answers(len(step.row_counts)),
        )

    def _products(
        self, field: str, rows: int, *, bias: bool, added_to: int = 0, gated: bool = False
    ) -> Iterator[Operation]:
        """Those with one field of all layers; what is held in parts is joined, and has bias and gate, behind them.

        The activation of the gate is built into the product of few rows with one matrix.
        """
        config = self.weights.config
        for stack, calls in self.weights.layers(field).items():
            for matrix, count in Counter(stack).items():
                if matrix.order_nbytes:
                    ordered = traffic.ordered_inputs(rows, matrix.inputs, matrix.order_nbytes)
                    yield Operation("index_select", f"{field}, inputs in order", calls * count, ordered)
            gate_apart = gated
            if len(stack) == 1:
                product = self._product(field, stack[0], rows, calls, bias=bias, added_to=added_to, gated=gated)
                gate_apart = gated and product.cost.tensor_cores
                yield product
            else:
                for matrix, count in Counter(stack).items():
                    yield self._product(field, matrix, rows, calls * count)
                joined = traffic.joined(rows, sum(matrix.outputs for matrix in stack), bias=bias)
                yield Operation("cat", f"{field}, parts joined", calls, joined)
            if gate_apart:
                activation = traffic.gated_activation(rows, config.intermediate_size)
                yield Operation(f"{config.activation}_and_mul", "activation", calls, activation)

    def _join(self, field: str, rows: int, *, bias: bool) -> Iterator[Operation]:
        """A branch's last product, its sum with the residual stream, and the norm of that."""
        config, layers = self.weights.config, len(self.weights.config.layers)
        fused = bias or config.post_norms
        yield from self._products(field, rows, bias=bias, added_to=0 if fused else self.residual_bytes)
        if fused:
            norm = traffic.add_rms_norm(rows, config.hidden_size, self.residual_bytes, post_norm=config.post_norms)
            yield Operation("add_rms_norm", f"norm after {field}", layers, norm)
        else:
            norm = traffic.rms_norm(rows, config.hidden_size, self.residual_bytes)
            yield Operation("rms_norm", f"norm after {field}", layers, norm)

    def _attention(self, step: StepShape) -> Iterator[Operation]:
        shapes = self.weights.config.layer_shapes()
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
        yield replace(self._product("head", self.weights.head, requests, 1), in_layers=False)
        cap = self.weights.config.final_softcap is not None
        vocabulary = self.weights.config.vocab_size
        yield Operation("logits", "logits as float32", 1, traffic.logits(requests, vocabulary, softcap=cap), False)
        yield Operation("draw_tokens", "sampling", 1, traffic.draw_tokens(requests, vocabulary), False)

    def _product(
        self,
        role: str,
        matrix: HeldMatrix,
        rows: int,
        calls: int,
        *,
        bias: bool = False,
        added_to: int = 0,
        gated: bool = False,
    ) -> Operation:
        plan = LinearPlan(
            rows=rows,
            inputs=matrix.inputs,
            outputs=matrix.outputs,
            format=matrix.format,
            dtype="float16",
            platform=self.platform,
        )
        provider = PROVIDERS.select(plan).spec
        arguments = rows, matrix.outputs, matrix.inputs, matrix.nbytes
        if "voltgate::gemv" in provider.operators:
            cost = traffic.product(*arguments, bias=bias, added_to=added_to, gated=gated)
        else:
            tiles = -(-matrix.outputs // max(min(matrix.outputs, TILE_ELEMENTS // matrix.inputs), 1))
            cost = traffic.library_product(*arguments, bias=bias, added_to=added_to, tiles=tiles)
        return Operation(provider.name, role, calls, cost, format=matrix.format)
