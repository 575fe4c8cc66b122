"""What a step costs by `runtime.models.roofline`, against counts that are made in another way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.formats.kv.declarations import codec_spec
from runtime.formats.weights.declarations import usual_group_size, weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.config import DecoderConfig, LayerKind, Rope
from runtime.models.held import HeldWeights, as_if
from runtime.models.roofline import Operation, StepPlan, StepShape
from runtime.models.weights import Slot
from runtime.platforms.chips import V100

# Llama-3-8B's numbers.
LLAMA = DecoderConfig(
    family="llama",
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_heads=32,
    num_kv_heads=8,
    head_dim=128,
    layers=(LayerKind(Rope(5e5)),) * 32,
    max_positions=8192,
    norm_eps=1e-5,
    activation="silu",
    attention_scale=128**-0.5,
    tied_embeddings=False,
)
LAYER_WEIGHTS = 4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336


def plan(config: DecoderConfig = LLAMA, form: str | None = None, codec: str = "fp16") -> StepPlan:
    return StepPlan(
        weights=as_if(config, None if form is None else weight_format(form)),
        residual_bytes=2,
        codec=codec_spec(codec),
        platform="sm70",
    )


def decode(batch: int, context: int) -> StepShape:
    return StepShape((1,) * batch, (context,) * batch)


def total(operations: tuple[Operation, ...], what: str) -> int:
    return sum(each.calls * getattr(each.cost, what) for each in operations)


def in_layers(operations: tuple[Operation, ...]) -> int:
    return sum(each.calls * each.cost.launches for each in operations if each.in_layers)


def test_a_single_token_reads_the_weights_and_little_else() -> None:
    operations = plan().operations(decode(1, 1))
    weights = 2 * (32 * LAYER_WEIGHTS + 4096 * 128256)
    assert weights < total(operations, "read") < 1.001 * weights


@pytest.mark.parametrize("rows", [1, 8, 9, 512])
def test_two_flops_a_weight_and_row(rows: int) -> None:
    """Prompts of one token leave attention next to nothing to compute."""
    operations = plan().operations(StepShape((1,) * rows, (1,) * rows))
    assert total(operations, "flops") == pytest.approx(2 * rows * (32 * LAYER_WEIGHTS + 4096 * 128256), rel=1e-3)


def test_a_prompt_needs_the_head_for_its_last_row_only() -> None:
    operations = plan().operations(StepShape((512,), (512,)))
    pairs = 512 * 513 // 2
    expected = 2 * (512 * 32 * LAYER_WEIGHTS + 4096 * 128256) + 32 * 4 * pairs * 4096
    assert total(operations, "flops") == expected


@pytest.mark.parametrize(("codec", "row_bytes"), [("fp16", 256), ("fp8_e4m3", 128), ("int8_g64", 144)])
def test_a_context_is_read_once_for_all_heads_that_share_it(codec: str, row_bytes: int) -> None:
    short, long = (total(plan(codec=codec).operations(decode(64, context)), "read") for context in (100, 101))
    assert long - short == 64 * 32 * 2 * 8 * row_bytes


def test_a_window_bounds_what_is_read() -> None:
    config = replace(LLAMA, layers=(LayerKind(Rope(1e4), 128),) * 32)
    costs = [total(plan(config).operations(decode(64, context)), "read") for context in (128, 4096)]
    assert costs[0] == costs[1]


def test_eight_launches_a_layer_where_a_context_is_split_too() -> None:
    """As tests/runtime/models/test_decoder_launches.py counts them in the decoder."""
    assert in_layers(plan().operations(decode(8, 512))) == 32 * 8
    assert in_layers(plan().operations(decode(1, 512))) == 32 * 8
    assert in_layers(plan().operations(decode(1, 4096))) == 32 * 8
    post_norms = replace(LLAMA, post_norms=True, mlp_bias=True)
    assert in_layers(plan(post_norms).operations(decode(8, 512))) == 32 * 8


@pytest.mark.parametrize(("form", "bits"), [("awq_int4", 4 + 24 / 128), ("nvfp4", 4.5), ("gguf_q4_k", 4.5)])
def test_packed_weights_are_read_packed_up_to_eight_rows(form: str, bits: float) -> None:
    products = {each.role: each for each in plan(form=form).operations(decode(8, 1))}
    assert products["down"].operator == "triton_gemv"
    assert products["down"].cost.read == pytest.approx(4096 * 14336 * bits / 8 + 8 * 2 * (14336 + 4096), rel=1e-6)
    many = {each.role: each for each in plan(form=form).operations(decode(9, 1))}
    assert many["down"].cost.read == pytest.approx(4096 * 14336 * (bits / 8 + 2) + 9 * 2 * (14336 + 4096), rel=1e-6)


def test_a_matrix_that_a_format_cannot_hold_stays_dense_and_says_why() -> None:
    odd = plan(replace(LLAMA, hidden_size=576), "gguf_q4_k")
    reasons = odd.weights.dense_reasons
    assert [reason.partition(":")[0] for reason in reasons] == ["qkv", "gate_up"]
    assert "576 inputs are no multiple of 256" in reasons[0]
    assert {each.role: each.operator for each in odd.operations(decode(1, 1))}["qkv"] == "triton_gemv_dense"


def outline_of(forms: dict[str, str], order: bool = False) -> HeldWeights:
    """The matrices of layers in the formats of their roles."""

    def outline(slot: Slot) -> PackedMatrix | None:
        form = forms.get(slot.role.removeprefix("layer."))
        if form is None:
            return None
        spec = weight_format(form)
        outputs, inputs = slot.shape
        return PackedMatrix.empty(spec, outputs, inputs, usual_group_size(spec), "meta", ["order"] if order else [])

    return HeldWeights(LLAMA, outline)


def test_a_matrix_in_several_formats_is_read_part_by_part_and_joined() -> None:
    weights = outline_of({"q": "gguf_q4_k", "k": "gguf_q4_k", "v": "gguf_q6_k"})
    qkv = [each for each in replace(plan(), weights=weights).operations(decode(1, 1)) if each.role.startswith("qkv")]
    packed = {"gguf_q4_k": 4096 * (4096 + 1024) * 4.5 / 8, "gguf_q6_k": 4096 * 1024 * 210 / 256}
    for form, nbytes in packed.items():
        parts = [each for each in qkv if each.format == form]
        activations = sum(each.calls // 32 for each in parts) * 2 * 4096
        assert sum(each.calls * each.cost.read for each in parts) == 32 * (nbytes + activations)
    assert [(each.operator, each.calls) for each in qkv if not each.format] == [("cat", 32)]
    assert sum(each.calls * each.cost.launches for each in qkv) == 32 * 4


def test_inputs_are_put_into_the_order_of_a_weight_by_a_launch_of_its_own() -> None:
    weights = outline_of({"down": "gptq_int4"}, order=True)
    down = [each for each in replace(plan(), weights=weights).operations(decode(1, 1)) if each.role.startswith("down")]
    assert [each.operator for each in down] == ["index_select", "triton_gemv"]
    assert down[0].cost.read == 14336 * (2 + 4)


def test_the_bound_is_that_of_the_bytes_for_one_token_and_of_the_flops_for_a_prompt() -> None:
    for step, per_second, amount in (
        (decode(1, 1), 900e9, "bytes_moved"),
        (StepShape((4096,), (4096,)), 125e12, "flops"),
    ):
        down = next(each for each in plan().operations(step) if each.role == "down")
        assert down.seconds(V100) == pytest.approx(32 * getattr(down.cost, amount) / per_second)
