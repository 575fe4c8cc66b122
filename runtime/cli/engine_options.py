"""The options by which every command that runs a model chooses it and its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

import click

from runtime.cli.values import COUNT
from runtime.config import FIELDS, owner_path, parsed
from runtime.config.schema import CODECS, DTYPES

_Command = TypeVar("_Command", bound=Callable[..., object])

_SHORTHANDS = {
    "dtype": "model.dtype",
    "kv_codec": "cache.codec",
    "max_model_len": "model.max_model_len",
    "threads": "parallel.threads",
}


@dataclass(frozen=True)
class EngineOptions:
    """What was stated on the command line.

    Attributes:
        model: a GGUF file or a Hugging Face folder; empty if none was named.
        platform: `auto`, or the platform to run on.
        settings: typed values by owner path.
    """

    model: str
    platform: str
    settings: dict[str, object]

    def explicit(self) -> dict[str, object]:
        """All of the settings that were stated, the model's path among them."""
        return {**self.settings, "model.path": self.model} if self.model else self.settings


def engine_options(command: _Command) -> _Command:
    """Add the options to a command, which receives them as one `EngineOptions`, its first argument."""

    @wraps(command)
    def receive(*arguments: object, model: str, platform: str, assignments: Sequence[str], **others: object) -> object:
        shorthands = {path: others.pop(option) for option, path in _SHORTHANDS.items()}
        settings = {path: value for path, value in shorthands.items() if value is not None}
        for path, value in map(_assigned, assignments):
            if path in settings:
                raise click.UsageError(f"{path} is stated twice; keep one")
            settings[path] = value
        return command(EngineOptions(model, platform, settings), *arguments, **others)

    for option in reversed(_OPTIONS):
        receive = option(receive)
    return receive  # type: ignore[return-value]


def _assigned(assignment: str) -> tuple[str, object]:
    name, equals, text = assignment.partition("=")
    if not equals:
        raise click.UsageError(f"--set {assignment}: expected NAME=VALUE, such as cache.block_size=32")
    path = owner_path(name.strip())
    return path, parsed(FIELDS[path], text, f"--set {assignment}")


_OPTIONS = (
    click.option("-m", "--model", default="", metavar="PATH", help="GGUF file or Hugging Face folder."),
    click.option(
        "--platform",
        type=click.Choice(["auto", "cpu", "sm70", "cuda"]),
        default="auto",
        show_default=True,
        help="What to run on; sm70 is the V100.",
    ),
    click.option("--dtype", type=click.Choice(DTYPES), help="Format of weights and activations."),
    click.option("--kv-codec", type=click.Choice((*CODECS, "fp8")), help="Format of cached keys and values."),
    click.option("--max-model-len", type=COUNT, help="Longest prompt plus answer, in tokens."),
    click.option("--threads", type=COUNT, help="CPU threads."),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any setting; `v100 explain --config` lists them. May be repeated.",
    ),
)
