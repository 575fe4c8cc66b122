"""The fact cache: one SQLite file, addressed by content, that may vanish at any time without harm.

Facts are stored under (content digest, kind); a kind names an extractor, its version and the settings that matter to
it, so nothing is ever invalid, only unused. Every failure of the file - corrupt, locked, read-only, full - ends in
working without it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

_FORMAT = 1
"""Raised when the tables change; each format has a file of its own, so two versions never disturb each other."""

_LIMIT_BYTES = 512 * 1024 * 1024
"""A larger file is begun anew."""

_PAGE_BYTES = 16 * 1024
"""Of a new file. The facts of most files fit into such a page; from SQLite's own 4 KiB they would spill."""

_VARIABLES = 500
"""Digests in one query; SQLite has room for at least 999 variables."""

_SCANNED = 3
"""Up to so many times as many values of a kind as are wanted, all are read: to look up one takes as long as to read
three that follow each other."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
    digest TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, digest)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS states (
    root TEXT NOT NULL, path TEXT NOT NULL, signature TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (root, path)
) WITHOUT ROWID;
"""

T = TypeVar("T")


class FileState(Struct, frozen=True):
    """A file's state on disk (size, times, inode) and the content digest that it had."""

    path: str
    signature: str
    digest: str


class Fact(NamedTuple):
    digest: str
    kind: str
    value: str
    """JSON."""


encoded = json.JSONEncoder(separators=(",", ":")).encode
"""A value as it is stored."""


def decoded(values: Iterable[str]) -> list[Any]:
    """What stored values are. One call for all: as many calls would take longer than the parsing.

    Raises:
        ValueError: one of them is no JSON.
    """
    text = f"[{','.join(values)}]"
    try:
        found: list[Any] = msgspec.json.decode(text)
    except msgspec.DecodeError:  # what only Python's own decoder takes: half of a surrogate pair, NaN, huge numbers
        found = json.loads(text)
    return found


def default_file() -> Path:
    """`$XDG_CACHE_HOME/voltgate/facts-N.sqlite`, below `~/.cache` where the variable holds no absolute path."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    home = named if os.path.isabs(named) else os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "voltgate" / f"facts-{_FORMAT}.sqlite"


class FactCache:
    """Opens on first use. A method that cannot reach the file answers as if it were empty."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._connection: sqlite3.Connection | None = None
        self._given_up = False

    def lookup(self, kind: str, digests: Iterable[str]) -> dict[str, str]:
        """The stored values (JSON) of one kind, by digest."""
        wanted = set(digests)

        def query(connection: sqlite3.Connection) -> dict[str, str]:
            if len(wanted) > _VARIABLES:
                most = _SCANNED * len(wanted)
                rows = "SELECT digest, value FROM facts WHERE kind = ? LIMIT ?"
                every = connection.execute(rows, (kind, most)).fetchall()
                if len(every) < most:
                    return {digest: value for digest, value in every if digest in wanted}
            found: dict[str, str] = {}
            ordered = sorted(wanted)
            for start in range(0, len(ordered), _VARIABLES):
                some = ordered[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                rows = f"SELECT digest, value FROM facts WHERE kind = ? AND digest IN ({marks})"
                found.update(connection.execute(rows, (kind, *some)))
            return found

        return self._attempt(query, {})

    def is_empty(self) -> bool:
        """Whether there is nothing to find, so that knowing a file's digest would be of no use."""
        return self._attempt(lambda connection: not connection.execute("SELECT 1 FROM facts LIMIT 1").fetchall(), True)

    def store(self, facts: Sequence[Fact]) -> None:
        self._attempt(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", facts),
            None,
        )

    def states(self, root: str) -> Mapping[str, FileState]:
        """What is remembered of the files below one root, by path."""
        if not _is_text(root):
            return {}
        return self._attempt(
            lambda connection: {
                path: FileState(path, signature, digest)
                for path, signature, digest in connection.execute(
                    "SELECT path, signature, digest FROM states WHERE root = ?", (root,)
                )
            },
            {},
        )

    def remember(self, root: str, states: Sequence[FileState]) -> None:
        """Take note of file states; a path that is no text in UTF-8 is read anew each time."""
        rows = [(root, *astuple(state)) for state in states if _is_text(root + state.path)]
        self._attempt(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)", rows),
            None,
        )

    def clear(self) -> int:
        """Delete the file; the number of bytes that it held."""
        self.close()
        freed = 0
        for file in (self.file, self.file.with_name(f"{self.file.name}-journal")):
            with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
                size = file.stat().st_size
                file.unlink()
                freed += size
        return freed

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.commit()
                self._connection.close()
            self._connection = None

    def _attempt(self, action: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run one action in its own transaction; begin a corrupt file anew, once; then do without."""
        for _ in range(2):
            try:
                connection = self._open()
                if connection is None:
                    return otherwise
                with connection:
                    return action(connection)
            except sqlite3.OperationalError:
                break
            except sqlite3.DatabaseError:
                with suppress(OSError):
                    self.clear()
        self.close()
        self._given_up = True
        return otherwise

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._given_up:
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                if self.file.exists() and self.file.stat().st_size > _LIMIT_BYTES:
                    self.clear()
            except OSError:
                self._given_up = True
                return None
            connection = sqlite3.connect(self.file, timeout=5.0)
            self._connection = connection
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            connection.executescript(_SCHEMA)
        return self._connection


def _is_text(path: str) -> bool:
    """A name that is not UTF-8 holds surrogates, which SQLite cannot store."""
    return path.isascii() or path.isprintable()
