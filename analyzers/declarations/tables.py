"""From declared tables, in whatever shape they are written, to rows of fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from analyzers.declarations.policy import TableShape
from analyzers.declarations.reader import Expression, UnreadableError
from analyzers.declarations.values import Place, Record, Value, field_values, names_in, text_of


class TableRow(Struct, frozen=True):
    """One entry of a table."""

    fields: Mapping[str, Value]
    place: Place
    symbol: str
    """The name that the table knows its record by; empty where the record stands in the table itself."""


def read_rows(shape: TableShape, table: Expression, errors: list[UnreadableError]) -> Iterator[TableRow]:
    """The entries of a table, in order.

    Args:
        shape: how it is written.
        table: what it is bound to.
        errors: takes what cannot be read; the entries around it are read all the same.

    Raises:
        MissingError: the class of the rows is not there.
    """
    reading = _Reading(shape, errors)
    read = {"records": reading.records, "rows": reading.rows, "mapping": reading.mapping, "tuples": reading.tuples}
    try:
        yield from read[shape.shape](table)
    except UnreadableError as error:
        errors.append(error)


def check_shape(shape: TableShape) -> Iterator[tuple[str, str]]:
    """The keys of a shape that do not go together, each with what is wrong."""
    kind = shape.shape
    if (shape.record is not None) != (kind == "rows"):
        yield "record", 'goes with `shape = "rows"`' if shape.record else 'is required by `shape = "rows"`'
    if bool(shape.keys) != (kind == "mapping"):
        yield "keys", 'go with `shape = "mapping"`' if shape.keys else 'are required by `shape = "mapping"`'
    if shape.columns and kind not in ("mapping", "tuples"):
        yield "columns", 'go with `shape = "mapping"` and `shape = "tuples"`'
    elif not shape.columns and kind == "tuples":
        yield "columns", 'are required by `shape = "tuples"`'


class _Reading(Struct, frozen=True):
    shape: TableShape
    errors: list[UnreadableError]

    def records(self, table: Expression) -> Iterator[TableRow]:
        """A sequence of records, whether they stand in it or are named by symbols; or a mapping to records."""
        for entry in (value for _, value in table.pairs()) if table.is_mapping else table.items():
            try:
                item = entry.followed()
                record = item.value()
                if not isinstance(record, Record):
                    raise item.error("is no record of a declared class")
                yield TableRow(dict(record.fields), item.place, item.symbol)
            except UnreadableError as error:
                self.errors.append(error)

    def rows(self, table: Expression) -> Iterator[TableRow]:
        """Rows `(names, stage, options)`, alone or as the only argument of their builder, which is not run."""
        assert self.shape.record is not None
        table.reader.fields(self.shape.record)
        for entry in (table.argument() or table).followed().items():
            try:
                yield from self._row(self.shape.record, entry.followed())
            except UnreadableError as error:
                self.errors.append(error)

    def mapping(self, table: Expression) -> Iterator[TableRow]:
        """A mapping, nested or keyed by tuples, down to rows of columns or to records."""
        for keys, entry in self._flat(table, len(self.shape.keys)):
            try:
                item = entry.followed()
                fields = dict(zip(self.shape.keys, keys, strict=True))
                yield TableRow({**fields, **self._columns(item)}, item.place, item.symbol)
            except UnreadableError as error:
                self.errors.append(error)

    def tuples(self, table: Expression) -> Iterator[TableRow]:
        """A sequence of tuples, or of single values."""
        for entry in table.items():
            try:
                item = entry.followed()
                yield TableRow(self._columns(item), item.place, item.symbol)
            except UnreadableError as error:
                self.errors.append(error)

    def _row(self, record: str, row: Expression) -> Iterator[TableRow]:
        parts = list(row.items())
        if len(parts) != 3:
            raise row.error("is no row of names, stage and options")
        names, stage, options = parts
        told = names.value()
        separate = told.split() if isinstance(told, str) else [*names_in(told)]
        if not separate:
            raise names.error("names nothing")
        named = [(text_of(key.value()), value) for key, value in options.followed().pairs()]
        for name in separate:
            given = [names.constant(name), stage]
            made = row.reader.construct(record, row.place, given, named)
            yield TableRow(dict(made.fields), row.place, "")

    def _flat(self, table: Expression, depth: int) -> Iterator[tuple[tuple[Value, ...], Expression]]:
        """What a mapping of so many keys holds: its keys, outermost first, and the expression."""
        for key, entry in table.pairs():
            try:
                told = key.value()
                parts = told if isinstance(told, tuple) else (told,)
                if len(parts) > depth:
                    raise key.error(f"has {len(parts)} parts where the settings name {depth} keys")
                if len(parts) == depth:
                    yield parts, entry
                else:
                    inner = self._flat(entry.followed(), depth - len(parts))
                    yield from ((parts + keys, found) for keys, found in inner)
            except UnreadableError as error:
                self.errors.append(error)

    def _columns(self, entry: Expression) -> Mapping[str, Value]:
        value = entry.value()
        if isinstance(value, Record):
            return field_values(value)
        parts = value if isinstance(value, tuple) else (value,)
        columns = self.shape.columns
        if len(parts) != len(columns):
            raise entry.error(f"has {len(parts)} parts where the settings name {len(columns)} columns")
        return dict(zip(columns, parts, strict=True))
