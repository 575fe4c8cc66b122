"""A GGUF file of a model gives the same logits as `transformers` does for the model that it was written from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from decoder_driver import DecoderDriver
from gguf_references import gguf_config, write_gguf
from reference_decoders import FAMILIES, build_reference, reference_logits

from runtime.errors import CheckpointError
from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import read_decoder

torch.set_num_threads(1)


def test_the_biases_of_a_family_that_has_them_must_be_there(tmp_path: Path) -> None:
    """Without them the model loads and answers nonsense."""
    config = gguf_config("qwen2", 0)
    plain = build_reference(type(config).from_dict(config.to_dict()), 0)
    for layer in plain.model.layers:
        for part in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj):
            part.bias = None
    with pytest.raises(CheckpointError, match=r"'blk\.0\.attn_q\.bias' \(one of \d+\) is missing"):
        read_decoder(open_checkpoint(write_gguf(plain, tmp_path / "model.gguf")), torch.float32)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_of_a_gguf_file_equal_those_of_transformers(family: str, seed: int, tmp_path: Path) -> None:
    reference = build_reference(gguf_config(family, seed), seed)
    model = read_decoder(open_checkpoint(write_gguf(reference, tmp_path / "model.gguf")), torch.float32)
    text = torch.randint(model.vocab_size, (40,), generator=torch.Generator().manual_seed(seed)).tolist()
    logits = DecoderDriver(model).step({0: text})[0]
    torch.testing.assert_close(logits, reference_logits(reference, text), atol=1e-4, rtol=0)
