"""Small trees, analysed as the gate analyses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec import convert
from small_trees import read_tree

from analyzers.finding import Finding
from analyzers.layering.analyse import analyse, graph_of
from analyzers.layering.coupling import CouplingExtractor, observed_files
from analyzers.layering.graph import ImportGraph
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy
from analyzers.layering.policy_check import check_policy
from analyzers.source import Source

Analyse = Callable[..., list[Finding]]
BuildGraph = Callable[..., ImportGraph]


@pytest.fixture
def analyse_tree() -> Analyse:
    """From files (path -> text) and settings to findings; the settings must fit the tree."""

    def run(files: Mapping[str, str], **settings: Any) -> list[Finding]:
        policy = convert(settings, LayeringPolicy)
        facts = read_tree(files)
        modules = Modules(facts)
        assert check_policy(policy, modules, files) == []
        extractor = CouplingExtractor.of(policy.coupling)
        coupling = {
            path: extractor.extract(Source(path, files[path])) for path in observed_files(policy.coupling, files)
        }
        return analyse(policy, modules, facts, coupling)

    return run


@pytest.fixture
def build_graph() -> BuildGraph:
    """The import graph of files (path -> text)."""

    def run(files: Mapping[str, str], **settings: Any) -> ImportGraph:
        facts = read_tree(files)
        return graph_of(convert(settings, LayeringPolicy), Modules(facts), facts)

    return run
