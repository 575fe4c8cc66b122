"""The options that say how tokens are chosen and when an answer ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

_Command = TypeVar("_Command", bound=Callable[..., object])


def sampling_options(command: _Command) -> _Command:
    """Add the options to a command, which receives them as `params`, one `SamplingParams`."""

    @wraps(command)
    def receive(*arguments: object, **options: object) -> object:
        stated = {name: options.pop(name) for name in _NAMES}
        try:
            params = SamplingParams(**stated)  # type: ignore[arg-type]
        except RequestError as error:
            raise click.UsageError(str(error)) from None
        return command(*arguments, params=params, **options)

    for flag, attributes in reversed(_OPTIONS):
        receive = click.option(flag, **attributes)(receive)  # type: ignore[arg-type]
    return receive  # type: ignore[return-value]


def _option(flag: str, text: str, **attributes: object) -> tuple[str, dict[str, object]]:
    return flag, {"help": text, "show_default": True, **attributes}


_OPTIONS = (
    _option("--max-tokens", "Tokens of an answer, at most.", default=256),
    _option("--min-tokens", "Tokens before which nothing ends the answer.", default=0),
    _option("--temperature", "Above 0, tokens are drawn; 0 takes the most likely one.", default=0.0),
    _option("--top-k", "Draw from the K most likely tokens; 0 from all.", default=0),
    _option("--top-p", "Draw from the fewest tokens that reach this probability.", default=1.0),
    _option("--min-p", "Draw from tokens at least this fraction as likely as the first.", default=0.0),
    _option("--repetition-penalty", "Above 1 avoids what the text holds already.", default=1.0),
    _option("--presence-penalty", "Above 0 avoids tokens of the answer so far.", default=0.0),
    _option("--frequency-penalty", "The same, by how often they occurred.", default=0.0),
    _option("--seed", "Makes a drawn answer repeatable.", type=int, default=None),
    _option("--stop", "Text that ends the answer; may be repeated.", multiple=True),
    _option("--ignore-eos", "Go on after the model's own end.", is_flag=True, default=False),
)
_NAMES = tuple(flag.removeprefix("--").replace("-", "_") for flag, _ in _OPTIONS)
