"""What a routes policy says that cannot be meant: by itself, or for the tables that were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from analyzers.declarations.tables import check_shape
from analyzers.globs import matcher
from analyzers.native.extractor import SUFFIXES
from analyzers.nearest import nearest
from analyzers.policy import Misfit
from analyzers.routes.native_rules import fields_in
from analyzers.routes.plan import LARGEST, size
from analyzers.routes.policy import Choice, RoutesPolicy, RouteTable, Test
from analyzers.routes.tables import TableReading

_NUMERIC: Set[Test] = {"multiple-of", "at-least", "at-most"}
"""Tests of a call's numbers."""


def check_policy(policy: RoutesPolicy, paths: Iterable[str]) -> list[Misfit]:
    """Everything about the policy that makes no sense by itself, or would make it look at nothing."""
    misfits: list[Misfit] = []
    names = [table.name for table in policy.tables]
    for index, table in enumerate(policy.tables):
        key = ("routes", "tables", index)
        if table.name in names[:index]:
            misfits.append(Misfit((*key, "name"), f"another table is called {table.name!r}"))
        misfits += (misfit.below(key) for misfit in _table(table))
    watched = matcher(policy.native.files)
    if policy.native.names_files and not any(watched(path) for path in paths if path.endswith(SUFFIXES)):
        misfits.append(Misfit(("routes", "native", "files"), "no Python or C++ file matches"))
    return misfits


def check_fields(index: int, reading: TableReading) -> list[Misfit]:
    """The fields that the settings name and that no route of a table has."""
    policy = reading.policy
    known = {name for route in reading.routes for name in route.fields}
    if not known:
        return []
    single = ("stage", "fallback", "observer")
    named: list[tuple[tuple[str | int, ...], str]] = [
        ((key,), getattr(policy, key)) for key in single if getattr(policy, key) is not None
    ]
    named += [(("vocabularies", field), field) for field in policy.vocabularies]
    named += [(("conditions", place, "field"), condition.field) for place, condition in enumerate(policy.conditions)]
    named += [
        (("operators", place), field)
        for place, template in enumerate(policy.operators)
        for field in fields_in(template)
    ]
    return [
        Misfit(("routes", "tables", index, *key), f"the routes have no field {name!r}", nearest(name, known))
        for key, name in named
        if name not in known
    ]


def _table(table: RouteTable) -> Iterator[Misfit]:
    for key, message in check_shape(table):
        yield Misfit((key,), message)
    for index, template in enumerate(table.operators):
        try:
            whole = "::" in template and all(fields_in(template))
        except ValueError:
            whole = False
        if not whole:
            message = f"{template!r} is no operator's name with fields in braces, such as `v100::{{binding}}`"
            yield Misfit(("operators", index), message)
    for function, argument in table.calls.items():
        if isinstance(argument, int) and argument < 0:
            yield Misfit(("calls", function), "a position counts from 0")
    yield from _matrix(table)


def _matrix(table: RouteTable) -> Iterator[Misfit]:
    axes = list(dict.fromkeys(condition.asks for condition in table.conditions if condition.asks is not None))
    for axis, values in table.matrix.items():
        if axis not in axes:
            yield Misfit(("matrix", axis), "no condition asks for this axis", nearest(axis, axes))
        elif not values:
            yield Misfit(("matrix", axis), "has no values")
        yield from _values(axis, values, {condition.test for condition in table.conditions if condition.asks == axis})
    if table.matrix and size(table.matrix) > LARGEST:
        yield Misfit(("matrix",), f"has {size(table.matrix):,} cells; at most {LARGEST:,} are planned")
    if table.format is not None and table.format not in table.matrix:
        message = f"the matrix has no axis {table.format!r}"
        yield Misfit(("format",), message, nearest(table.format, table.matrix))


def _values(axis: str, values: Sequence[Choice], tests: Set[Test]) -> Iterator[Misfit]:
    """What is wrong with the values of an axis that conditions ask for."""
    seen = set()
    for index, value in enumerate(values):
        parts = value if isinstance(value, tuple) else (value,)
        message = ""
        if (type(value), value) in seen:
            message = "stands here twice"
        elif not parts:
            message = "must not be empty: it stands for several things at once"
        elif tests & _NUMERIC and not all(type(part) is int for part in parts):
            message = "must be a whole number, or a list of them"
        elif "supports" in tests and not isinstance(value, bool):
            message = "must be true or false"
        if message:
            yield Misfit(("matrix", axis, index), message)
        seen.add((type(value), value))
