"""Random import graphs, and networkx's view of one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import networkx as nx

from analyzers.layering.graph import ImportGraph
from analyzers.python.facts import Import, PythonFacts


def random_imports(seed: int) -> dict[str, PythonFacts]:
    """Flat modules m0, m1, ... that import each other at random, sparse to dense."""
    rng = random.Random(seed)
    size = rng.randint(2, 14)
    density = rng.choice([0.05, 0.1, 0.2, 0.4])

    def imports(importer: int) -> Iterator[Import]:
        for target in range(size):
            if target != importer and rng.random() < density:
                yield Import(f"m{target}", [], 0, target + 1, 8, -1, 0)

    return {f"m{number}.py": PythonFacts.of(size, [], list(imports(number)), []) for number in range(size)}


def as_digraph(graph: ImportGraph) -> nx.DiGraph[int]:
    digraph: nx.DiGraph[int] = nx.DiGraph()
    digraph.add_nodes_from(range(len(graph.modules)))
    digraph.add_edges_from((a, b) for a, targets in enumerate(graph.statements) for b in targets)
    return digraph
