"""Which requests are let in: only those that can be served to their end, whatever else happens.

A sequence may grow to *room* tokens, the least of what the model attends to, what the whole block pool holds, and
(where prompts are not split) what one step computes. A request whose prompt and fewest wanted tokens exceed the room
is refused; one that reaches it while it runs ends with finish reason "length".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

from runtime.config import RuntimeConfig
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import ConfigError, RequestError


@dataclass(frozen=True, slots=True)
class Bound:
    """A number of tokens that no sequence may exceed, and the words that say why."""

    tokens: int
    reason: str


def bounds(config: RuntimeConfig, max_positions: int, num_blocks: int) -> list[Bound]:
    """What bounds the length of a sequence, prompt and output together.

    Args:
        max_positions: what the model was made for, in tokens.
        num_blocks: size of the block pool.

    Raises:
        ConfigError: the configured length is more than the model was made for.
    """
    length = config.model.max_model_len or max_positions
    if length > max_positions:
        raise ConfigError(f"model.max_model_len = {length}: the model was made for at most {max_positions} tokens")
    size = config.cache.block_size
    found = [
        Bound(length, f"the model attends to at most {length} tokens (model.max_model_len)"),
        # The last token is sampled but never computed, so it needs no slot.
        Bound(num_blocks * size + 1, f"the KV cache has {num_blocks} blocks of {size} tokens (cache.num_blocks)"),
    ]
    if not config.scheduler.chunked_prefill:
        step = config.scheduler.max_num_batched_tokens
        found.append(
            Bound(step + 1, f"a step computes at most {step} tokens of a prompt (scheduler.max_num_batched_tokens)")
        )
    return found


def check_labels(request_id: object, priority: object, cache_salt: object) -> None:
    """Refuse what would only fail later, in the thread that serves everybody.

    Raises:
        RequestError: one of them has the wrong type.
    """
    labels = (("request_id", request_id, str), ("priority", priority, int), ("cache_salt", cache_salt, str))
    for name, value, kind in labels:
        if not isinstance(value, kind):
            raise RequestError(f"{name} = {value!r}: it must be of type {kind.__name__}")


class Admission:
    """Checks requests before anything is allocated for them.

    Args:
        vocab_size: token ids are below it.
        bounds: see the function of that name.
    """

    def __init__(self, vocab_size: int, bounds: Sequence[Bound]) -> None:
        self._vocab_size = vocab_size
        self._bound = min(bounds, key=lambda bound: bound.tokens)

    @property
    def room(self) -> int:
        """Tokens that a sequence may have."""
        return self._bound.tokens

    def checked(self, token_ids: Sequence[int], params: SamplingParams) -> list[int]:
        """Return the prompt as plain integers.

        Raises:
            RequestError: the prompt is empty, holds what is no token of the model, or leaves too little room.
        """
        try:
            prompt = [index(token) for token in token_ids]
        except TypeError:
            raise RequestError("the prompt must be a text or a list of token ids, which are whole numbers") from None
        if not prompt:
            raise RequestError("the prompt has no tokens; give at least one")
        if min(prompt) < 0 or max(prompt) >= self._vocab_size:
            place, token = next(
                (place, token) for place, token in enumerate(prompt) if not 0 <= token < self._vocab_size
            )
            raise RequestError(f"token {place} of the prompt is {token}; the model knows 0 to {self._vocab_size - 1}")
        wanted = max(1, params.min_tokens)
        if len(prompt) + wanted > self.room:
            raise RequestError(
                f"a prompt of {len(prompt)} tokens with {wanted} more (min_tokens, at least 1) does not fit: "
                f"{self._bound.reason}; shorten the prompt"
            )
        return prompt
