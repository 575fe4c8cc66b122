"""Reports on their way out: to standard output, and to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from analyzers.errors import UserError
from reports.formats import renderer
from reports.report import Report
from reports.terminal import WIDTH, wants_colour
from reports.terminal import render as render_for_terminal


def publish(report: Report, format_: str, outputs: Iterable[tuple[str, Path]]) -> None:
    """Print a report in one format, and write it to files in others."""
    if format_ == "terminal":
        colour = wants_colour(sys.stdout, os.environ)
        click.echo(render_for_terminal(report, width=terminal_width(), colour=colour), nl=False, color=colour)
    else:
        click.echo(renderer(format_)(report), nl=False)
    for name, file in outputs:
        write(file, renderer(name)(report))


def terminal_width() -> int:
    """Of the terminal that is written to; a fixed one for a pipe, so that logs do not depend on who reads them."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH
    except OSError:
        return WIDTH


def write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"{file}: the report cannot be written: {error.strerror}") from None
