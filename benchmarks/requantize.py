"""One real model in every weight format: what each costs in bytes, in perplexity and in agreement with float32.

A GGUF model is decoded, its matrices are rounded to nearest in a format, and written as a Hugging Face folder in the
layout that the format's own tool writes. The folder is then loaded like any other checkpoint and compared with the
decoded model over a fixed text. Run it with `.venv/bin/python -m benchmarks.requantize [MODEL.gguf] [RECIPE ...]`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig
from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.float4 import quantize_mxfp4, quantize_nvfp4
from runtime.formats.weights.float8 import quantize_float8
from runtime.formats.weights.integer import quantize_integer
from runtime.formats.weights.matrix import PackedMatrix
from runtime.models.checkpoint import Checkpoint, open_checkpoint
from runtime.models.config import DecoderConfig
from runtime.models.decoder import Decoder
from runtime.models.default_model import default_model
from runtime.models.fields import Fields
from runtime.models.loader import read_decoder
from runtime.models.naming import HF_NAMES
from runtime.models.quantization import read_quantization
from runtime.models.tokenizer import load_tokenizer
from runtime.models.weights import all_slots
from runtime.platforms import current

PROSE = Path(__file__).parent / "prose.txt"
_BLOCK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One format in one checkpoint layout.

    Attributes:
        quantize: rounds a matrix.
        config: the `quantization_config` of its config.json; it also says which matrices are rounded.
        perplexity: the most that the perplexity may be, as a multiple of float32's.
        agreement: the least share of positions at which the likeliest next token must be float32's.
    """

    name: str
    quantize: Callable[[Tensor], PackedMatrix]
    config: Mapping[str, object]
    perplexity: float
    agreement: float


def _integer(
    name: str, group_size: int, *, symmetric: bool, act_order: bool = False
) -> Callable[[Tensor], PackedMatrix]:
    """With `act_order`, columns are ordered by their norm, which stands in for that of their activations."""

    def quantize(weight: Tensor) -> PackedMatrix:
        order = weight.norm(dim=0).argsort(descending=True, stable=True).to(torch.int32) if act_order else None
        return quantize_integer(weight, weight_format(name), group_size, symmetric=symmetric, order=order)

    return quantize


def _float8(name: str) -> Callable[[Tensor], PackedMatrix]:
    return partial(quantize_float8, spec=weight_format(name))


def _gptq(bits: int, group_size: int, *, version: int, act_order: bool = False, **options: object) -> dict[str, object]:
    return {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": group_size,
        "sym": version == 1,
        "desc_act": act_order,
        "checkpoint_format": "gptq" if version == 1 else "gptq_v2",
        **options,
    }


def _compressed(form: str, **weights: object) -> dict[str, object]:
    group = {"targets": ["Linear"], "weights": weights, "format": form}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"]}


def _modelopt(algorithm: str) -> dict[str, object]:
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"]}


# The thresholds are what rounding to nearest costs this small model, with a margin; calibrated tools lose less.
# Version 1 of GPTQ cannot store a zero point of 0, so it is written symmetric. Rounded to 2 bits the whole model says
# nothing any more, so only one matrix of each layer is.
RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="awq_int4",
        quantize=_integer("awq_int4", 64, symmetric=False),
        config={"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True, "version": "gemm"},
        perplexity=1.5,
        agreement=0.6,
    ),
    Recipe(
        name="gptq_int2_v2",
        quantize=_integer("gptq_int2", 16, symmetric=False),
        config=_gptq(2, 16, version=2, dynamic={r"-:.*\.(self_attn|mlp\.(gate|down)_proj)": {}}),
        perplexity=3.0,
        agreement=0.45,
    ),
    Recipe(
        name="gptq_int3_v2",
        quantize=_integer("gptq_int3", 32, symmetric=False),
        config=_gptq(3, 32, version=2),
        perplexity=3.3,
        agreement=0.42,
    ),
    Recipe(
        name="gptq_int4_v1",
        quantize=_integer("gptq_int4", 64, symmetric=True),
        config=_gptq(4, 64, version=1),
        perplexity=1.7,
        agreement=0.55,
    ),
    Recipe(
        name="gptq_int4_v2_act_order",
        quantize=_integer("gptq_int4", 64, symmetric=False, act_order=True),
        config=_gptq(4, 64, version=2, act_order=True),
        perplexity=1.6,
        agreement=0.6,
    ),
    Recipe(
        name="gptq_int8_v1",
        quantize=_integer("gptq_int8", 64, symmetric=True),
        config=_gptq(8, 64, version=1),
        perplexity=1.05,
        agreement=0.93,
    ),
    Recipe(
        name="int4",
        quantize=_integer("int4", 32, symmetric=True),
        config=_compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=32),
        perplexity=1.5,
        agreement=0.6,
    ),
    Recipe(
        name="int8",
        quantize=_integer("int8", 0, symmetric=True),
        config=_compressed("int-quantized", num_bits=8, type="int", strategy="channel"),
        perplexity=1.05,
        agreement=0.93,
    ),
    Recipe(
        name="fp8_tensor",
        quantize=_float8("fp8_tensor"),
        config=_modelopt("FP8"),
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="fp8_channel",
        quantize=_float8("fp8_channel"),
        config=_compressed("float-quantized", num_bits=8, type="float", strategy="channel"),
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="fp8_block",
        quantize=_float8("fp8_block"),
        config={"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
        perplexity=1.05,
        agreement=0.88,
    ),
    Recipe(
        name="nvfp4_modelopt",
        quantize=quantize_nvfp4,
        config=_modelopt("NVFP4"),
        perplexity=1.4,
        agreement=0.65,
    ),
    Recipe(
        name="nvfp4_compressed",
        quantize=quantize_nvfp4,
        config=_compressed("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16),
        perplexity=1.4,
        agreement=0.65,
    ),
    Recipe(
        name="mxfp4",
        quantize=quantize_mxfp4,
        config={"quant_method": "mxfp4"},
        perplexity=1.9,
        agreement=0.5,
    ),
    Recipe(
        name="mxfp4_compressed",
        quantize=quantize_mxfp4,
        config=_compressed("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32),
        perplexity=1.9,
        agreement=0.5,
    ),
)


def recipe(name: str) -> Recipe:
    """The recipe of that name. Raises KeyError."""
    return {each.name: each for each in RECIPES}[name]


def write_checkpoint(source: Checkpoint, recipe: Recipe, folder: Path) -> int:
    """Write a model of the Llama family, its matrices requantised, as a Hugging Face folder.

    Returns:
        Bytes of the quantised matrices in the file.
    """
    config = _config(source.config) | {"quantization_config": recipe.config}
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    quantization = read_quantization(folder, Fields(config, recipe.name))
    assert quantization is not None, "every recipe states a quantization_config"
    tensors: dict[str, Tensor] = {}
    nbytes = 0
    for slot in all_slots(source.config):
        weight = torch.empty(slot.shape)
        source.read(slot, weight)
        module = HF_NAMES[slot.role].format(layer=slot.layer)
        layout = quantization.layout(module) if slot.kind == "matrix" else None
        if layout is None:
            tensors[module + slot.suffix] = weight.half()
            continue
        stored = layout.store(recipe.quantize(weight))
        nbytes += sum(tensor.nbytes for tensor in stored.values())
        tensors |= {module + suffix: tensor.contiguous() for suffix, tensor in stored.items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return nbytes


def _config(config: DecoderConfig) -> dict[str, object]:
    return {
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": len(config.layers),
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "max_position_embeddings": config.max_positions,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.layers[0].rope.base,
        "tie_word_embeddings": config.tied_embeddings,
    }


def logits_of(model: Decoder, tokens: Sequence[int]) -> Tensor:
    """float32 [T, vocab]: what the model says after each prefix of the tokens."""
    blocks = -(-len(tokens) // _BLOCK)
    cache = PagedKVCache(model.layers, blocks, _BLOCK, dtype=model.dtype)
    attention = Attention(model.layers, cache, current("cpu"), AttentionConfig())
    batch = AttentionBatch.build([list(range(blocks))], [0], [len(tokens)], _BLOCK)
    attention.begin(batch)
    return model.logits(model.forward(torch.tensor(tokens), batch.positions, attention))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Perplexity as a multiple of the reference's, and the share of positions with the same likeliest token."""

    perplexity: float
    agreement: float


def compare(logits: Tensor, reference: Tensor, tokens: Sequence[int]) -> Comparison:
    """Both logits are [T, vocab] after the prefixes of the same tokens."""
    expected = torch.tensor(tokens[1:])
    losses = [torch.nn.functional.cross_entropy(each[:-1], expected) for each in (logits, reference)]
    agreeing = (logits.argmax(-1) == reference.argmax(-1)).float().mean()
    return Comparison(float((losses[0] - losses[1]).exp()), float(agreeing))


def requantized(source: Checkpoint, recipe: Recipe, folder: Path, *, keep_packed: bool = False) -> tuple[Decoder, int]:
    """Write, load back: the model in float32, and bytes of its quantised matrices."""
    nbytes = write_checkpoint(source, recipe, folder)
    return read_decoder(open_checkpoint(folder), torch.float32, keep_packed=keep_packed), nbytes


def main() -> None:
    """Print a row for every recipe, or for those that are named."""
    named = [argument for argument in sys.argv[1:] if not argument.endswith(".gguf")]
    paths = [Path(argument) for argument in sys.argv[1:] if argument.endswith(".gguf")]
    source = open_checkpoint(paths[0] if paths else default_model())
    tokens = load_tokenizer(source.text_source).encode(PROSE.read_text(encoding="utf-8"))
    reference = logits_of(read_decoder(source, torch.float32), tokens)
    print(f"{len(tokens)} tokens; perplexity as a multiple of float32's, agreement of the likeliest token")
    for recipe in RECIPES:
        if named and recipe.name not in named:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, nbytes = requantized(source, recipe, Path(folder))
        found = compare(logits_of(model, tokens), reference, tokens)
        print(f"{recipe.name:22} {nbytes / 2**20:7.1f} MiB {found.perplexity:9.4f} {found.agreement:7.1%}", flush=True)


if __name__ == "__main__":
    main()
