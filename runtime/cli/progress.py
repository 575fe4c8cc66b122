"""Loading a model, and answering a batch, with progress bars on a terminal's standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from runtime.cli.engine_options import EngineOptions
from runtime.llm import LLM, BatchProgress
from runtime.models.reading import LoadProgress, ProgressCallback


def load(options: EngineOptions) -> LLM:
    """Load the model that the options name. Raises ConfigError or CheckpointError as `LLM` does."""
    with _loading_bar() as progress:
        llm = LLM(options.model, platform=options.platform, settings=options.settings, progress=progress)
    if llm.resolved.config.observability.log_stats:
        click.get_current_context().call_on_close(partial(_print_stats, llm))
    return llm


def _print_stats(llm: LLM) -> None:
    counted = {**asdict(llm.engine.stats()), "products": dict(llm.linear.counters)}
    click.echo("stats: " + ", ".join(f"{name} {value}" for name, value in counted.items()), err=True)


@contextmanager
def _loading_bar() -> Iterator[ProgressCallback | None]:
    """A bar in bytes of the loaded model; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading", total=None)

        def advance(state: LoadProgress) -> None:
            progress.update(task, completed=state.nbytes, total=state.total_nbytes)

        yield advance


@contextmanager
def batch_bar(requests: int) -> Iterator[BatchProgress | None]:
    """A bar in answered requests, with the rate of tokens; None for a single request, or without a terminal."""
    if requests < 2 or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.0f} tok/s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("answering", total=requests, rate=0.0)

        def advance(finished: int, tokens_per_second: float) -> None:
            progress.update(task, completed=finished, rate=tokens_per_second)

        yield advance
