"""A few lines of source around a finding, with carets under what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from reports.escaping import printable

CONTEXT = 2
"""Lines shown above and below."""
_TAB = 4
_NAME = re.compile(r"\.*\w+(?:\.\w+)*")


class FrameLine(Struct, frozen=True):
    """One line of a frame: of source, or of carets when it has no number."""

    number: int | None
    text: str


def code_frame(lines: Sequence[str], line: int, columns: Sequence[int], width: int) -> list[FrameLine]:
    """The source around a 1-based line, at most `width` terminal cells wide, with the columns' names underlined.

    Columns are 1-based characters; 0 marks nothing. A line that the file does not have gives no frame: the file
    changed while it was analysed.
    """
    if not 1 <= line <= len(lines):
        return []
    marked = sorted(column - 1 for column in columns if 0 < column <= len(lines[line - 1]) + 1)
    start = _start(lines[line - 1], marked[0], width) if marked else 0
    frame = []
    for number in range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1):
        window = _Window(lines[number - 1], start, width)
        frame.append(FrameLine(number, window.text))
        if number == line and marked:
            frame.append(FrameLine(None, window.carets(marked)))
    return _without_blank_edges(frame)


def _without_blank_edges(frame: list[FrameLine]) -> list[FrameLine]:
    filled = [position for position, row in enumerate(frame) if row.text]
    return frame[filled[0] : filled[-1] + 1] if filled else []


class _Window:
    """The part of a line from the character `start` on that fits into `width` cells, as it is shown."""

    def __init__(self, line: str, start: int, width: int) -> None:
        self._line, self._start, self._width = line, start, width
        prefix = "…" if start and line else ""
        # Cropping by characters first keeps a line of megabytes cheap: nearly all take a cell or more.
        pieces = _pieces(line[start : start + width + 1])
        edges = list(accumulate(map(_cells, pieces), initial=len(prefix)))
        suffix = ""
        if edges[-1] > width:
            pieces = pieces[: sum(edge < width for edge in edges) - 1]
            suffix = "…"
        self.text = (prefix + "".join(pieces) + suffix).rstrip()
        self._edges = edges
        """The cell at which each character from `start` on begins, and at last where the part ends."""

    def carets(self, marked: Sequence[int]) -> str:
        """Carets under the name, or else the character, at each of these 0-based columns."""
        cells = [" "] * self._width
        for column in marked:
            if column - self._start >= len(self._edges):
                break
            name = _NAME.match(self._line, column, column + self._width)
            end = name.end() if name else column + 1
            left = self._edges[column - self._start]
            right = max(left + 1, self._edges[min(end - self._start, len(self._edges) - 1)])
            cells[left:right] = "^" * (right - left)
        return "".join(cells[: self._width]).rstrip()


def _start(line: str, column: int, width: int) -> int:
    """The first character to show: 0 when the column then still stands well inside the width."""
    nearby = max(0, column - width)
    ends = list(accumulate(map(_cells, reversed(_pieces(line[nearby:column])))))
    if nearby == 0 and (not ends or ends[-1] <= width * 3 // 4):
        return 0
    return column - sum(end <= width // 2 for end in ends)


def _pieces(text: str) -> list[str]:
    """Each character as it is shown: tabs as spaces up to the next stop, others escaped where they must be."""
    if text.isprintable():
        return list(text)
    pieces: list[str] = []
    cell = 0
    for character in text:
        piece = " " * (_TAB - cell % _TAB) if character == "\t" else printable(character)
        pieces.append(piece)
        cell += _cells(piece)
    return pieces


def _cells(text: str) -> int:
    """How many terminal cells a printable text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
