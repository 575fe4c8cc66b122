"""Tokenizers: from a checkpoint's `tokenizer.json`, or built from the vocabulary inside a GGUF file."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.formats.gguf import GGUFFile
from runtime.models.tokenizer.gguf_tokenizer import tokenizer_from_gguf
from runtime.models.tokenizer.hf_tokenizer import tokenizer_from_hf
from runtime.models.tokenizer.model_tokenizer import ModelTokenizer

__all__ = ["ModelTokenizer", "load_tokenizer", "tokenizer_from_gguf", "tokenizer_from_hf"]


def load_tokenizer(source: GGUFFile | str | os.PathLike[str]) -> ModelTokenizer:
    """The tokenizer of a GGUF file (open, or by its path), of a checkpoint folder, or of a `tokenizer.json`.

    Raises:
        CheckpointError: there is no tokenizer, it is damaged, or of a kind that is not supported.
    """
    if isinstance(source, GGUFFile):
        return tokenizer_from_gguf(source.metadata, source.path)
    path = Path(source)
    if path.suffix == ".gguf":
        with GGUFFile.open(path) as file:
            return tokenizer_from_gguf(file.metadata, path)
    return tokenizer_from_hf(path)
