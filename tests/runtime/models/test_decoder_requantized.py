"""SmolLM2 in every weight format and checkpoint layout stays as close to float32 as is stated for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from real_references import smollm2_file
from torch import Tensor

from benchmarks.requantize import PROSE, compare, logits_of, requantized
from benchmarks.weight_recipes import RECIPES, recipe
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.checkpoint import Checkpoint, open_checkpoint
from runtime.models.loader import read_decoder
from runtime.models.tokenizer import load_tokenizer

torch.set_num_threads(1)
pytestmark = pytest.mark.real_model

Reference = tuple[Checkpoint, list[int], Tensor]


@pytest.fixture(scope="module")
def reference() -> Reference:
    """The model's checkpoint, the tokens of the text, and what float32 says after each of them."""
    source = open_checkpoint(smollm2_file())
    tokens = load_tokenizer(source.text_source).encode(PROSE.read_text(encoding="utf-8"))
    return source, tokens, logits_of(read_decoder(source, torch.float32), tokens)


@pytest.mark.parametrize("name", [each.name for each in RECIPES])
def test_a_requantised_model_is_within_the_stated_thresholds(name: str, reference: Reference, tmp_path: Path) -> None:
    source, tokens, expected = reference
    wanted = recipe(name)
    model, _ = requantized(source, wanted, tmp_path)
    found = compare(logits_of(model, tokens), expected, tokens)
    assert found.perplexity <= wanted.perplexity
    assert found.agreement >= wanted.agreement


def test_blocks_of_the_file_give_the_same_logits_as_their_weights(reference: Reference) -> None:
    source, tokens, expected = reference
    model = read_decoder(source, torch.float32, keep_packed=True)
    layer = model.weights.layers[0]
    assert all(isinstance(each, PackedMatrix) for each in (*layer.qkv, *layer.gate_up, layer.output, layer.down))
    torch.testing.assert_close(logits_of(model, tokens[:64]), expected[:64], atol=1e-3, rtol=1e-4)


def test_a_packed_model_holds_no_decoded_copy() -> None:
    """Private memory after loading, beyond what was there before, against the packed bytes; and the most there was.

    The most also counts the pages of the mapped file.
    """
    script = """
import sys, torch
from pathlib import Path
import runtime.models.registry
from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import read_decoder
def memory(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))
runtime.models.registry.adapter_for("llama", "")
torch.set_num_threads(1)
private, most, steps = memory("RssAnon"), memory("VmHWM"), []
model = read_decoder(open_checkpoint(sys.argv[1]), torch.float16, progress=steps.append, keep_packed=True)
print((memory("RssAnon") - private) / steps[-1].total_nbytes, (memory("VmHWM") - most) / steps[-1].total_nbytes)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, smollm2_file()], capture_output=True, text=True, check=True, timeout=300
    )
    kept, most = map(float, run.stdout.split())
    assert kept <= 1.15
    assert most <= 2.3
