"""One real model in every weight format: what each costs in bytes, in perplexity and in agreement with float32.

A model is decoded, its matrices are rounded to nearest in a format, and written as a Hugging Face folder in the layout
that the format's own tool writes. The folder is then loaded like any other checkpoint and compared with the decoded
model over a fixed text; or it is kept. Run it with `.venv/bin/python -m benchmarks.requantize --help`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmarks.weight_recipes import RECIPES, Recipe
from runtime.attention.attention import Attention
from runtime.attention.batch import AttentionBatch
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import AttentionConfig
from runtime.errors import CheckpointError, VoltgateError
from runtime.formats.gguf import GGUFFile
from runtime.models.chat import load_chat_template
from runtime.models.checkpoint import Checkpoint, open_checkpoint
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
_TEXT_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
)


def write_checkpoint(source: Checkpoint, recipe: Recipe, folder: Path) -> int:
    """Write the config and the weights of a model of the Llama family, its matrices requantised.

    Returns:
        Bytes of the quantised matrices in the file.

    Raises:
        CheckpointError: the model is of another family, or scales its rotary embedding.
    """
    config = _config(source) | {"quantization_config": recipe.config}
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


def write_folder(source: Checkpoint, recipe: Recipe, folder: Path) -> int:
    """Write all that a model needs to answer: `write_checkpoint`, its tokenizer and its chat template.

    Raises:
        CheckpointError: the folder holds something, or the model cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder}: is there already. Name a new folder, or empty this one.")
    folder.mkdir(parents=True, exist_ok=True)
    nbytes = write_checkpoint(source, recipe, folder)
    _write_text_files(source.text_source, folder)
    return nbytes


def _write_text_files(source: GGUFFile | Path, folder: Path) -> None:
    """Those of a folder as they are; those that say the same as a GGUF file."""
    if isinstance(source, Path):
        for name in _TEXT_FILES:
            if (source / name).exists():
                shutil.copyfile(source / name, folder / name)
        return
    load_tokenizer(source).save(folder)
    template = load_chat_template(source)
    (folder / "tokenizer_config.json").write_text(json.dumps(template.tokens, indent=2))
    if template.source:
        (folder / "chat_template.jinja").write_text(template.source, encoding="utf-8")


def _config(source: Checkpoint) -> dict[str, object]:
    config = source.config
    if config.family != "llama" or config.layers[0].rope.scaling or config.qkv_bias != config.output_bias:
        raise CheckpointError(
            f"{source.path}: only models of the Llama family are written, and only with a rotary embedding that is "
            "not scaled. Requantise another model, such as SmolLM2."
        )
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "float16",
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
        "attention_bias": config.qkv_bias,
        "mlp_bias": config.mlp_bias,
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


@click.command()
@click.argument("model", required=False, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "names",
    multiple=True,
    metavar="FORMAT",
    type=click.Choice([each.name for each in RECIPES]),
    help=f"One of {', '.join(each.name for each in RECIPES)}; may be repeated. All of them, if it is left out.",
)
@click.option(
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Keep the model in one format, as a new Hugging Face folder with its tokenizer.",
)
def main(model: Path | None, names: tuple[str, ...], output: Path | None) -> None:
    """Compare MODEL in weight formats with itself in float32; or keep it in one of them.

    MODEL is a GGUF file or a Hugging Face folder of the Llama family; without one, SmolLM2-135M is taken, if its
    package is installed.
    """
    if output is not None and len(names) != 1:
        raise click.UsageError("--output keeps one format: name it with --format")
    recipes = [each for each in RECIPES if each.name in names or not names]
    try:
        source = open_checkpoint(model or default_model())
        if output is None:
            _print_comparisons(source, recipes)
        else:
            nbytes = write_folder(source, recipes[0], output)
            click.echo(f"{output}: {recipes[0].name}, {nbytes / 2**20:.1f} MiB of quantised matrices")
    except (VoltgateError, OSError) as error:
        raise click.UsageError(str(error)) from None


def _print_comparisons(source: Checkpoint, recipes: Sequence[Recipe]) -> None:
    tokens = load_tokenizer(source.text_source).encode(PROSE.read_text(encoding="utf-8"))
    reference = logits_of(read_decoder(source, torch.float32), tokens)
    click.echo(f"{len(tokens)} tokens; perplexity as a multiple of float32's, agreement of the likeliest token")
    for recipe in recipes:
        with tempfile.TemporaryDirectory() as folder:
            model, nbytes = requantized(source, recipe, Path(folder))
        found = compare(logits_of(model, tokens), reference, tokens)
        click.echo(f"{recipe.name:22} {nbytes / 2**20:7.1f} MiB {found.perplexity:9.4f} {found.agreement:7.1%}")


if __name__ == "__main__":
    main()
