"""What there is: declared routes with their parameters, native operators, and the sites that call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.declarations.values import plain
from analyzers.native.facts import CallSite, NativeFacts
from analyzers.native.operators import is_of_pytorch
from analyzers.routes.native_rules import Operators, bindings_of
from analyzers.routes.tables import Route, TableReading
from analyzers.source import Problem

VERSION = 1
EVIDENCE = "declarations and source text; no operator is claimed to exist or to have run"


def inventory(
    readings: Sequence[TableReading], native: Mapping[str, NativeFacts], problems: Mapping[str, Problem]
) -> dict[str, Any]:
    """The inventory, as JSON can hold it; docs/interfaces.md says what each field means.

    Args:
        readings: the tables that were read.
        native: what each file says of operators and routes, by path.
        problems: the files that cannot be read or do not parse.
    """
    operators = Operators.of(native)
    bound: dict[tuple[str, str], list[str]] = {}
    for binding in bindings_of(readings):
        bound.setdefault((binding.table, binding.route.name), []).append(binding.operator)
    return {
        "version": VERSION,
        "evidence": EVIDENCE,
        "routes": [
            _route(reading, route, bound.get((reading.policy.name, route.name), []))
            for reading in readings
            for route in reading.routes
        ],
        "route_uses": [
            {"function": use.function, "route": use.route, "path": path, "line": use.line, "symbol": use.symbol}
            for path, said in sorted(native.items())
            for use in said.uses
        ],
        "operators": [_operator(name, operators) for name in sorted(operators.definitions)],
        "call_sites": [
            _call_site(path, call)
            for path, call in sorted(operators.calls, key=lambda row: (row[0], row[1].line, row[1].column))
            if not is_of_pytorch(call.operator)
        ],
        "unread": [*_unread(readings, native, problems)],
    }


def _unread(
    readings: Sequence[TableReading], native: Mapping[str, NativeFacts], problems: Mapping[str, Problem]
) -> Iterator[dict[str, Any]]:
    """What the inventory may lack."""
    for reading in readings:
        for error in reading.errors:
            yield {"path": error.place.path, "line": error.place.line, "message": f"{reading.policy.name}: {error}"}
    for path, problem in sorted(problems.items()):
        yield {"path": path, "line": problem.line, "message": problem.message}
    for path, said in sorted(native.items()):
        if not said.parsed and path not in problems:
            yield {"path": path, "line": 1, "message": "does not parse"}


def _route(reading: TableReading, route: Route, operators: list[str]) -> dict[str, Any]:
    return {
        "table": reading.policy.name,
        "name": route.name,
        "stage": route.text(reading.policy.stage),
        "observer": route.observer,
        "symbol": route.symbol,
        "path": route.place.path,
        "line": route.place.line,
        "operators": operators,
        "parameters": {name: plain(value) for name, value in route.fields.items()},
    }


def _operator(name: str, operators: Operators) -> dict[str, Any]:
    path, first = operators.definitions[name][0]
    return {
        "operator": name,
        "schema": first.schema,
        "language": first.language,
        "path": path,
        "line": first.line,
        "fake": name in operators.fakes,
        "probe": operators.has_probe(name),
        "implementations": [
            {"key": row.key, "function": row.function, "path": where, "line": row.line}
            for where, row in operators.implementations
            if row.operator == name
        ],
    }


def _call_site(path: str, call: CallSite) -> dict[str, Any]:
    return {
        "operator": call.operator,
        "path": path,
        "line": call.line,
        "column": call.column,
        "symbol": call.symbol,
        "conditions": list(call.conditions),
        "arguments": list(call.arguments),
    }
