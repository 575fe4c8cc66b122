"""`gates evidence`: judge the evidence of a pull request, or draft it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from analyzers.errors import UserError
from gates.commands.options import format_options, no_cache_option, root_option, settings_for
from gates.commands.output import publish
from gates.evidence import compare
from gates.progress import terminal_progress
from gates.review import doubts, review
from gates.run import open_cache
from reports.evidence_draft import render as render_draft
from reports.report import Verdict


@click.command("evidence")
@root_option
@no_cache_option
@click.option("--base", metavar="REV", required=True, help="What the work tree is compared with, at the merge base.")
@click.option("--body", metavar="FILE", help="The pull request's description, in Markdown; - for standard input.")
@click.option("--draft", is_flag=True, help="Print the section that the description needs, instead of judging one.")
@format_options
def command(
    root: Path | None,
    no_cache: bool,
    base: str,
    body: str | None,
    draft: bool,
    format_: str,
    outputs: list[tuple[str, Path]],
) -> int:
    """Check that a pull request says what it changes, and that each claim has evidence of its own kind."""
    if draft == (body is not None):
        raise click.UsageError("give either --body or --draft")
    if draft and (format_ != "terminal" or outputs):
        raise click.UsageError("--draft prints Markdown to standard output, and nothing else")
    started = time.perf_counter()
    loaded = settings_for(root)
    description = None if body is None else _read(body)
    comparison = compare(loaded, base, cache=open_cache(not no_cache), progress=terminal_progress("reading"))
    if body is None or description is None:
        changes, files = comparison.changes, comparison.files
        click.echo(render_draft(changes, files, comparison.needs_evidence, comparison.snapshots()), nl=False)
        for doubt in doubts(comparison):
            click.echo(f"note: {doubt}", err=True)
        return int(Verdict.UNDECIDED if comparison.unread else Verdict.CLEAN)
    report = review(comparison, description, _name(body, loaded.file.parent), started)
    publish(report, format_, outputs)
    return int(report.verdict)


def _read(body: str) -> str:
    try:
        data = sys.stdin.buffer.read() if body == "-" else Path(body).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{body}:{line}: not UTF-8: save the description as UTF-8") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{body}: the description cannot be read: {error}") from None


def _name(body: str, root: Path) -> str:
    """What findings call the description: its path below the root, or else its name."""
    if body == "-":
        return "description"
    file = Path(body).resolve()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
