"""From a checkpoint to a model that can be run, with its tokenizer and its chat template."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import torch

from runtime.errors import CheckpointError
from runtime.models.chat import ChatTemplate, load_chat_template
from runtime.models.checkpoint import Checkpoint, check_tensors, open_checkpoint
from runtime.models.decoder import Decoder
from runtime.models.tokenizer import ModelTokenizer, load_tokenizer
from runtime.models.weights import reserve, slots


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """All that a checkpoint gives. The template of a model that has none refuses to render."""

    model: Decoder
    tokenizer: ModelTokenizer
    chat_template: ChatTemplate


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far loading has come, in tensors and in bytes of the loaded model."""

    tensors: int
    total_tensors: int
    nbytes: int
    total_nbytes: int


ProgressCallback = Callable[[LoadProgress], None]


def load_model(
    source: Checkpoint | str | os.PathLike[str],
    dtype: torch.dtype,
    residual_dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    progress: ProgressCallback | None = None,
    tokenizer: str = "",
) -> LoadedModel:
    """Load all of a checkpoint: the small parts first, so that what is wrong with them is told at once.

    Args:
        source: an open checkpoint, or the path of a .gguf file or of a folder; open it first to choose dtypes by its
            family's defaults.
        dtype, residual_dtype, device, progress: see `read_decoder`.
        tokenizer: a tokenizer.json or its folder; empty for the checkpoint's own.

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
    decoder = read_decoder(checkpoint, dtype, residual_dtype, device, progress)
    return LoadedModel(decoder, text, chat_template)


def read_decoder(
    checkpoint: Checkpoint,
    dtype: torch.dtype,
    residual_dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    progress: ProgressCallback | None = None,
) -> Decoder:
    """Read the weights alone.

    Args:
        dtype: of the weights and of products.
        residual_dtype: of the residual stream; `dtype` where None.
        device: where the model shall live.
        progress: called after every tensor.

    Raises:
        CheckpointError: a tensor is missing, has another shape than the config asks for, or has no place in the model.
    """
    config = checkpoint.config
    check_tensors(checkpoint, list(slots(config, reserve(config, dtype, torch.device("meta")))))
    weights = reserve(config, dtype, torch.device(device))
    places = list(slots(config, weights))
    total = sum(place.target.nbytes for place in places)
    done = 0
    for count, place in enumerate(places, 1):
        checkpoint.read(place)
        done += place.target.nbytes
        if progress is not None:
            progress(LoadProgress(count, len(places), done, total))
    return Decoder(config, weights, residual_dtype or dtype)
