"""Who imports whom: the graph that every contract reads."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from analyzers.cache import FactCache
from analyzers.layering.leads import FolderLeads, Leads
from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.python.facts import Import, ImportFlag, PythonFacts

Statements = dict[int, list[int]]
"""What one module imports, and with which of its file's imports, by index. However many names a statement takes from
a target, it stands there once."""


class Edge(Struct, frozen=True):
    """One module runs another because of an import statement."""

    importer: int
    target: int
    """What runs."""
    written: int
    """What the statement imports: the target, or a module below it."""
    statement: int = 0
    """Which of the importer's statements that import it."""


class ImportGraph(Struct, frozen=True, eq=False, dict=True):
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
        cache: FactCache | None = None,
    ) -> Self:
        """Resolve every import.

        Args:
            modules: the modules of the tree.
            facts: what each file says, by path; a module without facts imports nothing.
            externals: patterns of the names outside of the tree that become nodes.
            type_checking: whether imports under `if TYPE_CHECKING:` count.
            cache: keeps what imports lead to, for other graphs of the same modules.
        """
        leads = Leads(modules, sorted(externals), type_checking, cache)
        statements = []
        for importer, path in enumerate(modules.paths):
            clauses = facts[path].clauses if path in facts else ()
            statements.append(_statements(importer, clauses, leads.of(path.rpartition("/")[0])))
        leads.keep()
        return cls(modules, facts, (*modules.names, *leads.numbering), statements)

    def without(self, flags: ImportFlag) -> Self:
        """The graph of the import statements that have none of the flags."""
        unwanted = int(flags)
        kept: list[Statements] = []
        for path, targets in zip(self.modules.paths, self.statements, strict=True):
            wanted = [not flags & unwanted for flags in self.facts[path].import_flags] if targets else []
            rows = ((target, [site for site in sites if wanted[site]]) for target, sites in targets.items())
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

    def sites(self, importer: int, target: int) -> Iterator[Import]:
        """The statements by which a module imports another, in order of the file."""
        return map(self.facts[self.modules.paths[importer]].import_at, self.statements[importer][target])

    def edges_of(self, importer: int) -> Iterator[Edge]:
        """What a module imports, by what is written."""
        for target in self.statements[importer]:
            yield Edge(importer, target, target)

    @cached_property
    def running(self) -> Sequence[Mapping[int, int]]:
        """For each module what its imports run, each with what is written: `import a.b.c` runs `a` and `a.b` too.

        Packages that the importer lies below are left out: they run already.
        """
        return [self._run_by(importer) for importer in range(len(self.modules))]

    def _run_by(self, importer: int) -> Mapping[int, int]:
        above = self.modules.packages_above
        passed = {importer, *above[importer]}
        written = {target: target for target in self.statements[importer]}
        for target in self.statements[importer]:
            for package in above[target] if target < len(above) else ():
                if package in passed:
                    break
                passed.add(package)
                written.setdefault(package, target)
        return written

    @cached_property
    def importers(self) -> Sequence[Sequence[int]]:
        """For each node, the modules that import it."""
        return self._importers(self.statements)

    @cached_property
    def runners(self) -> Sequence[Sequence[int]]:
        """For each node, the modules whose imports run it."""
        return self._importers(self.running)

    def edge(self, importer: int, target: int) -> Edge:
        """The edge by which a module runs another."""
        return Edge(importer, target, self.running[importer][target])

    def render(self, edges: Sequence[Edge]) -> str:
        """A chain of imports as "gates.cli:12 -> analyzers.x:3 -> torch"; numbers are lines."""
        sites = [[*self.sites(edge.importer, edge.written)][edge.statement] for edge in edges]
        parts = [f"{self.names[edge.importer]}:{site.line}" for edge, site in zip(edges, sites, strict=True)]
        return " -> ".join([*parts, self.names[edges[-1].target]])

    def _importers(self, targets: Iterable[Iterable[int]]) -> list[list[int]]:
        importers: list[list[int]] = [[] for _ in self.names]
        for importer, imported in enumerate(targets):
            for target in imported:
                importers[target].append(importer)
        return importers


def _statements(importer: int, clauses: Iterable[str], leads: FolderLeads) -> Statements:
    """What one module imports; it does not import itself."""
    targets: Statements = {}
    shared = leads.shared
    for index, clause in enumerate(clauses):
        found = shared.get(clause)
        for target in leads[clause] if found is None else found:
            if target != importer:
                targets.setdefault(target, []).append(index)
    return targets


class Routes(Struct, frozen=True):
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
    frontier = sorted(targets, key=graph.names.__getitem__)
    while frontier:
        reached = []
        for node in frontier:
            for importer in importers[node]:
                if importer not in next_step and importer in through and importer not in targets:
                    next_step[importer] = node
                    reached.append(importer)
        frontier = reached
    return Routes(graph, next_step)


class Origin(Struct, frozen=True):
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
            for target in graph.statements[node]:
                if target in through and target not in last_step:
                    last_step[target] = node
                    reached.append(target)
        frontier = reached
    return Origin(graph, last_step)
