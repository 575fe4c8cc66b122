"""From declared tables to routes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from analyzers.declarations.reader import Reader, UnreadableError
from analyzers.declarations.tables import TableRow, read_rows
from analyzers.declarations.values import Place, Value, names_in, plain, text_of
from analyzers.routes.policy import RouteTable


class Route(Struct, frozen=True):
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


class TableReading(Struct):
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
    try:
        for row in read_rows(policy, reader.expression(policy.symbol), reading.errors):
            reading.routes.append(_route(policy, row))
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


def _route(policy: RouteTable, row: TableRow) -> Route:
    if policy.shape == "mapping":
        name = "/".join(text_of(row.fields[key]) for key in policy.keys)
    else:
        name = text_of(next(iter(row.fields.values()), ""))
    observer = policy.observer is not None and plain(row.fields.get(policy.observer)) is True
    return Route(name, row.fields, row.place, row.symbol, observer)
