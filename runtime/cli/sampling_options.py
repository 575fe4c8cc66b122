"""The options that say how tokens are chosen and when an answer ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from runtime.engine.sampling_params import SamplingParams

_Command = TypeVar("_Command", bound=Callable[..., object])


def sampling_options(command: _Command) -> _Command:
    """Add the options to a command, which receives them as `params`, one `SamplingParams`."""

    @wraps(command)
    def receive(*arguments: object, **options: object) -> object:
        stated = {name: options.pop(name) for name in _NAMES}
        return command(*arguments, params=SamplingParams(**stated), **options)  # type: ignore[arg-type]

    for flag, attributes in reversed(_OPTIONS):
        receive = click.option(flag, **attributes)(receive)  # type: ignore[arg-type]
    return receive  # type: ignore[return-value]


def _option(flag: str, text: str, **attributes: object) -> tuple[str, dict[str, object]]:
    return flag, {"help": text, "show_default": True, **attributes}


_OPTIONS = (
    _option("--max-tokens", "Tokens of the answer, at most.", default=256),
    _option("--min-tokens", "Tokens before which nothing ends the answer.", default=0),
    _option("--temperature", "0 takes the most likely token each time.", default=0.0),
    _option("--top-k", "Keep the K most likely tokens; 0 keeps all.", default=0),
    _option("--top-p", "Keep the fewest tokens that reach this probability.", default=1.0),
    _option("--min-p", "Keep tokens at least this fraction as likely as the first.", default=0.0),
    _option("--repetition-penalty", "Above 1 avoids what the text holds already.", default=1.0),
    _option("--presence-penalty", "Taken from each token of the answer so far.", default=0.0),
    _option("--frequency-penalty", "Taken once for each time the token occurred.", default=0.0),
    _option("--seed", "Makes a random answer repeatable.", type=int, default=None),
    _option("--stop", "Text that ends the answer; may be repeated.", multiple=True),
    _option("--ignore-eos", "Go on after the model's own end.", is_flag=True, default=False),
)
_NAMES = tuple(flag.removeprefix("--").replace("-", "_") for flag, _ in _OPTIONS)
