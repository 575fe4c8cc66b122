"""What imports lead to is the same whether it is looked up or remembered."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from small_trees import read_tree

from analyzers.cache import FactCache
from analyzers.layering import leads
from analyzers.layering.graph import ImportGraph
from analyzers.layering.modules import Modules

PATHS = ("a/__init__.py", "a/b.py", "a/c/__init__.py", "a/c/d.py", "loose/e.py", "loose/f.py", "src/g.py", "top.py")
CLAUSES = (
    "import a.b",
    "import a.missing",
    "import e",
    "import os, torch.nn",
    "from . import b, d",
    "from .. import b",
    "from .c import d, name",
    "from a import *",
    "from a.c import d",
    "from g import name",
    "from torch import nn, cuda",
    "if TYPE_CHECKING: import a.c.d",
)
EXTERNALS = ("torch", "torch.cuda")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[FactCache]:
    cache = FactCache(tmp_path / "facts.sqlite")
    yield cache
    cache.close()


def random_files(seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    return {path: "\n".join(rng.choices(CLAUSES, k=rng.randint(0, 6))) for path in PATHS}


def edges(graph: ImportGraph) -> list[dict[str, list[int]]]:
    """For each module the names that it imports, each with the indexes of its statements."""
    return [{graph.names[target]: sites for target, sites in row.items()} for row in graph.statements]


def build(files: Mapping[str, str], cache: FactCache | None, **options: bool) -> ImportGraph:
    facts = read_tree(files)
    return ImportGraph.build(Modules(facts), facts, EXTERNALS, cache=cache, **options)


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_that_was_edited_has_the_graph_of_one_that_is_new(seed: int, cache: FactCache) -> None:
    for step in range(4):
        files = random_files(seed * 10 + step)
        assert edges(build(files, cache)) == edges(build(files, None))


def test_nothing_is_looked_up_again(cache: FactCache, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path: "\n".join(CLAUSES) for path in PATHS}
    first = build(files, cache)
    monkeypatch.setattr(leads, "Resolver", None)
    assert edges(build(files, cache)) == edges(first)


def test_another_module_is_another_question(cache: FactCache) -> None:
    files = {"a/__init__.py": "", "top.py": "from a import b"}
    assert edges(build(files, cache))[1].keys() == {"a"}
    assert edges(build(files | {"a/b.py": ""}, cache))[2].keys() == {"a.b"}


def test_another_source_root_is_another_question(cache: FactCache) -> None:
    facts = read_tree({"lib/a/__init__.py": "", "top.py": "import a.missing"})
    graphs = [ImportGraph.build(Modules(facts, [root]), facts, cache=cache) for root in ("lib", ".")]
    assert [bool(graph.statements[1]) for graph in graphs] == [True, False]


def test_whether_type_checking_counts_is_another_question(cache: FactCache) -> None:
    files = {"a.py": "if TYPE_CHECKING: import b", "b.py": ""}
    assert [bool(build(files, cache, type_checking=counts).statements[0]) for counts in (False, True)] == [False, True]


def test_other_names_outside_of_the_tree_are_another_question(cache: FactCache) -> None:
    facts = read_tree({"a.py": "import torch, numpy"})
    graphs = [ImportGraph.build(Modules(facts), facts, [name], cache=cache) for name in ("torch", "numpy")]
    assert [edges(graph)[0].keys() for graph in graphs] == [{"torch"}, {"numpy"}]


def test_a_spoiled_value_is_looked_up_anew(cache: FactCache, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.py": "import b", "b.py": ""}
    monkeypatch.setattr(cache, "lookup", lambda kind, digests: dict.fromkeys(digests, '{"names":['))
    assert edges(build(files, cache))[0].keys() == {"b"}
