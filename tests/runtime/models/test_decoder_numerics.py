"""The residual stream's dtype, and how the first value that is not finite is found."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from decoder_driver import DecoderDriver
from reference_decoders import build_reference, random_config, reference_logits, save_reference
from torch import Tensor

from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import read_decoder
from runtime.models.registry import adapter_for

torch.set_num_threads(1)
TOKENS = [7, 3, 11, 2, 5]
LOUD_LAYER = 3


@pytest.fixture(scope="module")
def loud_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, Path]:
    """A model whose residual stream leaves float16's range in its fourth feed-forward."""
    reference = build_reference(random_config("gemma3", 0), 0)
    with torch.no_grad():
        reference.model.layers[LOUD_LAYER].post_feedforward_layernorm.weight.fill_(90_000.0)
    return reference, save_reference(reference, tmp_path_factory.mktemp("loud"))


def first_not_finite(driver: DecoderDriver) -> str | None:
    found: list[str] = []

    def probe(name: str, value: Tensor) -> None:
        if not value.isfinite().all():
            found.append(name)

    driver.step({0: TOKENS}, probe)
    return found[0] if found else None


def test_probes_see_the_residual_stream_after_every_part_in_order(loud_model: tuple[object, Path]) -> None:
    model = read_decoder(open_checkpoint(loud_model[1]), torch.float32)
    names: list[str] = []
    DecoderDriver(model).step({0: TOKENS}, lambda name, value: names.append(f"{name} {list(value.shape)}"))
    size = model.config.hidden_size
    parts = [f"layers.{layer}.{part}" for layer in range(len(model.layers)) for part in ("attention", "mlp")]
    assert names == [f"{name} [{len(TOKENS)}, {size}]" for name in ("embedding", *parts)]


def test_float16_fails_loudly_at_the_layer_that_overflows(loud_model: tuple[object, Path]) -> None:
    model = read_decoder(open_checkpoint(loud_model[1]), torch.float16)
    assert first_not_finite(DecoderDriver(model)) == f"layers.{LOUD_LAYER}.mlp"
    assert not DecoderDriver(model).step({0: TOKENS})[0].isfinite().any()


def test_a_float32_residual_carries_what_float16_cannot(loud_model: tuple[object, Path]) -> None:
    reference, folder = loud_model
    model = read_decoder(open_checkpoint(folder), torch.float16, torch.float32)
    assert first_not_finite(DecoderDriver(model)) is None
    logits = DecoderDriver(model).step({0: TOKENS})[0]
    torch.testing.assert_close(logits, reference_logits(reference, TOKENS), atol=0.1, rtol=0)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_families_without_post_norms_take_a_wider_residual_too(family: str, tmp_path: Path) -> None:
    reference = build_reference(random_config(family, 1), 1)
    folder = save_reference(reference, tmp_path)
    model = read_decoder(open_checkpoint(folder), torch.float16, torch.float32)
    logits = DecoderDriver(model).step({0: TOKENS})[0]
    torch.testing.assert_close(logits, reference_logits(reference, TOKENS), atol=0.05, rtol=0)


def test_the_family_that_needs_it_declares_the_wide_residual() -> None:
    value, reason = adapter_for("gemma3", "").defaults.values["model.residual_dtype"]
    assert value == "float32"
    assert "103,795" in reason
    assert not adapter_for("llama", "").defaults.values
