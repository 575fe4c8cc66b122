"""How the tokens of a request are chosen, and when it ends."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from runtime.errors import RequestError

MAX_LOGPROBS = 20
MAX_SEQUENCES = 128
_GREEDY_BELOW = 1e-5  # as in vLLM: dividing by less than this only makes infinities


@dataclass(frozen=True)
class SamplingParams:
    """Parameters of one request. Their names and meanings are those of vLLM's `SamplingParams`.

    The order in which they act on a step's logits: log probabilities are read from the raw logits; then `logit_bias`,
    the three penalties, the bans of `min_tokens` and `bad_words`, `temperature`, `min_p`, `top_k`, `top_p`; then a
    token is drawn. A greedy request takes the highest logit after the bans.

    Attributes:
        max_tokens: tokens to generate at most.
        min_tokens: until so many were generated, no end token is sampled and no stop string counts.
        temperature: divides the logits; below 1e-5 the request is greedy.
        top_k: keep the k most likely tokens; 0 or -1 keeps all.
        top_p: keep the fewest most likely tokens that together reach this probability.
        min_p: keep tokens at least this fraction as likely as the most likely one.
        repetition_penalty: positive logits of tokens in prompt or output are divided by it, negative ones multiplied.
        presence_penalty: is taken from the logit of each token that occurs in the output.
        frequency_penalty: is taken from it as often as the token occurs in the output.
        logit_bias: is added to the logits, by token id.
        bad_words: texts that are never completed: the last token of each is banned where the others were generated.
        seed: makes the output repeatable, whatever else runs beside the request; None draws one.
        logprobs: for each output token, its log probability and those of so many most likely tokens.
        prompt_logprobs: the same for the prompt's tokens, from the second on.
        n: sequences to generate from the prompt.
        stop: texts at which the output ends. The first one to be complete counts; of several, the longest.
        stop_token_ids: tokens that end the output, besides the model's own.
        ignore_eos: go on after the model's end token.
        skip_special_tokens: leave special tokens out of the text.
        include_stop_str_in_output: leave what ended the output in the text.

    Raises:
        RequestError: a value is out of range; the message names parameter, value and range.
    """

    max_tokens: int = 16
    min_tokens: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    bad_words: Sequence[str] = ()
    seed: int | None = None
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    n: int = 1
    stop: Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    include_stop_str_in_output: bool = False

    def __post_init__(self) -> None:
        for name, admitted in _RANGES.items():
            if not admitted.holds(getattr(self, name)):
                raise _refusal(name, getattr(self, name), str(admitted))
        for name in ("ignore_eos", "skip_special_tokens", "include_stop_str_in_output"):
            if not isinstance(getattr(self, name), bool):
                raise _refusal(name, getattr(self, name), "true or false")
        for name in ("stop", "bad_words"):
            self._normalise(name, _texts(name, getattr(self, name)))
        self._normalise("stop_token_ids", _token_ids(self.stop_token_ids))
        self._normalise("logit_bias", _biases(self.logit_bias))
        if self.min_tokens > self.max_tokens:
            raise _refusal("min_tokens", self.min_tokens, f"at most max_tokens, which is {self.max_tokens}")

    def _normalise(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the one moment at which a frozen value may change

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is taken, without chance."""
        return self.temperature < _GREEDY_BELOW

    @property
    def penalised(self) -> bool:
        """Whether logits depend on how often their tokens occurred."""
        return self.repetition_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0


def _refusal(name: str, value: object, admitted: str) -> RequestError:
    shown = repr(value)
    return RequestError(f"{name} = {shown if len(shown) <= 80 else shown[:77] + '...'}: it must be {admitted}")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class _Range:
    """Numbers from `low` to `high`, both admitted unless `above` says that `low` is not."""

    low: float
    high: float = math.inf
    above: bool = False
    whole: bool = False
    optional: bool = False

    def holds(self, value: object) -> bool:
        if value is None:
            return self.optional
        if not _is_whole(value) and (self.whole or not isinstance(value, float) or not math.isfinite(value)):
            return False
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        words = ["a whole number" if self.whole else "a number", f"{'above' if self.above else 'from'} {self.low}"]
        if self.high < math.inf:
            words.append(f"to {self.high}")
        if self.optional:
            words.append("or none")
        return " ".join(words)


_RANGES = {
    "max_tokens": _Range(1, whole=True),
    "min_tokens": _Range(0, whole=True),
    "temperature": _Range(0, 1000),
    "top_k": _Range(-1, whole=True),
    "top_p": _Range(0, 1, above=True),
    "min_p": _Range(0, 1),
    "repetition_penalty": _Range(0.01, 100),
    "presence_penalty": _Range(-2, 2),
    "frequency_penalty": _Range(-2, 2),
    "seed": _Range(-(2**63), 2**63 - 1, whole=True, optional=True),
    "logprobs": _Range(0, MAX_LOGPROBS, whole=True, optional=True),
    "prompt_logprobs": _Range(0, MAX_LOGPROBS, whole=True, optional=True),
    "n": _Range(1, MAX_SEQUENCES, whole=True),
}
_BIAS = _Range(-100, 100)


def _texts(name: str, value: object) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) and text for text in texts):
        raise _refusal(name, value, "a text or a list of texts, none of them empty")
    return tuple(texts)


def _token_ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, Collection) or not all(_is_whole(token) and token >= 0 for token in value):
        raise _refusal("stop_token_ids", value, "a list of token ids, whole numbers from 0")
    return tuple(value)


def _biases(value: object) -> dict[int, float]:
    if not isinstance(value, Mapping) or not all(_is_whole(token) and token >= 0 for token in value):
        raise _refusal("logit_bias", value, "a mapping from token ids, whole numbers from 0, to biases")
    for token, bias in value.items():
        if not _BIAS.holds(bias):
            raise _refusal(f"logit_bias[{token}]", bias, str(_BIAS))
    return dict(value)
