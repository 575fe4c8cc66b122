"""RTE001 to RTE008: what is wrong with declared tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from analyzers.declarations.reader import FieldProblem, UnreadableError
from analyzers.declarations.values import Place, Value, names_in, plain
from analyzers.finding import Finding
from analyzers.native.facts import RouteUse
from analyzers.nearest import nearest
from analyzers.routes.admission import covers, limits, serves
from analyzers.routes.tables import Route, TableReading


class UsedRoute(NamedTuple):
    """A call that names a route, with its file."""

    path: str
    use: RouteUse


def unreadable(error: UnreadableError) -> Finding:
    """RTE001."""
    return Finding(
        rule="RTE001",
        path=error.place.path,
        line=error.place.line,
        column=error.place.column,
        symbol="",
        subject=error.expression,
        message=str(error),
        hint="Write it out as data; a module whose names are used belongs to `routes.modules`.",
    )


def wrong_field(problem: FieldProblem) -> Finding:
    """RTE002."""
    return _finding("RTE002", problem.place, problem.subject, problem.message, problem.hint)


def check_table(reading: TableReading, uses: Sequence[UsedRoute]) -> Iterator[Finding]:
    """What is wrong with one table.

    Args:
        reading: the table.
        uses: the calls by which code names its routes; one whose name is no literal has an empty one.
    """
    yield from _duplicates(reading)
    yield from _vocabularies(reading)
    if reading.policy.ordered:
        yield from _shadowed(reading)
    if not reading.errors:  # else what seems to be missing may be what could not be read
        yield from _undeclared(reading, uses)
        yield from _unused(reading, uses)
        yield from _fallbacks(reading)


def _duplicates(reading: TableReading) -> Iterator[Finding]:
    table = reading.policy.name
    names: dict[str, Route] = {}
    symbols: set[str] = set()
    for route in reading.routes:
        earlier = names.setdefault(route.name, route)
        if route.symbol in symbols:
            message = f"`{route.symbol}` stands twice in the table {table}"
            yield _finding("RTE003", route.place, f"{table}: {route.symbol}", message, "Take one of them out.")
        elif earlier is not route:
            message = f"the route `{route.name}` is declared twice in the table {table}; first in line"
            message = f"{message} {earlier.place.line}"
            yield _finding("RTE003", route.place, f"{table}: {route.name}", message, "Rename or delete one of them.")
        symbols.update(filter(None, (route.symbol,)))


def _undeclared(reading: TableReading, uses: Sequence[UsedRoute]) -> Iterator[Finding]:
    table = reading.policy.name
    declared = {route.name for route in reading.routes}
    for executors, keys in reading.executed.items():
        for name, place in keys:
            if name not in declared:
                message = f"`{executors.rpartition('.')[2]}` runs the route `{name}`, which {table} does not declare"
                yield _finding("RTE004", place, f"{table}: {name}", message, _near(name, declared))
    for path, use in uses:
        if use.route and use.route not in declared:
            message = f"`{use.function}` names the route `{use.route}`, which {table} does not declare"
            found = _finding(
                "RTE004",
                Place(path, use.line, use.column),
                f"{table}: {use.route}",
                message,
                _near(use.route, declared),
            )
            yield replace(found, symbol=use.symbol)
    for route in reading.routes:
        target = _next_route(reading, route)
        if target is not None and target not in declared:
            message = f"`{route.name}` falls back to `{target}`, which {table} does not declare"
            yield _finding("RTE004", route.place, f"{table}: {route.name}: {target}", message, _near(target, declared))


def _unused(reading: TableReading, uses: Sequence[UsedRoute]) -> Iterator[Finding]:
    policy = reading.policy
    if not (policy.executors or policy.calls) or any(not used.use.route for used in uses):
        return
    used = {name for keys in reading.executed.values() for name, _ in keys} | {used.use.route for used in uses}
    required = [condition for condition in policy.conditions if condition.test == "required"]
    for route in reading.candidates:
        built = all(plain(route.fields.get(condition.field)) for condition in required)
        if route.name not in used and built:
            message = f"nothing runs the route `{route.name}` of {policy.name}"
            hint = "Connect it, delete it, or declare that it is not built yet."
            yield _finding("RTE005", route.place, f"{policy.name}: {route.name}", message, hint)


def _vocabularies(reading: TableReading) -> Iterator[Finding]:
    for field, declared in reading.vocabularies.items():
        source = reading.policy.vocabularies[field]
        for route in reading.routes:
            for value in names_in(route.fields.get(field)):
                if value not in declared:
                    message = f"`{route.name}` has `{value}` in `{field}`, which {source} does not declare"
                    subject = f"{reading.policy.name}: {route.name}: {value}"
                    yield _finding("RTE006", route.place, subject, message, _near(value, declared))


def _fallbacks(reading: TableReading) -> Iterator[Finding]:
    policy = reading.policy
    routes = {route.name: route for route in reading.candidates}
    for route in reading.candidates:
        problem = _chain_problem(reading, route, routes)
        if problem:
            subject = f"{policy.name}: {route.name}"
            yield _finding("RTE007", route.place, subject, problem, "Name a later route that takes what is left.")
    marked = any(isinstance(_mark(reading, route), bool) for route in reading.candidates)
    for stage in reading.stages:
        serving = [route for route in reading.candidates if serves(route, policy.conditions, stage, policy.stage)]
        if marked:
            lacking = "" if any(_mark(reading, route) is True for route in serving) else _unmarked(reading)
        else:
            lacking = _nobody_takes_all(reading, serving)
        if lacking:
            first = next(route for route in serving if route.text(policy.stage) == stage)
            message = f"the stage `{stage}` of {policy.name} {lacking}"
            hint = "Declare a last route for it that takes everything."
            yield _finding("RTE007", first.place, f"{policy.name}: {stage}", message, hint)


def _mark(reading: TableReading, route: Route) -> Value:
    return plain(route.fields.get(reading.policy.fallback or ""))


def _unmarked(reading: TableReading) -> str:
    return f"has no route in which `{reading.policy.fallback}` is true"


def _nobody_takes_all(reading: TableReading, serving: Sequence[Route]) -> str:
    """Why no route of a stage takes every call; empty where one does."""
    conditions = [condition for condition in reading.policy.conditions if condition.field != reading.policy.stage]
    limited = [(route.name, [*limits(route, conditions, reading.vocabularies)]) for route in serving]
    best, left = min(limited, key=lambda row: len(row[1]))
    fields = ", ".join(f"`{field}`" for field in dict.fromkeys(condition.field for condition in left))
    return f"has no route that takes every call: {fields} of `{best}` can refuse one" if fields else ""


def _chain_problem(reading: TableReading, start: Route, routes: Mapping[str, Route]) -> str:
    """Why the fallbacks of a route come to no good end; empty where they do, or where one is not declared."""
    stage = start.text(reading.policy.stage)
    seen = [start.name]
    route = start
    while (target := _next_route(reading, route)) is not None:
        if target in seen:
            return f"the fallbacks of `{start.name}` go in a circle: {' -> '.join([*seen, target])}"
        if target not in routes:
            return ""
        route = routes[target]
        seen.append(target)
        if stage not in reading.wildcards and not serves(route, reading.policy.conditions, stage, reading.policy.stage):
            return f"`{start.name}` serves {stage}, and its fallback `{target}` does not"
    return ""


def _next_route(reading: TableReading, route: Route) -> str | None:
    """The route that a fallback field names; None where it is empty, or says only whether the route is one."""
    value = plain(route.fields.get(reading.policy.fallback)) if reading.policy.fallback is not None else None
    return value if isinstance(value, str) else None


def _shadowed(reading: TableReading) -> Iterator[Finding]:
    policy = reading.policy
    if not policy.conditions:
        return
    for index, route in enumerate(reading.candidates):
        earlier = (known for known in reading.candidates[:index] if known.name != route.name)
        wider = next(
            (known for known in earlier if covers(known, route, policy.conditions, reading.vocabularies)), None
        )
        if wider is not None:
            message = f"`{route.name}` never runs: `{wider.name}`, declared before it, takes every call that it takes"
            hint = "Put the narrower route first, or narrow the wider one."
            yield _finding("RTE008", route.place, f"{policy.name}: {route.name}: {wider.name}", message, hint)


def _finding(rule: str, place: Place, subject: str, message: str, hint: str) -> Finding:
    return Finding(rule, place.path, place.line, place.column, "", subject, message, hint)


def _near(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean `{near}`?" if near else ""
