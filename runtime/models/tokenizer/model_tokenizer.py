"""The tokenizer of a model: text -> ids by the `tokenizers` library, ids -> text by the bytes of each token.

Every tokenizer that is supported here gives each token fixed bytes, so decoding is joining them and reading UTF-8;
doing that here, and not in the library, makes one step of a stream a table look-up.
"""

from __future__ import annotations

import codecs
import json
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

import tokenizers
from tokenizers.processors import TemplateProcessing

from runtime.errors import RequestError

_LONGEST_CHARACTER = 4
"""Bytes of the longest character in UTF-8."""

_utf8 = codecs.getincrementaldecoder("utf-8")


class ModelTokenizer:
    """Implements `runtime.engine.tokenizer.Tokenizer`. Safe to use from several threads.

    Args:
        backend: splits a text into ids. Its post-processor and its decoder are not used, but saved.
        pieces: the bytes of token i, for every id.
        special: control tokens: left out of decoded text, and found in a text only where that is allowed.
        eos_ids: tokens that end an answer.
        opening, closing: ids that open and close a whole sequence.
        bos_id: the token that opens a sequence, whether or not `opening` holds it.
        strip_space: whether encoding puts a space before a text, which decoding then takes away.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        pieces: Sequence[bytes],
        *,
        special: Collection[int] = (),
        eos_ids: Collection[int] = (),
        opening: Sequence[int] = (),
        closing: Sequence[int] = (),
        bos_id: int | None = None,
        strip_space: bool = False,
    ) -> None:
        self._backend = backend
        self._pieces = tuple(pieces)
        self._special = frozenset(special)
        self._eos_ids = frozenset(eos_ids)
        self._opening, self._closing = tuple(opening), tuple(closing)
        self._bos_id = bos_id
        self._strip_space = strip_space
        self._parsing = threading.Lock()

    @property
    def vocab_size(self) -> int:
        """Token ids are below it."""
        return len(self._pieces)

    @property
    def eos_ids(self) -> frozenset[int]:
        """Tokens that end an answer."""
        return self._eos_ids

    @property
    def bos_id(self) -> int | None:
        """The token that opens a sequence, if the model has one."""
        return self._bos_id

    def encode(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The tokens of `text`.

        Args:
            add_special: add the model's opening and closing tokens.
            parse_special: let control tokens that are written out in `text` be those tokens. False for words of a
                stranger, which then stay words.

        Raises:
            RequestError: the text holds half a surrogate pair, which no UTF-8 can carry.
        """
        try:
            with self._parsing:
                self._backend.encode_special_tokens = not parse_special
                ids = self._backend.encode(text, add_special_tokens=False).ids
        except TypeError:
            raise RequestError("The text holds half a surrogate pair, which is no character: take it out.") from None
        return [*self._opening, *ids, *self._closing] if add_special else ids

    def save(self, folder: Path) -> None:
        """Write it into a folder, as a checkpoint of Hugging Face's brings it: tokenizer.json, and the tokens that end
        an answer in generation_config.json."""
        self._backend.post_processor = self._frame()
        self._backend.save(str(folder / "tokenizer.json"))
        generation = {"eos_token_id": sorted(self._eos_ids)}
        (folder / "generation_config.json").write_text(json.dumps(generation, indent=2), encoding="utf-8")

    def _frame(self) -> TemplateProcessing:
        """What puts the opening and closing tokens around a text."""
        names = {token: self._backend.id_to_token(token) for token in (*self._opening, *self._closing)}
        opening, closing = ([names[token] for token in ids] for ids in (self._opening, self._closing))
        pair = [*opening, "$A", *closing, *(f"{part}:1" for part in (*opening, "$B", *closing))]
        special = [(name, token) for token, name in names.items()]
        return TemplateProcessing(single=[*opening, "$A", *closing], pair=pair, special_tokens=special)

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        """The text of `ids`; bytes that form no character become U+FFFD."""
        skipped = self._special if skip_special else frozenset()
        text = b"".join(self.token_bytes(token) for token in ids if token not in skipped).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._strip_space else text

    def stream(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> TokenStream:
        """Decode the tokens that will follow `prompt_ids` one at a time; their texts join to what `decode` gives."""
        stream = TokenStream(
            self._pieces,
            skipped=self._special if skip_special else frozenset(),
            strip_space=self._strip_space and not prompt_ids,
        )
        for token in prompt_ids[-_LONGEST_CHARACTER:]:
            stream.step(token)
        return stream

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token: a special one's are its name, an id beyond the vocabulary has none."""
        return self._pieces[token_id] if 0 <= token_id < len(self._pieces) else b""


class TokenStream:
    """Implements `runtime.engine.tokenizer.TokenStream`: holds back the bytes of a character that is not complete."""

    __slots__ = ("_decode", "_pieces", "_skipped", "_strip_space")

    def __init__(self, pieces: Sequence[bytes], *, skipped: frozenset[int], strip_space: bool) -> None:
        self._pieces = pieces
        self._skipped = skipped
        self._strip_space = strip_space
        self._decode = _utf8("replace").decode

    def step(self, token_id: int) -> str:
        """The text that this token completed: "" while a character lacks bytes."""
        if token_id in self._skipped or not 0 <= token_id < len(self._pieces):
            return ""
        return self._trim(self._decode(self._pieces[token_id]))

    def flush(self) -> str:
        """What is left at the end: bytes that form no character become U+FFFD."""
        return self._trim(self._decode(b"", True))

    def _trim(self, text: str) -> str:
        if self._strip_space and text:
            self._strip_space = False
            return text.removeprefix(" ")
        return text
