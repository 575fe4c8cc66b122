"""Options that several subcommands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import click

from analyzers.errors import UserError
from gates.registry import all_rules
from gates.settings.load import Loaded, find_root, load

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("terminal", "json", "sarif", "github", "junit", "markdown")

root_option = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tree's folder. Default: the nearest one upwards with settings.",
)
no_cache_option = click.option("--no-cache", is_flag=True, help="Neither read nor write the fact cache.")


def apply(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator out of several, in the order in which --help lists them."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


source_options = apply(
    root_option,
    click.option("--ref", metavar="REV", help="Analyse a git revision; nothing is checked out."),
    click.option("--staged", is_flag=True, help="Analyse the git index: what the next commit would hold."),
    no_cache_option,
)


def output_option(formats: Sequence[str]) -> Callable[[F], F]:
    """`--output FORMAT=FILE`, as often as wanted, out of some formats."""

    def parse(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, Path]]:
        parsed: list[tuple[str, Path]] = []
        for value in values:
            name, separator, file = value.partition("=")
            if not separator or not file or name not in formats:
                raise click.BadParameter(f"{value!r} is not FORMAT=FILE with a format out of {', '.join(formats)}")
            if Path(file) in (known for _, known in parsed):
                raise click.BadParameter(f"{file} is named twice")
            parsed.append((name, Path(file)))
        return parsed

    help_text = "Also write the report to a file; may be given several times."
    return click.option("--output", "outputs", multiple=True, metavar="FORMAT=FILE", callback=parse, help=help_text)


format_options = apply(
    click.option(
        "--format", "format_", type=click.Choice(FORMATS), default="terminal", show_default=True, help="What to print."
    ),
    output_option(FORMATS),
)

base_option = click.option(
    "--base", metavar="REV", help="Judge only what is new since the merge base with REV, whatever the baselines accept."
)
baseline_options = apply(
    click.option("--update", is_flag=True, help="Lock in what was fixed: take it out of the baseline."),
    click.option("--accept-moves", is_flag=True, help="Re-home accepted findings whose code has moved."),
    click.option("--strict", is_flag=True, help="Fail on stale baseline entries and on unused waivers too."),
)


def settings_for(root: Path | None) -> Loaded:
    """The settings of `root`, or of the nearest folder upwards that has any."""
    found = root if root is not None else find_root(Path.cwd())
    if found is None:
        raise UserError(
            "no gates.toml and no [tool.gates] in a pyproject.toml, here or in any folder above:"
            " `gates init` writes a starting one"
        )
    return load(found.resolve(), all_rules())


def relative_paths(root: Path, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments as the user typed them (relative to the current folder) -> paths below the root."""
    relative = []
    for argument in arguments:
        full = Path.cwd() / argument
        place = Path(*full.parent.resolve().parts, full.name) if full.name not in ("", "..") else full.resolve()
        if not place.is_relative_to(root):
            raise UserError(f"{argument}: not below {root}")
        relative.append(str(PurePosixPath(place.relative_to(root))))
    return tuple(relative)
