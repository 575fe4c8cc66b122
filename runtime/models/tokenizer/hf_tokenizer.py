"""A tokenizer from `tokenizer.json` and the files beside it, as Hugging Face's checkpoints have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer

from runtime.errors import CheckpointError
from runtime.formats.safetensors import read_json
from runtime.models.tokenizer.model_tokenizer import ModelTokenizer
from runtime.models.tokenizer.pieces import byte_level_piece, byte_piece, sentencepiece_piece


def tokenizer_from_hf(path: Path) -> ModelTokenizer:
    """The tokenizer of a checkpoint folder, or of a `tokenizer.json`.

    Raises:
        CheckpointError: no such file, damaged, or a decoder that is neither byte-level nor SentencePiece's.
    """
    folder, file = (path, path / "tokenizer.json") if path.is_dir() else (path.parent, path)
    if not file.is_file():
        raise CheckpointError(
            f"{file}: no such file. Save the tokenizer with `AutoTokenizer.save_pretrained`, or name another in the "
            "setting model.tokenizer: a tokenizer.json, its folder or a .gguf file."
        )
    try:
        backend = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise CheckpointError(f"{file}: {error}. Download the tokenizer again.") from None
    backend.no_truncation()
    backend.no_padding()
    steps = _decoder_steps(backend, file)
    settings = _optional(folder / "tokenizer_config.json")
    defaults = [_optional(folder / name) for name in ("generation_config.json", "config.json")]
    opening, closing = _frame(backend)
    return ModelTokenizer(
        backend,
        _pieces(backend, "ByteLevel" in steps),
        special={token for token, added in backend.get_added_tokens_decoder().items() if added.special},
        eos_ids=_end_ids(backend, settings, *defaults),
        opening=opening,
        closing=closing,
        bos_id=_named(backend, settings.get("bos_token")),
        strip_space=_strips_space(steps),
    )


def _optional(path: Path) -> Mapping[str, object]:
    return read_json(path) if path.exists() else {}


def _frame(backend: Tokenizer) -> tuple[list[int], list[int]]:
    """What the post-processor puts before and after a text: seen from one that is framed."""
    bare = backend.encode("a", add_special_tokens=False).ids
    framed = backend.encode("a").ids
    start = next((at for at in range(len(framed)) if framed[at : at + len(bare)] == bare), 0)
    return framed[:start], framed[start + len(bare) :]


def _end_ids(backend: Tokenizer, *settings: Mapping[str, object]) -> frozenset[int]:
    """The union of what the files declare: as a token's name (`eos_token`) or as ids (`eos_token_id`)."""
    named = [_named(backend, found.get("eos_token")) for found in settings]
    declared = [found.get("eos_token_id") for found in settings]
    flat = [token for ids in declared for token in (ids if isinstance(ids, list) else [ids])]
    return frozenset(token for token in (*named, *flat) if isinstance(token, int))


def _named(backend: Tokenizer, token: object) -> int | None:
    """The id of a token that `tokenizer_config.json` names, plainly or as a serialised AddedToken."""
    name = token.get("content") if isinstance(token, dict) else token
    return backend.token_to_id(name) if isinstance(name, str) else None


def _decoder_steps(backend: Tokenizer, file: Path) -> Mapping[str, Mapping[str, object]]:
    """The decoder's parts, by their type."""
    decoder = backend.decoder
    state = json.loads(decoder.__getstate__()) if decoder is not None else {"type": "none"}
    steps = {step["type"]: step for step in state.get("decoders", [state])}
    if not steps.keys() & {"ByteLevel", "Metaspace", "Replace"}:
        kinds = ", ".join(steps)
        raise CheckpointError(
            f"{file}: decoder {kinds} is not supported. Use a model whose tokenizer is byte-level or SentencePiece BPE."
        )
    return steps


def _strips_space(steps: Mapping[str, Mapping[str, object]]) -> bool:
    return "Strip" in steps or steps.get("Metaspace", {}).get("prepend_scheme", "never") != "never"


def _pieces(backend: Tokenizer, byte_level: bool) -> list[bytes]:
    vocabulary = backend.get_vocab(with_added_tokens=True)
    pieces = [b""] * (max(vocabulary.values(), default=-1) + 1)
    for token, number in vocabulary.items():
        pieces[number] = byte_level_piece(token) if byte_level else byte_piece(token) or sentencepiece_piece(token)
    for number, added in backend.get_added_tokens_decoder().items():
        pieces[number] = added.content.encode()
    return pieces
