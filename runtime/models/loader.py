"""From a checkpoint to a model that can be run, with its tokenizer and its chat template."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from runtime.config.schema import KernelsConfig
from runtime.errors import CheckpointError
from runtime.kernels.operators import REFERENCE, Operators
from runtime.linear.linear import Linear
from runtime.models.agreement import check_tensors
from runtime.models.chat import ChatTemplate, load_chat_template
from runtime.models.checkpoint import Checkpoint, open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.reading import ProgressCallback, WeightReader
from runtime.models.tokenizer import ModelTokenizer, load_tokenizer
from runtime.models.weights import all_slots


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """All that a checkpoint gives. The template of a model that has none refuses to render."""

    model: Decoder
    tokenizer: ModelTokenizer
    chat_template: ChatTemplate


def load_model(
    source: Checkpoint | str | os.PathLike[str],
    dtype: torch.dtype,
    residual_dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    progress: ProgressCallback | None = None,
    tokenizer: str = "",
    keep_packed: bool = False,
    linear: Linear | None = None,
    operators: Operators = REFERENCE,
) -> LoadedModel:
    """Load all of a checkpoint: the small parts first, so that what is wrong with them is told at once.

    Args:
        source: an open checkpoint, or the path of a .gguf file or of a folder; open it first to choose dtypes by its
            family's defaults.
        dtype, residual_dtype, device, progress, keep_packed, linear, operators: see `read_decoder`.
        tokenizer: a tokenizer.json, its folder or a .gguf file; empty for the checkpoint's own.

    Raises:
        CheckpointError: a part is missing, damaged, not supported, or does not fit the others.
    """
    checkpoint = open_checkpoint(source) if isinstance(source, str | os.PathLike) else source
    text = load_tokenizer(tokenizer or checkpoint.text_source)
    chat_template = load_chat_template(checkpoint.text_source)
    if text.vocab_size > checkpoint.config.vocab_size:
        raise CheckpointError(
            f"{checkpoint.path}: the tokenizer has {text.vocab_size} tokens, and the model only "
            f"{checkpoint.config.vocab_size}. They belong to different models: name the tokenizer of this one, or "
            "download the checkpoint again."
        )
    decoder = read_decoder(checkpoint, dtype, residual_dtype, device, progress, keep_packed, linear, operators)
    return LoadedModel(decoder, text, chat_template)


def read_decoder(
    checkpoint: Checkpoint,
    dtype: torch.dtype,
    residual_dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    progress: ProgressCallback | None = None,
    keep_packed: bool = False,
    linear: Linear | None = None,
    operators: Operators = REFERENCE,
) -> Decoder:
    """Read the weights alone.

    Args:
        dtype: of products, and of weights that are not packed.
        residual_dtype: of the residual stream; `dtype` where None.
        device: where the model shall live.
        progress: called after every tensor.
        keep_packed: whether matrices that the checkpoint has in a weight format stay in it; else they are decoded
            into `dtype` as they are read.
        linear: runs products; the reference where None.
        operators: run everything else but attention.

    Raises:
        CheckpointError: a tensor is missing, has another shape than the config asks for, or has no place in the model.
    """
    config = checkpoint.config
    check_tensors(checkpoint, list(all_slots(config)))
    weights = WeightReader(checkpoint, dtype, torch.device(device), keep_packed, progress).weights()
    linear = linear or Linear("cpu", dtype, KernelsConfig())
    return Decoder(config, weights, dtype, residual_dtype or dtype, linear, operators)
