"""How much layering debt a tree carries, and where: the numbers behind `gates layering --report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby, takewhile

from msgspec import Struct

from analyzers.finding import Finding
from analyzers.layering.analyse import graph_of
from analyzers.layering.coupling import coupling_kind
from analyzers.layering.graph import ImportGraph
from analyzers.layering.layers import LayerMap
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy
from analyzers.layering.rules import RULES
from analyzers.python.facts import PythonFacts
from analyzers.rules import RULES as SOURCE_RULES

_RULE_NAMES = {rule.code: rule.name for rule in (*SOURCE_RULES, *RULES)}


class Row(Struct, frozen=True):
    """How many findings one layer, kind or file holds."""

    name: str
    count: int
    before: int | None = None
    """The same count in the base; None when there is no base to compare with."""

    @property
    def change(self) -> int | None:
        """Findings more (positive) or fewer (negative) than in the base."""
        return None if self.before is None else self.count - self.before


class Matrix(Struct, frozen=True):
    """Who imports whom, between the layers of one contract or, where no layers are declared, between packages."""

    title: str
    """The contract's name, or "packages"."""
    levels: tuple[tuple[str, ...], ...]
    """The names, highest level first; siblings share a level. Without layers there is one level."""
    imports: tuple[tuple[int, ...], ...]
    """`imports[i][j]`: import statements in `names[i]` that lead straight to `names[j]`; square."""
    broken: tuple[tuple[int, ...], ...]
    """How many of those the contract forbids; same shape."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of rows and columns."""
        return tuple(name for level in self.levels for name in level)


class Debt(Struct, frozen=True):
    """Every table is sorted largest first, then by name. A row that only the base has counts 0."""

    total: Row
    by_layer: tuple[Row, ...]
    """A file counts for the first contract that has a layer for it, and else for its package."""
    by_kind: tuple[Row, ...]
    """Named "LAY101 model-family" for a coupling, "LAY001 layer-order" for any other rule."""
    by_file: tuple[Row, ...]
    matrices: tuple[Matrix, ...]


def measure_debt(
    policy: LayeringPolicy,
    modules: Modules,
    facts: Mapping[str, PythonFacts],
    findings: Collection[Finding],
    base: Collection[Finding] | None = None,
) -> Debt:
    """Sort and count findings, and count the imports between layers.

    Args:
        policy: what was analysed.
        modules: the modules of the tree.
        facts: what each Python file says, by path.
        findings: all findings of the gate, the accepted ones and those about unreadable sources too.
        base: those of the tree to compare with; None leaves the trend out.
    """
    graph = graph_of(policy, modules, facts)
    maps = [LayerMap(contract, modules.names) for contract in policy.layers]
    depth = _common_depth(modules.names)

    def layer(finding: Finding) -> str:
        number = modules.number.get(finding.path)
        if number is None:
            return finding.path.partition("/")[0]
        found = next((m.layers[m.of[number]].pattern for m in maps if number in m.of), None)
        return found or _package(modules.names[number], depth)

    return Debt(
        total=Row("total", len(findings), None if base is None else len(base)),
        by_layer=_table(layer, findings, base),
        by_kind=_table(_kind, findings, base),
        by_file=_table(lambda finding: finding.path, findings, base),
        matrices=tuple(_layer_matrix(m, graph) for m in maps) or (_package_matrix(graph, depth),),
    )


def _table(
    key: Callable[[Finding], str], findings: Iterable[Finding], base: Iterable[Finding] | None
) -> tuple[Row, ...]:
    now = Counter(map(key, findings))
    before = None if base is None else Counter(map(key, base))
    rows = [Row(name, now[name], None if before is None else before[name]) for name in {*now, *(before or ())}]
    return tuple(sorted(rows, key=lambda row: (-row.count, row.name)))


def _kind(finding: Finding) -> str:
    if finding.rule == "LAY101":
        return f"{finding.rule} {coupling_kind(finding)}"
    return f"{finding.rule} {_RULE_NAMES[finding.rule]}"


def _layer_matrix(layer_map: LayerMap, graph: ImportGraph) -> Matrix:
    layers = layer_map.layers
    imports = _count_imports(layer_map.of, len(layers), graph)
    broken = [
        [count if theirs in layer_map.broken_rules[ours] else 0 for theirs, count in enumerate(row)]
        for ours, row in enumerate(imports)
    ]
    levels = [tuple(layer.pattern for layer in group) for _, group in groupby(layers, key=lambda one: one.level)]
    return Matrix(layer_map.contract.name, tuple(levels), _frozen(imports), _frozen(broken))


def _package_matrix(graph: ImportGraph, depth: int) -> Matrix:
    packages = [_package(name, depth) for name in graph.modules.names]
    names = sorted(set(packages))
    number = {name: index for index, name in enumerate(names)}
    members = {module: number[package] for module, package in enumerate(packages)}
    imports = _count_imports(members, len(names), graph)
    return Matrix("packages", (tuple(names),), _frozen(imports), _frozen([[0] * len(names) for _ in names]))


def _count_imports(members: Mapping[int, int], size: int, graph: ImportGraph) -> list[list[int]]:
    """Import statements between groups; `members` says to which group a module belongs."""
    table = [[0] * size for _ in range(size)]
    for importer, ours in members.items():
        for target, statements in graph.statements[importer].items():
            if target in members:
                table[ours][members[target]] += len(statements)
    return table


def _frozen(table: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in table)


def _common_depth(names: Sequence[str]) -> int:
    """How many first segments all modules share: a tree that is one package is told apart by its children."""
    columns = zip(*(name.split(".") for name in names), strict=False)
    return len(list(takewhile(lambda column: len(set(column)) == 1, columns)))


def _package(name: str, depth: int) -> str:
    """The top-level package of a module, below what all modules share."""
    return ".".join(name.split(".")[: depth + 1])
