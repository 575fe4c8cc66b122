"""The routes gate: declared routes, and the native operators that they bind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from analyzers.declarations.reader import FieldProblem, MissingError
from analyzers.facts import FactBase, Need
from analyzers.finding import Finding
from analyzers.globs import matcher
from analyzers.native.extractor import SUFFIXES, NativeExtractor
from analyzers.native.facts import NativeFacts
from analyzers.native.vocabulary import Registrar, Vocabulary
from analyzers.nearest import nearest
from analyzers.policy import Misfit
from analyzers.routes.analyse import analyse
from analyzers.routes.policy import RoutesPolicy, RouteTable
from analyzers.routes.policy_check import check_fields, check_policy
from analyzers.routes.rules import RULES
from analyzers.routes.tables import TableReading, read_table
from gates.declared import DeclaredModules
from gates.gate import Context


class Declared(NamedTuple):
    """What the settings ask for, as far as the tree has it."""

    readings: list[TableReading]
    problems: list[FieldProblem]
    """What was wrong with the constructors in the tables."""
    native: Mapping[str, NativeFacts]
    """Of the files that say something."""


class RoutesGate:
    name = "routes"
    summary = "declared routes say what they mean, and their operators exist"
    rules = RULES

    def needs(self, context: Context) -> list[Need]:
        policy = policy_of(context)
        if not context.past:
            context.refuse(check_policy(policy, context.paths))
        watched = matcher(policy.native.files)
        native = [path for path in context.paths if path.endswith(SUFFIXES) and watched(path)]
        return [
            _declared(context).need(),
            Need(NativeExtractor(_vocabulary(policy)), native),
        ]

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        declared = read(context, facts)
        return analyse(policy_of(context), declared.readings, declared.problems, declared.native, facts.problems)


def read(context: Context, facts: FactBase) -> Declared:
    """Read the tables and the native facts of a tree whose facts have been gathered.

    Raises:
        SettingsError: a symbol or field that the settings name is not there. A tree that is older than the settings
            may lack it.
    """
    policy = policy_of(context)
    reader = _declared(context).reader(facts)
    readings = []
    misfits: list[Misfit] = []
    for index, table in enumerate(policy.tables):
        try:
            readings.append(read_table(reader, table))
            misfits += check_fields(index, readings[-1])
        except MissingError as error:
            misfits.append(_missing(index, table, error))
    if not context.past:
        context.refuse(misfits)
    native = facts.of(NativeExtractor(_vocabulary(policy)))
    # Most files say nothing.
    said = {path: NativeFacts.from_json(fact) for path, fact in native.items() if fact}
    return Declared(readings, reader.problems, said)


def policy_of(context: Context) -> RoutesPolicy:
    """The settings of the gate. Raises SettingsError where they ask for nothing."""
    policy = context.settings.routes
    if policy is None or not (policy.tables or policy.native.namespaces):
        message = "nothing to check: add a table of routes, or the `namespaces` of native operators"
        raise context.loaded.error(("routes",), message)
    return policy


@lru_cache(maxsize=2)
def _declared(context: Context) -> DeclaredModules:
    policy = policy_of(context)
    symbols = [symbol for table in policy.tables for _, symbol in _symbols(table)]
    return DeclaredModules(context, symbols, policy.modules)


def _symbols(table: RouteTable) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The symbols that a table of the settings names, each with its key in the table."""
    yield ("symbol",), table.symbol
    if table.record is not None:
        yield ("record",), table.record
    yield from ((("vocabularies", field), symbol) for field, symbol in table.vocabularies.items())
    yield from ((("executors", index), symbol) for index, symbol in enumerate(table.executors))


def _missing(index: int, table: RouteTable, error: MissingError) -> Misfit:
    name = str(error)
    key = next(key for key, symbol in _symbols(table) if symbol == name)
    return Misfit(("routes", "tables", index, *key), f"there is no {name!r}", nearest(name, error.known))


def _vocabulary(policy: RoutesPolicy) -> Vocabulary:
    native = policy.native
    return Vocabulary(
        registrars=tuple(
            Registrar(row.function, row.namespace, row.fakes, row.always_fake) for row in native.registrars
        ),
        fakes=native.fakes,
        probes=native.probes,
        modules=native.modules,
        macros=tuple(sorted(native.macros.items())),
        routes=tuple(sorted({pair for table in policy.tables for pair in table.calls.items()}, key=str)),
    )


GATE = RoutesGate()
