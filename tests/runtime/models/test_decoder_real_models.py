"""Real models write, token for token, what `transformers` writes with the same weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gguf
import pytest
import torch
from decoder_driver import DecoderDriver, greedy
from real_references import GEMMA3, SMOLLM2, dequantized, gemma3_file, greedy_continuations, smollm2_file
from torch import Tensor

from runtime.models.loader import LoadedModel, load_model

torch.set_num_threads(1)
pytestmark = pytest.mark.real_model

LENGTH = 128
PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "def fibonacci(n):",
    "Water boils at",
    "The three laws of robotics are",
    "1, 1, 2, 3, 5, 8,",
    "Dear Sir or Madam,",
    "La lune est",
    "In 1969, two people",
    "The recipe needs flour, sugar and",
]


@pytest.fixture(scope="module")
def smollm2() -> LoadedModel:
    return load_model(smollm2_file(), torch.float32)


@pytest.fixture(scope="module")
def gemma3_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gemma3_file(tmp_path_factory.mktemp("gemma3"))


@pytest.fixture(scope="module")
def gemma3(gemma3_path: Path) -> LoadedModel:
    return load_model(gemma3_path, torch.float32)


def greedy_texts(loaded: LoadedModel) -> tuple[list[list[int]], list[list[int]]]:
    prompts = [loaded.tokenizer.encode(prompt) for prompt in PROMPTS]
    return prompts, greedy(DecoderDriver(loaded.model, len(prompts)), prompts, LENGTH)


def test_smollm2_writes_what_transformers_writes(smollm2: LoadedModel) -> None:
    prompts, outputs = greedy_texts(smollm2)
    reference = dequantized(smollm2_file(), SMOLLM2, gguf.MODEL_ARCH.LLAMA)
    assert greedy_continuations(reference, prompts, outputs) == outputs


def test_gemma3_writes_what_transformers_writes(gemma3: LoadedModel, gemma3_path: Path) -> None:
    prompts, outputs = greedy_texts(gemma3)
    reference = dequantized(gemma3_path, GEMMA3, gguf.MODEL_ARCH.GEMMA3)
    assert greedy_continuations(reference, prompts, outputs) == outputs


def test_smollm2_knows_the_capital_of_france(smollm2: LoadedModel) -> None:
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = smollm2.tokenizer.encode(smollm2.chat_template.render(question), add_special=False)
    answer = greedy(DecoderDriver(smollm2.model), [prompt], 8)[0]
    assert "Paris" in smollm2.tokenizer.decode(answer)


def test_gemma3_in_float16_fails_in_its_eighth_layer(gemma3: LoadedModel, gemma3_path: Path) -> None:
    model = load_model(gemma3_path, torch.float16, torch.float16).model
    seen: dict[str, bool] = {}

    def probe(name: str, value: Tensor) -> None:
        seen[name] = bool(value.isfinite().all())

    logits = DecoderDriver(model).step({0: gemma3.tokenizer.encode(PROMPTS[0])}, probe)[0]
    assert next(name for name, finite in seen.items() if not finite).startswith("layers.7.")
    assert not logits.isfinite().all()


def test_gemma3_in_float16_is_coherent_over_a_float32_residual(gemma3: LoadedModel, gemma3_path: Path) -> None:
    model = load_model(gemma3_path, torch.float16, torch.float32).model
    prompt = gemma3.tokenizer.encode(PROMPTS[0])
    narrow, wide = DecoderDriver(model), DecoderDriver(gemma3.model)
    assert narrow.step({0: prompt})[0].isfinite().all()
    assert greedy(DecoderDriver(model), [prompt], 16) == greedy(wide, [prompt], 16)


def test_loading_smollm2_holds_no_weight_twice() -> None:
    """Peak memory while loading, beyond what the imports take, against the weights' own size."""
    script = """
import resource, sys, torch
from runtime.models.loader import load_model
import runtime.models.registry
runtime.models.registry.adapter_for("llama", "")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, steps = peak(), []
load_model(sys.argv[1], torch.float32, progress=steps.append)
print((peak() - before) / steps[-1].total_nbytes)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, smollm2_file()], capture_output=True, text=True, check=True, timeout=300
    )
    assert float(run.stdout) <= 1.3
