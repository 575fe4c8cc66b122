"""A progress bar on a terminal, once a run has taken long enough for somebody to wonder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from analyzers.facts import Progress

_PATIENCE_SECONDS = 1.0


def terminal_progress(label: str) -> Progress:
    """A callback for `FactBase.gather`. It draws on standard error, and only when that is a terminal."""
    if not sys.stderr.isatty():
        return lambda done, total: None
    started = time.monotonic()
    bar: RichProgress | None = None

    def advance(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            if done == total or time.monotonic() - started < _PATIENCE_SECONDS:
                return
            bar = _start()
            bar.add_task(label, total=total)
        bar.update(bar.task_ids[0], completed=done)
        bar.refresh()
        if done == total:
            bar.stop()

    return advance


def _start() -> RichProgress:
    """Drawn by hand from the main thread: worker processes are forked from it, and threads would not survive that."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    bar.start()
    return bar
