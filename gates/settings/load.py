"""Find and read the settings of a tree: gates.toml, or `[tool.gates]` in pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cached_property
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gates.conflicts import conflict_line
from gates.settings.errors import Mistake, SettingsError, spell
from gates.settings.lines import Key, key_lines, line_of

if TYPE_CHECKING:
    from gates.settings.model import Settings

_PREFIXES = {"gates.toml": "", "pyproject.toml": "tool.gates"}
"""The files that can hold settings, the one that wins first, and what the suite's tables are below in each."""
_GATES_HEADER = re.compile(rb"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*gates\b", re.MULTILINE)
_TOML_POSITION = re.compile(r"at line (\d+)")


class SettingsFile(Struct, frozen=True, dict=True):
    """A settings file's text, and where its keys stand."""

    path: Path
    prefix: str
    """What the suite's tables are below: "tool.gates" in pyproject.toml, nothing in gates.toml."""
    text: str

    def mistake(self, key: Key, message: str, nearest: str = "") -> Mistake:
        """Place a mistake; `key` starts below the prefix: `("layering", "layers", 0, "order", 2)`."""
        full = (*self.root_key, *key)
        return Mistake(spell(full), line_of(full, self._lines), message, nearest)

    @property
    def root_key(self) -> tuple[str, ...]:
        return tuple(self.prefix.split(".")) if self.prefix else ()

    @cached_property
    def _lines(self) -> dict[Key, int]:
        return key_lines(self.text)


class Loaded(Struct, frozen=True):
    """A tree's settings and the file that they come from."""

    settings: Settings
    source: SettingsFile

    @property
    def file(self) -> Path:
        return self.source.path

    @property
    def prefix(self) -> str:
        return self.source.prefix

    def error(self, key: Key, message: str, nearest: str = "") -> SettingsError:
        """The error for a value that reads well but makes no sense for this tree: a layer without modules."""
        return SettingsError(self.file, [self.source.mistake(key, message, nearest)])


def find_root(start: Path) -> Path | None:
    """The nearest folder, from `start` upwards, that holds settings."""
    start = start.resolve()
    folders = [start, *start.parents] if start.is_dir() else list(start.parents)
    return next((folder for folder in folders if settings_file(folder)), None)


def settings_file(folder: Path) -> Path | None:
    """The file that holds a folder's settings. gates.toml wins over pyproject.toml."""
    own, shared = folder / "gates.toml", folder / "pyproject.toml"
    if isfile(own):
        return own
    return shared if isfile(shared) and _has_gates_table(shared) else None


def load(root: Path, codes: Collection[str] | None = None) -> Loaded:
    """Read the settings of a folder. A waiver may only name one of `codes`, where they are given.

    Raises SettingsError with everything that is wrong.
    """
    path = settings_file(root)
    if path is None:
        raise SettingsError(
            root, [Mistake("", 0, "no settings: neither gates.toml nor [tool.gates] in pyproject.toml")]
        )
    return _loaded(SettingsFile(path, _PREFIXES[path.name], _read(path)), codes)


def load_past(root: Path, read: Callable[[str], bytes | None]) -> Loaded | None:
    """The settings that a folder had in the past, such as those of a revision.

    Args:
        root: the folder.
        read: what a file in it held, by its name; None where there was no such file.

    Returns:
        None where there were none, or none that can still be read.
    """
    for source in _past_sources(read, root):
        with suppress(SettingsError, LookupError, TypeError):
            return _loaded(source, None)
    return None


def baselines_folder(read: Callable[[str], bytes | None]) -> str | None:
    """The `baselines` of settings that are no longer on disk, such as those of a revision.

    Args:
        read: the content of a file beside them, by its name; None where there is no such file.

    Returns:
        The folder; None where there are no settings, or none that can be read.
    """
    for source in _past_sources(read, Path()):
        with suppress(SettingsError, LookupError, TypeError):
            return str(_root_table(source).get("baselines", "baselines"))
    return None


def _past_sources(read: Callable[[str], bytes | None], root: Path) -> Iterator[SettingsFile]:
    """The files that may have held settings, in the order in which they count."""
    for name, prefix in _PREFIXES.items():
        content = read(name)
        if content is not None:
            yield SettingsFile(root / name, prefix, content.decode("utf-8", "replace"))


def _loaded(source: SettingsFile, codes: Collection[str] | None) -> Loaded:
    from gates.settings.validation import InvalidSettingsError, validate

    try:
        return Loaded(validate(_root_table(source), codes), source)
    except InvalidSettingsError as error:
        raise SettingsError(source.path, [source.mistake(*complaint) for complaint in error.complaints]) from None


def _has_gates_table(pyproject: Path) -> bool:
    """Whether a pyproject.toml holds settings. One that is broken counts if it tries to: `load` says why."""
    try:
        data = pyproject.read_bytes()
    except OSError:
        return False
    if b"gates" not in data:
        return False
    try:
        tool = tomllib.loads(data.decode("utf-8-sig")).get("tool")
    except (ValueError, RecursionError):
        return _GATES_HEADER.search(data) is not None
    return isinstance(tool, dict) and "gates" in tool


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SettingsError(path, [Mistake("", line, f"not UTF-8: {error.reason}")]) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(path, [Mistake("", 0, f"cannot be read: {reason}")]) from None


def _root_table(source: SettingsFile) -> dict[str, Any]:
    try:
        table: Any = tomllib.loads(source.text)
    except RecursionError:
        raise SettingsError(source.path, [Mistake("", 0, "is nested too deeply")]) from None
    except ValueError as error:
        if line := conflict_line(source.text):
            message = "an unresolved merge conflict: keep what both sides mean, and delete the markers"
            raise SettingsError(source.path, [Mistake("", line, message)]) from None
        position = _TOML_POSITION.search(str(error))
        line = int(position[1]) if position else 0
        raise SettingsError(source.path, [Mistake("", line, f"not valid TOML: {error}")]) from None
    if not source.prefix and "tool" in table:
        message = "in gates.toml the tables stand without the prefix [tool.gates]"
        raise SettingsError(source.path, [source.mistake(("tool",), message)])
    for name in source.root_key:
        table = table[name]
    if not isinstance(table, dict):
        raise SettingsError(source.path, [source.mistake((), "must be a table")])
    return table
