"""From declared tables, in whatever shape they are written, to routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from analyzers.declarations.reader import Expression, Reader, UnreadableError
from analyzers.declarations.values import Place, Record, Value, field_values, names_in, plain, text_of
from analyzers.routes.policy import RouteTable


class Route(NamedTuple):
    """One declared way to run an operator."""

    name: str
    fields: Mapping[str, Value]
    place: Place
    symbol: str
    """The name that the table knows its record by; empty where the record stands in the table itself."""
    observer: bool
    """It only counts: no call can take it."""

    def text(self, name: str | None) -> str:
        """A field in words; empty where the route has none of that name, or it is None."""
        value = self.fields.get(name) if name is not None else None
        return "" if value is None else text_of(value)


@dataclass
class TableReading:
    """What came of reading one table."""

    policy: RouteTable
    routes: list[Route] = field(default_factory=list)
    """In order of declaration, doubled ones included."""
    errors: list[UnreadableError] = field(default_factory=list)
    vocabularies: dict[str, frozenset[str]] = field(default_factory=dict)
    """Field -> the values that are declared for it."""
    executed: dict[str, list[tuple[str, Place]]] = field(default_factory=dict)
    """Executors -> the routes that they run, and where it says so."""

    @property
    def candidates(self) -> list[Route]:
        """The routes that a call can take."""
        return [route for route in self.routes if not route.observer]

    @property
    def stages(self) -> list[str]:
        """The stages that routes are declared for, in order."""
        named = (route.text(self.policy.stage) for route in self.candidates)
        return [stage for stage in dict.fromkeys(named) if stage and stage not in self.wildcards]

    @property
    def wildcards(self) -> frozenset[str]:
        """Values of the stage that mean any stage."""
        conditions = (condition for condition in self.policy.conditions if condition.field == self.policy.stage)
        return frozenset(condition.wildcard for condition in conditions if condition.wildcard is not None)


def read_table(reader: Reader, policy: RouteTable) -> TableReading:
    """Read one table and what it refers to.

    Raises:
        MissingError: a symbol of the settings is not there.
    """
    reading = TableReading(policy)
    read = {"records": _records, "rows": _rows, "mapping": _mapping}[policy.shape]
    try:
        for route in read(reading, reader.expression(policy.symbol)):
            reading.routes.append(route)
    except UnreadableError as error:
        reading.errors.append(error)
    for name, symbol in policy.vocabularies.items():
        try:
            reading.vocabularies[name] = frozenset(names_in(reader.expression(symbol).value()))
        except UnreadableError as error:
            reading.errors.append(error)
    for symbol in policy.executors:
        try:
            pairs = reader.expression(symbol).pairs()
            reading.executed[symbol] = [(text_of(key.value()), key.place) for key, _ in pairs]
        except UnreadableError as error:
            reading.errors.append(error)
    return reading


def _records(reading: TableReading, table: Expression) -> Iterator[Route]:
    """A sequence of records, whether they stand in it or are named by symbols; or a mapping to records."""
    for entry in (value for _, value in table.pairs()) if table.is_mapping else table.items():
        try:
            item = entry.followed()
            record = item.value()
            if not isinstance(record, Record):
                raise item.error("is no record of a declared class")
            yield _route(reading, dict(record.fields), item.place, item.symbol)
        except UnreadableError as error:
            reading.errors.append(error)


def _rows(reading: TableReading, table: Expression) -> Iterator[Route]:
    """Rows `(names, stage, options)`, alone or as the only argument of their builder, which is not run."""
    assert reading.policy.record is not None
    table.reader.fields(reading.policy.record)
    for entry in (table.argument() or table).followed().items():
        try:
            yield from _row(reading, entry.followed())
        except UnreadableError as error:
            reading.errors.append(error)


def _row(reading: TableReading, row: Expression) -> Iterator[Route]:
    parts = list(row.items())
    if len(parts) != 3:
        raise row.error("is no row of names, stage and options")
    names, stage, options = parts
    told = names.value()
    separate = told.split() if isinstance(told, str) else [*names_in(told)]
    if not separate:
        raise names.error("names no route")
    named = [(text_of(key.value()), value) for key, value in options.followed().pairs()]
    assert reading.policy.record is not None
    for name in separate:
        given = [names.constant(name), stage]
        record = row.reader.construct(reading.policy.record, row.place, given, named)
        yield _route(reading, dict(record.fields), row.place, "")


def _mapping(reading: TableReading, table: Expression) -> Iterator[Route]:
    """A mapping, nested or keyed by tuples, down to rows of columns or to records."""
    for keys, entry in _flat(reading, table, len(reading.policy.keys)):
        try:
            item = entry.followed()
            fields = dict(zip(reading.policy.keys, keys, strict=True))
            yield _route(reading, {**fields, **_columns(reading.policy, item)}, item.place, item.symbol)
        except UnreadableError as error:
            reading.errors.append(error)


def _flat(reading: TableReading, table: Expression, depth: int) -> Iterator[tuple[tuple[Value, ...], Expression]]:
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
                inner = _flat(reading, entry.followed(), depth - len(parts))
                yield from ((parts + keys, found) for keys, found in inner)
        except UnreadableError as error:
            reading.errors.append(error)


def _columns(policy: RouteTable, entry: Expression) -> Mapping[str, Value]:
    value = entry.value()
    if isinstance(value, Record):
        return field_values(value)
    parts = value if isinstance(value, tuple) else (value,)
    if len(parts) != len(policy.columns):
        raise entry.error(f"has {len(parts)} parts where the settings name {len(policy.columns)} columns")
    return dict(zip(policy.columns, parts, strict=True))


def _route(reading: TableReading, fields: Mapping[str, Value], place: Place, symbol: str) -> Route:
    policy = reading.policy
    if policy.shape == "mapping":
        name = "/".join(text_of(fields[key]) for key in policy.keys)
    else:
        name = text_of(next(iter(fields.values()), ""))
    observer = policy.observer is not None and plain(fields.get(policy.observer)) is True
    return Route(name, fields, place, symbol, observer)
