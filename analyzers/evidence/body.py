"""The section `Evidence` of a pull request's description: the rows of its table, or `N/A` and why."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyromark.event import Range

SECTION = "Evidence"
COLUMNS = ("Path", "Format", "Key conditions", "Selection and fallback", "Evidence", "Artifact", "Gaps")
"""The table's header."""

_NOT_APPLICABLE = re.compile(r"n/a(?![\w/])[\s:.,;\u2013\u2014-]*(.*)", re.IGNORECASE | re.DOTALL)

_BETWEEN_NAMES = re.compile("[,;]")


class Cell(NamedTuple):
    """Visible text and where it starts; what a comment says is not visible. Line and column are 1-based."""

    text: str
    line: int
    column: int
    names: tuple[str, ...] = ()
    """What it lists: words and code spans that stand alone between commas. Prose, even in part, lists nothing."""


class Row(NamedTuple):
    """One claim: a cell for each of `COLUMNS`."""

    path: Cell
    format: Cell
    conditions: Cell
    selection: Cell
    evidence: Cell
    artifact: Cell
    gaps: Cell


class Flaw(NamedTuple):
    """Why the section cannot be read as a table of evidence. A line of 0 stands for the whole description."""

    line: int
    message: str


class Body(NamedTuple):
    """What a description says."""

    rows: tuple[Row, ...]
    not_applicable: Cell | None
    """The reason why the change needs no evidence; its place is that of the `N/A`."""
    flaws: tuple[Flaw, ...]


def read_body(text: str) -> Body:
    """Read a description; any text is one."""
    # With a line end behind it, so that the last row ends behind its last cell like every other one.
    reader = _Reader(text.removeprefix("\ufeff") + "\n")
    reader.read()
    return Body(tuple(reader.rows), reader.not_applicable, (*reader.flaws, *reader.missing()))


class _Piece(NamedTuple):
    """A run of visible text of one kind."""

    text: str
    is_code: bool = False


def _listed(pieces: list[_Piece]) -> tuple[str, ...]:
    """The names that text and code spans list between commas or semicolons; none where an item is more than a name."""
    items: list[list[str]] = [[]]
    for piece in pieces:
        if piece.is_code:
            items[-1].append(piece.text)
            continue
        for index, part in enumerate(_BETWEEN_NAMES.split(piece.text)):
            if index:
                items.append([])
            items[-1] += part.split()
    return tuple(name for item in items for name in item) if all(len(item) < 2 for item in items) else ()


class _Reader:
    """Walks the parser's events once. Offsets are UTF-8 bytes, as the parser counts them."""

    def __init__(self, text: str) -> None:
        self.rows: list[Row] = []
        self.not_applicable: Cell | None = None
        self.flaws: list[Flaw] = []
        self._source = text.encode("utf-8", "replace")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._source.split(b"\n"))]
        self._section: tuple[int, int] | None = None
        """Level and line of the heading, once it has been met."""
        self._inside = False
        self._pieces: list[_Piece] = []
        self._cells: list[Cell] = []
        self._ends: list[int] = []
        self._header: list[Cell] | None = None
        self._other_table: list[Cell] | None = None
        self._fits = False

    def read(self) -> None:
        from pyromark import Options, events_with_range

        value: Any
        options = Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS | Options.ENABLE_GFM
        for event, span in events_with_range(self._source.decode(), options=options, merge_text=True):
            if isinstance(event, str):
                self._pieces.append(_Piece(" "))
                continue
            [(name, value)] = event.items()
            if name == "Start":
                self._start(value)
            elif name == "End":
                self._end(value, span)
            elif name in ("Text", "Code"):
                self._pieces.append(_Piece(value, is_code=name == "Code"))

    def _start(self, tag: Any) -> None:
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name in ("Heading", "Paragraph", "TableCell"):
            self._pieces = []
        elif name in ("TableHead", "TableRow"):
            self._cells, self._ends = [], []

    def _end(self, tag: Any, span: Range) -> None:
        """Take in what ends here."""
        if isinstance(tag, dict) and "Heading" in tag:
            self._heading(int(tag["Heading"][1:]), span)
        elif not self._inside:
            return
        elif tag == "TableCell":
            self._cells.append(self._cell(span))
            self._ends.append(span["end"])
        elif tag == "TableHead":
            self._head()
        elif tag == "TableRow" and self._fits:
            self._row(span)
        elif tag == "Paragraph":
            self._paragraph(span)

    def _heading(self, level: int, span: Range) -> None:
        is_section = self._cell(span).text.casefold() == SECTION.casefold()
        if self._section is None:
            if is_section:
                self._section, self._inside = (level, self._line(span["start"])), True
            return
        if is_section:
            message = f"this is a second section `{SECTION}`; the first begins on line {self._section[1]}: keep one"
            self.flaws.append(Flaw(self._line(span["start"]), message))
        self._inside = self._inside and level > self._section[0]

    def _head(self) -> None:
        self._fits = [cell.text.casefold() for cell in self._cells] == [column.casefold() for column in COLUMNS]
        if self._fits:
            self._header = self._cells
        elif self._other_table is None:
            self._other_table = self._cells

    def _row(self, span: Range) -> None:
        line = self._line(span["start"])
        # The parser fills a short row up with cells behind its end, and drops what a long one has too many of.
        written = sum(end < span["end"] for end in self._ends)
        rest = self._source[self._ends[-1] : span["end"]].strip()
        if written < len(COLUMNS) and not rest:
            self.flaws.append(Flaw(line, f"this row has {written} cells, and the table has {len(COLUMNS)} columns"))
        elif rest not in (b"", b"|"):
            message = f"this row has more cells than the table's {len(COLUMNS)} columns; a `|` inside a cell is `\\|`"
            self.flaws.append(Flaw(line, message))
        else:
            self.rows.append(Row(*self._cells))

    def _paragraph(self, span: Range) -> None:
        cell = self._cell(span)
        found = _NOT_APPLICABLE.fullmatch(cell.text)
        if found and self.not_applicable is None:
            self.not_applicable = cell._replace(text=found[1])

    def missing(self) -> list[Flaw]:
        """What the section as a whole lacks, or has too much of."""
        if self._section is None:
            return [Flaw(0, f"there is no section `{SECTION}`")]
        if self.not_applicable is not None:
            both = Flaw(self.not_applicable.line, "there is a table of evidence, and yet this says N/A: keep one")
            return [both] if self._header else []
        if self._header is None:
            return [self._no_table(self._other_table)]
        if not self.rows and not self.flaws:
            return [Flaw(self._header[0].line, "the table of evidence has no row")]
        return []

    def _no_table(self, other: list[Cell] | None) -> Flaw:
        assert self._section is not None
        wanted = ", ".join(COLUMNS)
        if other is None:
            return Flaw(self._section[1], f"this section holds neither N/A nor a table with the columns {wanted}")
        found = ", ".join(cell.text for cell in other)
        return Flaw(other[0].line, f"the columns of this table are {found}, and those of evidence are {wanted}")

    def _cell(self, span: Range) -> Cell:
        written = self._source[span["start"] : span["end"]]
        start = span["start"] + len(written) - len(written.lstrip(b" "))
        line = self._line(start)
        before = self._source[self._starts[line - 1] : start].decode("utf-8", "replace")
        text = " ".join("".join(piece.text for piece in self._pieces).split())
        return Cell(text, line, len(before) + 1, _listed(self._pieces))

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)
