"""The graph's searches against networkx, on random graphs."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest
from random_graphs import as_digraph, random_imports

from analyzers.layering.graph import ImportGraph, routes_to
from analyzers.layering.modules import Modules


@pytest.mark.parametrize("seed", range(60))
def test_routes_are_the_shortest_ways_through_what_is_allowed(seed: int) -> None:
    facts = random_imports(seed)
    rng = random.Random(seed)
    graph = ImportGraph.build(Modules(facts), facts)
    nodes = range(len(graph.modules))
    targets = {node for node in nodes if rng.random() < 0.2}
    through = {node for node in nodes if rng.random() < 0.7} - targets
    routes = routes_to(graph, targets, through, graph.importers)
    allowed = as_digraph(graph).subgraph(targets | through)
    lengths = nx.multi_source_dijkstra_path_length(allowed.reverse(), targets) if targets else {}
    assert {node for node in nodes if node in routes} == lengths.keys() - targets
    for node in routes.next_step:
        length = 0
        while node in routes:
            node, length = routes.next_step[node], length + 1
        assert node in targets
    for node in routes.next_step:
        chain = routes.chain(graph.edge(node, routes.next_step[node]))[0]
        assert chain.count(" -> ") == lengths[node]


def test_a_chain_names_modules_and_lines(build_graph: Any) -> None:
    graph = build_graph({"a.py": "\n\nimport b", "b.py": "\nimport c", "c.py": ""})
    routes = routes_to(graph, {2}, {1}, graph.importers)
    assert routes.chain(graph.edge(0, 1)) == ("a:3 -> b:2 -> c",)


@pytest.mark.parametrize(
    "text",
    [
        "from pkg import a, b, c",
        "from pkg import (\n    a,\n    b,\n    c,\n)",
        "from pkg import a, \\\n    b, c",
    ],
)
def test_a_statement_counts_once_however_it_is_laid_out(text: str, build_graph: Any) -> None:
    graph = build_graph({"pkg/__init__.py": "a = b = c = 1", "x.py": text})
    assert [len(sites) for sites in graph.statements[1].values()] == [1]


def test_each_statement_counts(build_graph: Any) -> None:
    text = "import pkg\nimport pkg, pkg\nfrom pkg import a\nfrom pkg import a\ndef f():\n    from pkg import a\n"
    graph = build_graph({"pkg/__init__.py": "", "x.py": text})
    assert [site.line for site in graph.sites(1, 0)] == [1, 2, 2, 3, 4, 6]


def test_a_module_that_imports_itself_has_no_edge(build_graph: Any) -> None:
    assert not build_graph({"a.py": "import a\nfrom a import name"}).statements[0]
