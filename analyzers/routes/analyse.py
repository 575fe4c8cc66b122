"""From facts to findings: the one entrance of the routes analyser."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from analyzers.declarations.reader import FieldProblem
from analyzers.finding import Finding
from analyzers.native.facts import NativeFacts
from analyzers.routes.native_rules import Operators, check_operators
from analyzers.routes.policy import RoutesPolicy
from analyzers.routes.table_rules import UsedRoute, check_table, unreadable, wrong_field
from analyzers.routes.tables import TableReading


def analyse(
    policy: RoutesPolicy,
    readings: Sequence[TableReading],
    problems: Sequence[FieldProblem],
    native: Mapping[str, NativeFacts],
    told: Container[str] = (),
) -> list[Finding]:
    """Everything that is wrong, without fingerprints and in no particular order.

    Args:
        policy: the settings.
        readings: the tables that were read.
        problems: what was wrong with the constructors in them.
        native: what each file says of operators and routes, by path.
        told: files that cannot be read or do not parse, which is a finding of its own already.
    """
    findings = [wrong_field(problem) for problem in problems]
    errors = {str((error.place, error.expression)): error for reading in readings for error in reading.errors}
    findings += (unreadable(error) for error in errors.values() if error.place.path not in told)
    for reading in readings:
        uses = [
            UsedRoute(path, use)
            for path, said in native.items()
            for use in said.uses
            if use.function in reading.policy.calls
        ]
        findings += check_table(reading, uses)
    findings += check_operators(readings, Operators.of(native), policy.native.namespaces)
    findings += (_unparsed(path) for path, said in native.items() if not said.parsed and path not in told)
    return findings


def _unparsed(path: str) -> Finding:
    message = "may register operators or name routes, and does not parse"
    return Finding(
        "RTE001", path, 1, 0, "", "file", message, "Correct the syntax, or leave it out under `native.files`."
    )
