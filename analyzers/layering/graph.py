"""Who imports whom: the graph that every contract reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.layering.resolution import FolderResolver, Resolver
from analyzers.python.facts import Import, ImportFlag, PythonFacts

_LAZY = int(ImportFlag.LAZY)
"""A plain number: the flags of every import are tested, and `IntFlag` is slow at that."""

Statements = dict[int, list[Import]]
"""What one module imports, and with which statements, in order of the file. However many names a statement takes
from a target, it stands there once."""


class Edge(NamedTuple):
    """One module runs another because of an import statement."""

    importer: int
    target: int
    """What runs."""
    written: int
    """What the statement imports: the target, or a module below it."""
    statement: int = 0
    """Which of the importer's statements that import it."""


@dataclass(frozen=True, eq=False)
class ImportGraph:
    """Modules and the names outside of the tree that matter, as numbers, and the import statements between them.

    Numbers below `len(modules)` are modules of the tree, the others are external names.
    """

    modules: Modules
    facts: Mapping[str, PythonFacts]
    names: Sequence[str]
    """Dotted name of every node."""
    statements: Sequence[Statements]
    """For each module of the tree, its imports."""

    @classmethod
    def build(
        cls,
        modules: Modules,
        facts: Mapping[str, PythonFacts],
        externals: Collection[str] = (),
        type_checking: bool = False,
    ) -> Self:
        """Resolve every import.

        Args:
            modules: the modules of the tree.
            facts: what each file says, by path; a module without facts imports nothing.
            externals: patterns of the names outside of the tree that become nodes.
            type_checking: whether imports under `if TYPE_CHECKING:` count.
        """
        ignored = 0 if type_checking else int(ImportFlag.TYPE_CHECKING)
        resolver = Resolver(modules, externals)
        numbers: dict[str, int] = {}
        statements = []
        for importer, path in enumerate(modules.paths):
            imports = [s for s in facts[path].imports if not s.flags & ignored] if path in facts else []
            resolved = _resolved(imports, resolver.folder(path.rpartition("/")[0]), modules.packages_above[importer])
            targets: Statements = {}
            for statement, target in resolved:
                number = numbers.setdefault(target, len(modules) + len(numbers)) if isinstance(target, str) else target
                if number != importer:
                    targets.setdefault(number, []).append(statement)
            statements.append(targets)
        return cls(modules, facts, (*modules.names, *numbers), statements)

    def without(self, flags: ImportFlag) -> Self:
        """The graph of the import statements that have none of the flags."""
        unwanted = int(flags)
        kept: list[Statements] = []
        for targets in self.statements:
            rows = ((target, [s for s in sites if not s.flags & unwanted]) for target, sites in targets.items())
            kept.append({target: sites for target, sites in rows if sites})
        return replace(self, statements=kept)

    def without_imports(self, importers: Container[int], imported: Container[int]) -> Self:
        """The graph in which the importers do not import what is imported."""
        kept = [
            {target: sites for target, sites in targets.items() if target not in imported}
            if importer in importers
            else targets
            for importer, targets in enumerate(self.statements)
        ]
        return replace(self, statements=kept)

    def matching(self, patterns: Iterable[str]) -> frozenset[int]:
        """The modules and external names that any of the patterns covers."""
        covers = pattern_matcher(patterns)
        return frozenset(number for number, name in enumerate(self.names) if covers(name))

    def edges_of(self, importer: int) -> Iterator[Edge]:
        """What a module imports, by what is written."""
        for target in self.statements[importer]:
            yield Edge(importer, target, target)

    def running_edges_of(self, importer: int) -> Iterator[Edge]:
        """What a module's imports run: `import a.b.c` runs the packages `a` and `a.b` too.

        Packages that the importer lies below are left out: they run already.
        """
        above = self.modules.packages_above
        running = {importer, *above[importer]}
        for target in self.statements[importer]:
            yield Edge(importer, target, target)
            for package in above[target] if target < len(above) else ():
                if package in running:
                    break
                running.add(package)
                if package not in self.statements[importer]:
                    yield Edge(importer, package, target)

    @cached_property
    def importers(self) -> Sequence[Sequence[int]]:
        """For each node, the modules that import it."""
        return self._importers(lambda importer: self.statements[importer])

    @cached_property
    def runners(self) -> Sequence[Sequence[int]]:
        """For each node, the modules whose imports run it."""
        return self._importers(lambda importer: [edge.target for edge in self.running_edges_of(importer)])

    def edge(self, importer: int, target: int) -> Edge:
        """The edge by which a module runs another."""
        if target in self.statements[importer]:
            return Edge(importer, target, target)
        return next(edge for edge in self.running_edges_of(importer) if edge.target == target)

    def render(self, edges: Sequence[Edge]) -> str:
        """A chain of imports as "gates.cli:12 -> analyzers.x:3 -> torch"; numbers are lines."""
        lines = [self.statements[edge.importer][edge.written][edge.statement].line for edge in edges]
        parts = [f"{self.names[edge.importer]}:{line}" for edge, line in zip(edges, lines, strict=True)]
        return " -> ".join([*parts, self.names[edges[-1].target]])

    def _importers(self, targets_of: Callable[[int], Iterable[int]]) -> list[list[int]]:
        importers: list[list[int]] = [[] for _ in self.names]
        for importer in range(len(self.statements)):
            for target in targets_of(importer):
                importers[target].append(importer)
        return importers


def _resolved(
    imports: Iterable[Import], folder: FolderResolver, running: Container[int]
) -> Iterator[tuple[Import, int | str]]:
    """What each statement of one module leads to, once however many names it takes from there."""
    for statement in imports:
        names = folder[statement.level, statement.flags & _LAZY][statement.module]
        if not names.matter:
            continue
        for target in {names[name]: None for name in statement.names or ("",)}:
            if target is not None and not (target == names.nearest and target in running):
                yield statement, target


@dataclass(frozen=True)
class Routes:
    """The shortest ways to some targets, from every module that a way leads from."""

    graph: ImportGraph
    next_step: Mapping[int, int]
    """Module -> the next one on its way."""

    def __contains__(self, module: int) -> bool:
        return module in self.next_step

    def chain(self, first: Edge) -> tuple[str, ...]:
        """The way that begins with an edge, as one line."""
        edges = [first]
        while (step := self.next_step.get(at := edges[-1].target)) is not None:
            edges.append(self.graph.edge(at, step))
        return (self.graph.render(edges),)


def routes_to(
    graph: ImportGraph, targets: Collection[int], through: Container[int], importers: Sequence[Iterable[int]]
) -> Routes:
    """Search backwards and breadth first from the targets, passing only modules in `through`."""
    next_step: dict[int, int] = {}
    frontier = sorted(targets)
    while frontier:
        reached = []
        for node in frontier:
            for importer in importers[node]:
                if importer not in next_step and importer in through and importer not in targets:
                    next_step[importer] = node
                    reached.append(importer)
        frontier = reached
    return Routes(graph, next_step)


@dataclass(frozen=True)
class Origin:
    """The shortest ways from some modules to every module that they reach."""

    graph: ImportGraph
    last_step: Mapping[int, int | None]
    """Module -> the one before it on its way; None for those that ways start from."""

    def __iter__(self) -> Iterator[int]:
        return iter(self.last_step)

    def chain(self, last: Edge) -> tuple[str, ...]:
        """The way that ends with an edge, as one line."""
        edges = [last]
        while (step := self.last_step[at := edges[0].importer]) is not None:
            edges.insert(0, self.graph.edge(step, at))
        return (self.graph.render(edges),)


def routes_from(graph: ImportGraph, sources: Collection[int], through: Container[int]) -> Origin:
    """Search forwards and breadth first from the sources, passing only modules in `through`."""
    last_step: dict[int, int | None] = dict.fromkeys(sorted(sources))
    frontier = list(last_step)
    while frontier:
        reached = []
        for node in frontier:
            for edge in graph.edges_of(node):
                if edge.target in through and edge.target not in last_step:
                    last_step[edge.target] = node
                    reached.append(edge.target)
        frontier = reached
    return Origin(graph, last_step)
