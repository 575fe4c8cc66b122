"""Runs a command and measures it: wall time, and the memory of its whole process tree."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self

_SAMPLE_SECONDS = 0.02
_KIB = 1024


class CommandError(Exception):
    """A command left with a status that does not mean "I did my work"."""


@dataclass(frozen=True)
class Command:
    """One program to measure. `statuses` are the exit statuses of a run that did its whole work."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    statuses: tuple[int, ...] = (0,)

    def check(self, status: int, stderr: bytes) -> None:
        """Raise CommandError, with the last that the program said, unless `status` is one of a full run."""
        if status not in self.statuses:
            said = stderr.decode(errors="replace").strip()[-2000:]
            raise CommandError(f"{' '.join(self.argv)} left with status {status}\n{said}")

    def start(self, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv,
            cwd=self.cwd,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )

    def output(self) -> str:
        """Run it, unmeasured, and return what it printed."""
        with self.start(subprocess.PIPE, subprocess.PIPE) as process:
            stdout, stderr = process.communicate()
        self.check(process.returncode, stderr)
        return stdout.decode(errors="replace")

    def seconds(self) -> float:
        """Run it and return the wall time from before its start to after its end."""
        before = time.perf_counter()
        with self.start(subprocess.DEVNULL, subprocess.PIPE) as process:
            _, stderr = process.communicate()
        elapsed = time.perf_counter() - before
        self.check(process.returncode, stderr)
        return elapsed


@dataclass(frozen=True)
class Peak:
    """Most memory that a run held, in bytes."""

    tree: int
    """The largest sum over all of its processes at one moment, each page shared among them counted once."""
    process: int
    """The largest resident set of any one of its processes, as the kernel accounts it (`ru_maxrss`)."""

    @classmethod
    def of(cls, command: Command) -> Self:
        """Run `command` and watch its process tree; the watching slows the run, so it is not timed."""
        largest = 0
        ended = threading.Event()

        def watch(root: int) -> None:
            nonlocal largest
            while not ended.wait(_SAMPLE_SECONDS):
                largest = max(largest, sum(_memory(pid) for pid in _descendants(root)))

        # Nothing is piped: `wait4` gives the usage of just this child, and must not block on an unread pipe.
        process = command.start(subprocess.DEVNULL, subprocess.DEVNULL)
        watcher = threading.Thread(target=watch, args=(process.pid,))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        command.check(process.returncode, b"")
        return cls(tree=largest, process=usage.ru_maxrss * _KIB)


def _descendants(root: int) -> Iterator[int]:
    """`root` and every process below it, from /proc; empty where there is no such file system."""
    pending = [root]
    while pending:
        pid = pending.pop()
        yield pid
        with suppress(OSError):  # it may end while it is looked at
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                pending.extend(int(child) for child in children.read_text().split())


def _memory(pid: int) -> int:
    """Bytes of a process: its proportional share (PSS) where the kernel tells it, else its resident set."""
    for file, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(key):
                return int(line.split()[1]) * _KIB
    return 0


@dataclass
class Series:
    """The wall times of one contender, over all rounds."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.seconds), max(self.seconds)
