"""RTE101 to RTE104: native operators that routes bind and code calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter

from msgspec import Struct, field

from analyzers.declarations.values import Place
from analyzers.finding import Finding
from analyzers.native.facts import CallSite, Definition, Implementation, NativeFacts
from analyzers.native.operators import base_name
from analyzers.nearest import nearest
from analyzers.routes.tables import Route, TableReading


class Binding(Struct, frozen=True):
    """A native operator that a route runs."""

    operator: str
    route: Route
    table: str


class Operators(Struct):
    """What the whole tree says of native operators; each fact with the file that it stands in."""

    definitions: dict[str, list[tuple[str, Definition]]] = field(default_factory=dict)
    implementations: list[tuple[str, Implementation]] = field(default_factory=list)
    fakes: set[str] = field(default_factory=set)
    probes: set[str] = field(default_factory=set)
    calls: list[tuple[str, CallSite]] = field(default_factory=list)

    @classmethod
    def of(cls, facts: Mapping[str, NativeFacts]) -> Operators:
        found = cls()
        for path, said in facts.items():
            for definition in said.definitions:
                found.definitions.setdefault(definition.operator, []).append((path, definition))
            found.implementations += ((path, row) for row in said.implementations)
            found.calls += ((path, row) for row in said.calls)
            found.fakes.update(row.operator for row in said.fakes)
            found.probes.update(row.operator for row in said.probes)
        return found

    def has_probe(self, operator: str) -> bool:
        return operator in self.probes or operator.rpartition("::")[2] in self.probes


def bindings_of(readings: Sequence[TableReading]) -> Iterator[Binding]:
    """The operators that routes name, by the templates of their tables; an unset field binds none."""
    for reading in readings:
        for template in reading.policy.operators:
            names = fields_in(template)
            for route in reading.routes:
                fields = {name: route.text(name) for name in names}
                if all(fields.values()):
                    yield Binding(base_name(template.format(**fields)), route, reading.policy.name)


def fields_in(template: str) -> list[str]:
    """The fields that a template of an operator's name takes from a route. Raises ValueError where it is none."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def check_operators(
    readings: Sequence[TableReading], operators: Operators, namespaces: Sequence[str]
) -> Iterator[Finding]:
    """What is wrong with the operators that routes bind, and with all of the tree's own namespaces."""
    bindings = list(bindings_of(readings))
    yield from _without_operator(bindings, operators, namespaces)
    bound = {binding.operator for binding in bindings}
    bound.update(operator for operator in operators.definitions if _namespace(operator) in namespaces)
    for operator in sorted(bound & operators.definitions.keys()):
        definitions = operators.definitions[operator]
        path, first = definitions[0]
        if operator not in operators.fakes:
            message = f"the operator `{operator}` has no fake implementation"
            hint = "Register one with `torch.library.register_fake`."
            yield _finding("RTE102", path, first, operator, message, hint)
        if all(row.language == "c++" for _, row in definitions) and not operators.has_probe(operator):
            name = operator.rpartition("::")[2]
            message = f"nothing asks whether the operator `{operator}` is there"
            hint = f'Ask `hasattr(torch.ops.{_namespace(operator)}, "{name}")` where its route is admitted.'
            yield _finding("RTE103", path, first, operator, message, hint)
    yield from _registered_twice(operators, bound)


def _without_operator(
    bindings: Sequence[Binding], operators: Operators, namespaces: Sequence[str]
) -> Iterator[Finding]:
    for binding in bindings:
        if binding.operator not in operators.definitions:
            place: Place = binding.route.place
            message = f"`{binding.route.name}` binds `{binding.operator}`, which nothing registers"
            subject = f"{binding.table}: {binding.route.name}: {binding.operator}"
            hint = _near(binding.operator, operators)
            yield Finding("RTE101", place.path, place.line, place.column, "", subject, message, hint)
    for path, call in operators.calls:
        if _namespace(call.operator) in namespaces and call.operator not in operators.definitions:
            message = f"`{call.operator}` is called, and nothing registers it"
            yield _finding("RTE101", path, call, call.operator, message, _near(call.operator, operators))


def _registered_twice(operators: Operators, bound: set[str]) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], str] = {}
    for path, row in operators.implementations:
        if row.operator not in bound:
            continue
        # A name of C++ is one function wherever it is registered; one of Python belongs to its file.
        home = path if path.endswith(".py") else ""
        earlier = first.setdefault((home, row.key, row.function), row.operator)
        if earlier != row.operator:
            message = f"`{row.function}` implements `{row.operator}`, and `{earlier}` as well"
            yield _finding("RTE104", path, row, f"{row.operator}: {earlier}", message, "Keep one of the names.")


def _namespace(operator: str) -> str:
    return operator.partition("::")[0]


def _near(operator: str, operators: Operators) -> str:
    near = nearest(operator, operators.definitions)
    return f"Did you mean `{near}`?" if near else ""


def _finding(
    rule: str, path: str, row: Definition | Implementation | CallSite, subject: str, message: str, hint: str
) -> Finding:
    return Finding(rule, path, row.line, row.column, row.symbol, subject, message, hint)
