"""The text of a baseline file: JSON with one entry a line, sorted, without times and totals, so that it merges."""

from __future__ import annotations

import json
from collections import Counter
from operator import attrgetter
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from analyzers.errors import UserError
from analyzers.finding import fingerprint, identity_of
from gates.baseline.entries import Baseline, Entry
from gates.conflicts import conflict_line

VERSION: Literal[1] = 1
FIRST_ENTRY_LINE = 5
"""Where `render` puts the first entry; the others follow, one a line."""

_KEYS = Entry.__struct_fields__[: -len(Entry.__struct_defaults__)]
"""What every entry has; `amount` stands only where there is one."""
_texts_of = attrgetter(*_KEYS)
_ENTRY_LINE = "    {" + ", ".join(f'"{key}": %s' for key in _KEYS) + "%s}"
_quoted = json.encoder.encode_basestring
_SITES = 1_000
"""How many sites of one violation are looked through for the owner of a fingerprint."""
_RESTORE = "Restore the file from version control"


class BaselineError(UserError):
    """A baseline that cannot be read, written or merged. `str()` says where, what is wrong, and what to do."""

    def __init__(self, where: str, problem: str, remedy: str, line: int = 0) -> None:
        super().__init__(f"{where}{f':{line}' if line else ''}: {problem}. {remedy}.")
        self.where = where
        self.problem = problem
        self.remedy = remedy
        self.line = line
        """1-based; 0 where no line can be named."""


def render(baseline: Baseline) -> bytes:
    """The file's bytes. Characters that UTF-8 cannot hold (from a path that is not UTF-8) become JSON escapes."""
    body = ",\n".join([_ENTRY_LINE % (*map(_quoted, _texts_of(entry)), _amount(entry)) for entry in baseline.entries])
    entries = f"[\n{body}\n  ]" if body else "[]"
    gate = _quoted(baseline.gate)
    text = f'{{\n  "version": {VERSION},\n  "gate": {gate},\n  "entries": {entries}\n}}\n'
    return _bytes(text)


def parse(content: bytes, where: str, gate: str | None = None, expected: Baseline | None = None) -> Baseline:
    """The baseline that a file's bytes hold.

    Args:
        content: UTF-8, with or without a byte order mark; any JSON layout and any order of entries.
        where: how messages name the file.
        gate: the gate that it must belong to; None accepts any.
        expected: what they probably hold. To see that they do takes less time than to number their entries.

    Raises:
        BaselineError: the bytes are not a baseline.
    """
    try:
        document = _DECODER.decode(content)
    except msgspec.DecodeError:
        document = _read_slowly(content, where)
    if gate is not None and gate != document.gate:
        raise BaselineError(where, f"the baseline of the gate {document.gate!r}, not of {gate!r}", _RESTORE)
    if expected is not None and document.entries == expected.entries:
        return expected
    baseline = Baseline.of(document.gate, document.entries)
    if baseline.entries != document.entries:
        _check_fingerprints(document.entries, baseline, content, where)
    return baseline


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[1]
    gate: str
    entries: tuple[Entry, ...]


_DECODER = msgspec.json.Decoder(_Document)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _amount(entry: Entry) -> str:
    return f', "amount": {entry.amount}' if entry.amount else ""


def _read_slowly(content: bytes, where: str) -> _Document:
    """What msgspec does not take: a byte order mark, half of a surrogate pair, a huge number; or what is wrong."""
    document = _decode(content, where)
    rows = _rows(document, where)
    return _Document(VERSION, document["gate"], tuple(_entries(rows, where)))


def _decode(content: bytes, where: str) -> Any:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BaselineError(where, "not UTF-8", _RESTORE, line) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if line := conflict_line(text):
            remedy = "Set up `gates baseline merge` as git's merge driver for it, and merge again"
            raise BaselineError(where, "an unresolved merge conflict", remedy, line) from None
        raise BaselineError(where, f"not JSON: {error.msg}", _RESTORE, error.lineno) from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets nested as deep
        raise BaselineError(where, "not a baseline", _RESTORE) from None


def _rows(document: Any, where: str) -> list[Any]:
    """The entries, yet unchecked, of a document whose other keys are as they must be."""
    if not isinstance(document, dict) or document.keys() != {"version", "gate", "entries"}:
        problem = "not a baseline, which is an object with the keys version, gate and entries"
        raise BaselineError(where, problem, _RESTORE)
    version, named, rows = document["version"], document["gate"], document["entries"]
    if type(version) is not int or version != VERSION:
        problem = f"a baseline of version {json.dumps(version)}, where this Voltgate reads version {VERSION}"
        raise BaselineError(where, problem, "Use the Voltgate that wrote it")
    if not isinstance(named, str):
        raise BaselineError(where, "`gate` is not a string", _RESTORE)
    if not isinstance(rows, list):
        raise BaselineError(where, "`entries` is not a list", _RESTORE)
    return rows


def _entries(rows: list[Any], where: str) -> list[Entry]:
    keys, strings = set(_KEYS), {str}
    entries = []
    for number, row in enumerate(rows, start=1):
        amount = row.pop("amount", 0) if type(row) is dict else 0
        if type(row) is not dict or row.keys() != keys or not strings.issuperset(map(type, row.values())):
            problem = f"entry {number} is not an object of strings with the keys {', '.join(_KEYS)}"
            raise BaselineError(where, problem, _RESTORE)
        if type(amount) is not int or amount < 0:
            problem = f"the amount of entry {number} is {json.dumps(amount)}, not a whole number, 0 or more"
            raise BaselineError(where, problem, _RESTORE)
        entries.append(Entry(**row, amount=amount))
    return entries


def _check_fingerprints(entries: tuple[Entry, ...], baseline: Baseline, content: bytes, where: str) -> None:
    """Refuse an entry that stands twice, and a fingerprint that belongs to no site of its violation."""
    remedy = "Remove the entry, or restore the file from version control"
    for entry, times in Counter(replace(entry, amount=0) for entry in entries).items():
        if times > 1:
            line = _line_at(content, content.rfind(_bytes(entry.fingerprint)))
            raise BaselineError(where, f"the entry {entry.title} stands there {times} times", remedy, line)
    for entry in sorted(set(entries).difference(baseline.entries)):
        if not any(entry.fingerprint == fingerprint(*identity_of(entry), ordinal) for ordinal in range(_SITES)):
            line = _line_at(content, content.find(_bytes(entry.fingerprint)))
            problem = f"the fingerprint {entry.fingerprint!r} is not one of {entry.title}"
            raise BaselineError(where, problem, remedy, line)


def _line_at(content: bytes, offset: int) -> int:
    """The 1-based line of an offset; 0 for the -1 of what was not found."""
    return content.count(b"\n", 0, offset) + 1 if offset >= 0 else 0
