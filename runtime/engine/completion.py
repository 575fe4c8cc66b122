"""One of the sequences that a request asked for: how its tokens are sampled, what its text is, when it ends."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.engine.finish import Ending
from runtime.engine.logprobs import TokenLogprobs
from runtime.engine.output_text import TextAssembler
from runtime.engine.outputs import CompletionOutput
from runtime.engine.request import Finish, Request
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.sampling_row import SamplingRow
from runtime.engine.tokenizer import Tokenizer
from runtime.errors import RequestError


class Completion(Request):
    """A stream that knows its sampling parameters and assembles its text.

    Args:
        request_id: of the request that it belongs to.
        index: which of the request's `n` sequences it is.
        vocab_size: width of the logits.
        room: tokens that it may have, with its prompt.
        tokenizer: None where there is no text, only tokens.

    Attributes:
        sampling: what the sampler knows of it.
        logprobs: one entry for each output token; None where none are wanted.
        prompt_logprobs: one entry for each leading prompt token whose logits are known; None where none are wanted.

    Raises:
        RequestError: the parameters cannot be met by this model, or not without a tokenizer.
    """

    def __init__(
        self,
        request_id: str,
        index: int,
        prompt_ids: Sequence[int],
        params: SamplingParams,
        *,
        vocab_size: int,
        room: int,
        tokenizer: Tokenizer | None,
        priority: int,
        salt: str,
    ) -> None:
        if params.stop and tokenizer is None:
            raise RequestError("stop: texts need a tokenizer, and this engine has none; use stop_token_ids")
        # The prompt is the same for all sequences of a request, so the first one answers for it.
        wants_prompt = params.prompt_logprobs is not None and index == 0
        super().__init__(prompt_ids, priority=priority, salt=salt, reads_cache=not wants_prompt)
        self.request_id = request_id
        self.index = index
        self.params = params
        self.sampling = SamplingRow(
            params, prompt_ids, self.output_ids, vocab_size=vocab_size, tokenizer=tokenizer, index=index
        )
        self.logprobs: list[TokenLogprobs] | None = None if params.logprobs is None else []
        self.prompt_logprobs: list[TokenLogprobs | None] | None = [None] if wants_prompt else None
        eos_ids = frozenset[int]() if tokenizer is None else tokenizer.eos_ids
        self._ending = Ending(params, eos_ids, room - len(prompt_ids))
        self._assembler = None if tokenizer is None else TextAssembler(tokenizer, params, prompt_ids)
        self._text = ""
        self._delta = ""

    def judge(self, token_id: int) -> Finish | None:
        stop_string = None
        if self._assembler is not None:
            text, stopped_on = self._assembler.push(token_id)
            self._delta += text
            if isinstance(stopped_on, str):
                stop_string = stopped_on
        return self._ending.after(token_id, len(self.output_ids), stop_string)

    def add_logprobs(self, entry: TokenLogprobs) -> None:
        """Note the log probabilities of the token that is about to be added."""
        if self.logprobs is not None:
            self.logprobs.append(entry)

    def add_prompt_logprobs(self, entries: Sequence[TokenLogprobs]) -> None:
        """Note those of the prompt's next tokens."""
        if self.prompt_logprobs is not None:
            self.prompt_logprobs += entries

    def snapshot(self) -> CompletionOutput:
        """What is certain now; the next snapshot's delta starts here."""
        finish = self.finish
        if finish is not None and self._assembler is not None:
            self._delta += self._assembler.finish()
            self._assembler = None
        delta, self._delta = self._delta, ""
        self._text += delta
        output = CompletionOutput(self.index, self._text, delta, self.output_ids, len(self.output_ids))
        if self.logprobs is not None:
            output.logprobs = self.logprobs.copy()
        if finish is not None:
            output.finish_reason, output.stop_reason = finish.reason, finish.stopped_on
            output.error = finish.message or None
        return output
