"""The text of one output, given out as soon as it is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runtime.engine.finish import end_tokens
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.stop_strings import StopMatcher
from runtime.engine.tokenizer import Tokenizer


class TextDelta(NamedTuple):
    """What one token added.

    Attributes:
        text: text to append to what was given out before; it is never taken back.
        stopped_on: the stop string or the end token that ends the output here, if one does.
    """

    text: str
    stopped_on: str | int | None = None


_NOTHING = TextDelta("")


class TextAssembler:
    """Turns the tokens of one output into text.

    Held back are characters that lack bytes, and a tail that may turn out to begin a stop string.

    Args:
        tokenizer: decodes the tokens.
        params: say what ends the output, and whether that is part of the text.
        prompt_ids: the tokens before the output, where the first word's spacing depends on them.
    """

    def __init__(self, tokenizer: Tokenizer, params: SamplingParams, prompt_ids: Sequence[int] = ()) -> None:
        self._stream = tokenizer.stream(params.skip_special_tokens, prompt_ids)
        self._end_tokens = end_tokens(params, tokenizer.eos_ids)
        self._matcher = StopMatcher(tuple(params.stop)) if params.stop else None
        self._keeps_end = params.include_stop_str_in_output
        self._min_tokens = params.min_tokens
        self._num_tokens = 0
        self._held = ""
        self._stopped = False

    def push(self, token_id: int) -> TextDelta:
        """Add the next token. After a delta with `stopped_on` only `finish` may be called."""
        self._num_tokens += 1
        may_end = self._num_tokens > self._min_tokens
        if may_end and token_id in self._end_tokens:
            text = self._release(self._stream.step(token_id), may_end=False).text if self._keeps_end else ""
            return TextDelta(text, token_id)
        piece = self._stream.step(token_id)
        return self._release(piece, may_end) if piece else _NOTHING

    def finish(self) -> str:
        """Return the rest of the text: nothing can follow that would complete what was held back."""
        if self._stopped:
            return ""
        certain = self._release(self._stream.flush(), may_end=self._num_tokens > self._min_tokens).text
        held, self._held = self._held, ""
        return certain + held

    def _release(self, piece: str, may_end: bool) -> TextDelta:
        """Give out what is certain of the text held back and `piece`."""
        if self._matcher is None:
            return TextDelta(piece)
        text = self._held + piece
        match = self._matcher.feed(piece, may_end)
        if match is not None:
            self._stopped = True
            self._held = ""
            end = len(text) - len(piece) + match.end
            return TextDelta(text[: end if self._keeps_end else end - len(match.stop)], match.stop)
        certain = len(text) - self._matcher.pending
        self._held = text[certain:]
        return TextDelta(text[:certain])
