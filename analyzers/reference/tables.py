"""Sections of the page that show declared tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from analyzers.declarations.reader import FieldProblem, Reader, UnreadableError
from analyzers.declarations.tables import TableRow, read_rows
from analyzers.declarations.values import Place
from analyzers.finding import Finding
from analyzers.nearest import nearest
from analyzers.reference.page import Block, PageRow, Section, stated
from analyzers.reference.policy import SectionPolicy


def read_section(reader: Reader, policy: SectionPolicy) -> tuple[Section, list[Finding]]:
    """Read a declared table.

    Raises:
        MissingError: the symbol, or the class of its rows, is not there.
    """
    assert policy.symbol is not None
    errors: list[UnreadableError] = []
    try:
        table = reader.expression(policy.symbol)
        rows = list(read_rows(policy, table, errors))
    except UnreadableError as error:
        return empty(policy), [unreadable(error)]
    findings = [*map(unreadable, errors), *_schema(policy, rows, table.place)]
    known = _known(rows)
    columns = policy.fields or tuple(name for name in known if name not in policy.omitted)
    shown = [
        PageRow(row.place, {name: stated(row.fields[name]) for name in columns if name in row.fields}) for row in rows
    ]
    return replace(empty(policy), blocks=[Block("", (), table.place, columns, shown)]), findings


def empty(policy: SectionPolicy) -> Section:
    """A section that has nothing to show."""
    return Section(policy.heading, policy.kind, policy.symbol or "", policy.guide or "", ())


def missing_symbol(policy: SectionPolicy, name: str, place: Place, known: Sequence[str]) -> Finding:
    """REF004, where the settings ask for the symbol."""
    near = _near(name, known)
    hint = near or "Declare it, name another symbol, or make the section optional."
    message = f"the section {policy.heading!r} shows `{name}`, which the source does not declare"
    return _finding("REF004", place, f"{policy.heading}: {name}", message, hint)


def unreadable(error: UnreadableError) -> Finding:
    """REF005."""
    hint = "Write it out as data; a module whose names are used belongs to `reference.modules`."
    return _finding("REF005", error.place, error.expression, str(error), hint)


def misfit(problem: FieldProblem) -> Finding:
    """REF003, of a constructor that is not given what its class declares."""
    return _finding("REF003", problem.place, problem.subject, problem.message, problem.hint)


def _schema(policy: SectionPolicy, rows: Sequence[TableRow], place: Place) -> Iterator[Finding]:
    """REF003, of fields that the settings and the table do not agree on. An empty table has no fields to compare."""
    known = _known(rows)
    if not known:
        return
    table = str(policy.symbol).rpartition(".")[2]
    for name in (*policy.fields, *policy.omitted):
        if name not in known:
            message = f"the section {policy.heading!r} names the field `{name}`, which no row of `{table}` has"
            hint = _near(name, known) or f"They have {', '.join(known)}."
            yield _finding("REF003", place, f"{policy.heading}: no {name}", message, hint)
    if policy.fields:
        for name in known:
            if name not in policy.fields and name not in policy.omitted:
                message = f"the rows of `{table}` have the field `{name}`, which {policy.heading!r} does not mention"
                hint = "Add it to the section's `fields`, or to what is `omitted`."
                yield _finding("REF003", place, f"{policy.heading}: new {name}", message, hint)


def _known(rows: Sequence[TableRow]) -> list[str]:
    """The fields of a table, in order."""
    return list(dict.fromkeys(name for row in rows for name in row.fields))


def _finding(rule: str, place: Place, subject: str, message: str, hint: str) -> Finding:
    return Finding(rule, place.path, place.line, place.column, "", subject, message, hint)


def _near(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean `{near}`?" if near else ""
