"""What each kind of contract looks at, and what it passes over."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import networkx as nx
import pytest
from msgspec import convert
from random_graphs import as_digraph, random_imports

from analyzers.finding import Finding, identify
from analyzers.layering.analyse import analyse
from analyzers.layering.graph import ImportGraph
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy


def places(findings: list[Finding]) -> set[tuple[str, str, int]]:
    return {(finding.rule, finding.path, finding.line) for finding in findings}


def traces(findings: list[Finding]) -> set[tuple[str, ...]]:
    return {finding.trace() for finding in findings if finding.trace}


def layers(*order: str, within: str = "") -> list[dict[str, Any]]:
    return [{"name": "order", "order": order, "within": within}]


def forbid(from_: str, *to: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "no", "from": [from_], "to": to, **more}]


def test_a_layer_reaches_up_through_modules_of_no_layer(analyse_tree: Any) -> None:
    files = {"top.py": "", "low.py": "import one", "one.py": "import two", "two.py": "\nimport top"}
    findings = analyse_tree(files, layers=layers("top", "low"))
    assert places(findings) == {("LAY001", "two.py", 2)}
    assert traces(findings) == {("low:1 -> one:1 -> two:2 -> top",)}
    assert findings[0].subject == "order: top"


def test_however_many_ways_lead_to_it_an_entry_is_reported_once(analyse_tree: Any) -> None:
    files = {"top.py": "", "mid.py": "import hub", "low.py": "import hub", "hub.py": "import top"}
    (finding,) = analyse_tree(files, layers=layers("top", "mid", "low"))
    assert (finding.path, finding.line) == ("hub.py", 1)
    assert "which layer `low` reaches" in finding.message


def test_a_module_of_no_layer_that_none_below_reaches_may_import_anything(analyse_tree: Any) -> None:
    files = {"top.py": "import hub", "low.py": "", "hub.py": "import top\nimport low"}
    assert analyse_tree(files, layers=layers("top", "low")) == []


def test_a_way_through_another_layer_is_that_layers_business(analyse_tree: Any) -> None:
    files = {"top.py": "", "mid.py": "import top", "low.py": ""}
    findings = analyse_tree(files | {"bottom.py": "import low"}, layers=layers("top", "mid", "low : bottom"))
    assert places(findings) == {("LAY001", "mid.py", 1)}


def test_siblings_are_independent_only_with_a_bar(analyse_tree: Any) -> None:
    files = {"top.py": "", "a.py": "import b", "b.py": "import a"}
    assert analyse_tree(files, layers=layers("top", "a : b")) == []
    both = {("LAY002", "a.py", 1), ("LAY002", "b.py", 1)}
    assert places(analyse_tree(files, layers=layers("top", "a | b"))) == both


def test_within_gives_the_names_their_package(analyse_tree: Any) -> None:
    files = {"app/__init__.py": "", "app/cli.py": "", "app/core.py": "from . import cli", "cli.py": ""}
    findings = analyse_tree(files, layers=layers("cli", "core", within="app"))
    assert places(findings) == {("LAY001", "app/core.py", 1)}


def test_the_most_specific_layer_holds_a_module(analyse_tree: Any) -> None:
    files = {"app/__init__.py": "", "app/cli.py": "", "app/x.py": "import app.cli"}
    assert places(analyse_tree(files, layers=layers("app.cli", "app"))) == {("LAY001", "app/x.py", 1)}


def test_a_finding_knows_its_function(analyse_tree: Any) -> None:
    files = {"top.py": "", "low.py": "class A:\n    def f(self):\n        import top"}
    assert [finding.symbol for finding in analyse_tree(files, layers=layers("top", "low"))] == ["A.f"]


def test_forbidden_reports_where_the_way_leaves_for_the_last_time(analyse_tree: Any) -> None:
    files = {
        "gates/a.py": "import gates.b",
        "gates/b.py": "import middle",
        "middle.py": "import gates.c",
        "gates/c.py": "import outside",
        "outside.py": "import torch",
    }
    findings = analyse_tree(files, forbidden=forbid("gates", "torch"))
    assert places(findings) == {("LAY003", "gates/c.py", 1)}
    assert traces(findings) == {("gates.c:1 -> outside:1 -> torch",)}


def test_importing_a_module_runs_the_packages_above_it(analyse_tree: Any) -> None:
    files = {"cli.py": "import lib.light", "lib/__init__.py": "import torch", "lib/light.py": ""}
    findings = analyse_tree(files, forbidden=forbid("cli", "torch"))
    assert traces(findings) == {("cli:1 -> lib:1 -> torch",)}


def test_packages_above_a_module_run_in_the_middle_of_a_chain_too(analyse_tree: Any) -> None:
    files = {"cli.py": "import x", "x.py": "\nimport lib.light", "lib/__init__.py": "import torch", "lib/light.py": ""}
    findings = analyse_tree(files, forbidden=forbid("cli", "torch"))
    assert traces(findings) == {("cli:1 -> x:2 -> lib:1 -> torch",)}


def test_one_import_that_reaches_a_target_twice_counts_once(analyse_tree: Any) -> None:
    files = {"cli.py": "import lib.heavy", "lib/__init__.py": "import torch", "lib/heavy.py": "import torch"}
    assert len(analyse_tree(files, forbidden=forbid("cli", "torch"))) == 1


def test_packages_above_the_importer_run_already(analyse_tree: Any) -> None:
    files = {"lib/__init__.py": "import torch", "lib/a.py": "from lib import b", "lib/b.py": ""}
    assert analyse_tree(files, forbidden=forbid("lib.a", "torch")) == []


def test_each_forbidden_target_counts(analyse_tree: Any) -> None:
    files = {"cli.py": "import x", "x.py": "import torch, triton"}
    findings = analyse_tree(files, forbidden=forbid("cli", "torch", "triton"))
    assert {finding.subject for finding in findings} == {"no: x -> torch", "no: x -> triton"}


def test_a_pattern_of_importers_may_cover_names_that_no_file_has(analyse_tree: Any) -> None:
    files = {"app/one.py": "import app.gone\nimport torch", "other.py": ""}
    apart = {"name": "apart", "from": ["other"], "to": ["app"]}
    findings = analyse_tree(files, forbidden=[*forbid("app", "torch"), apart])
    assert places(findings) == {("LAY003", "app/one.py", 2)}


def test_forbidden_may_look_at_direct_imports_only(analyse_tree: Any) -> None:
    files = {"cli.py": "import x\nimport torch", "x.py": "import torch"}
    assert places(analyse_tree(files, forbidden=forbid("cli", "torch", indirect=False))) == {("LAY003", "cli.py", 2)}


@pytest.mark.parametrize("pair", [("x", "torch"), ("cli", "x")])
def test_an_excepted_import_is_not_looked_at(pair: tuple[str, str], analyse_tree: Any) -> None:
    files = {"cli.py": "import x", "x.py": "import torch"}
    assert analyse_tree(files, forbidden=forbid("cli", "torch", **{"except": [pair]})) == []


def test_every_way_to_say_import_is_seen(analyse_tree: Any) -> None:
    text = (
        "import torch\nfrom torch import nn\nfrom torch.nn import *\ntry:\n    import torch\nexcept ImportError:\n"
        "    pass\ndef f():\n    import torch\n__import__('torch')\nimport importlib\n"
        "importlib.import_module('torch.cuda')\n"
    )
    findings = analyse_tree({"cli.py": text}, forbidden=forbid("cli", "torch"))
    assert sorted(finding.line for finding in findings) == [1, 2, 3, 5, 9, 10, 12]


def test_a_table_of_names_is_no_import(analyse_tree: Any) -> None:
    text = (
        '_NAMES = {"torch": "pytorch name", "triton": 1}\nFRAMEWORKS = {"pt": "torch"}\n\n\n'
        "def __getattr__(n):\n    return _NAMES[n]\n"
    )
    assert analyse_tree({"pkg/__init__.py": text}, forbidden=forbid("pkg", "torch", "triton")) == []


def test_the_trace_shows_the_line_of_its_finding(analyse_tree: Any) -> None:
    files = {"cli.py": "import x\nimport x", "x.py": "import torch"}
    findings = analyse_tree(files, forbidden=forbid("cli", "torch"))
    assert {(finding.line, *finding.trace()) for finding in findings if finding.trace} == {
        (1, "cli:1 -> x:1 -> torch"),
        (2, "cli:2 -> x:1 -> torch"),
    }


@pytest.mark.parametrize(
    ("imported", "said"),
    [
        ("top", "layer `low` imports the higher layer `top`"),
        ("top.a", "layer `low` imports `top.a` of the higher layer `top`"),
    ],
)
def test_a_layer_that_is_one_module_is_named_once(imported: str, said: str, analyse_tree: Any) -> None:
    files = {"top/__init__.py": "", "top/a.py": "", "low.py": f"import {imported}"}
    assert [finding.message for finding in analyse_tree(files, layers=layers("top", "low"))] == [said]


def test_package_cycles_show_one_way_round(analyse_tree: Any) -> None:
    files = {
        "app/__init__.py": "",
        "app/a.py": "import app.b.x",
        "app/b/x.py": "import app.c",
        "app/b/y.py": "import app.b.x",
        "app/c.py": "import app.a",
        "app/d.py": "import app.a",
    }
    findings = analyse_tree(files, acyclic=[{"name": "parts", "within": "app"}])
    assert places(findings) == {("LAY004", f"app/{name}.py", 1) for name in ("a", "b/x", "c")}
    assert ("app.a:1 -> app.b.x", "app.b.x:1 -> app.c", "app.c:1 -> app.a") in traces(findings)


def test_only_listed_and_protected_modules_import_a_protected_one(analyse_tree: Any) -> None:
    files = {
        "native/__init__.py": "",
        "native/lib.py": "import native",
        "kernels/k.py": "import native.lib",
        "models.py": "import native.lib\nimport kernels.k",
    }
    protected = [{"name": "p", "modules": ["native"], "importers": ["kernels"]}]
    assert places(analyse_tree(files, protected=protected)) == {("LAY005", "models.py", 1)}


def test_a_protected_module_may_be_external(analyse_tree: Any) -> None:
    protected = [{"name": "p", "modules": ["triton"], "importers": ["k"]}]
    files = {"k.py": "import triton", "m.py": "import triton.language"}
    assert places(analyse_tree(files, protected=protected)) == {("LAY005", "m.py", 1)}


def test_an_import_cycle_needs_imports_that_run_while_loading(analyse_tree: Any) -> None:
    files = {
        "a.py": "import b\ndef f():\n    import c",
        "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a",
        "c.py": "import a",
        "x.py": "\nimport y",
        "y.py": "import x, a\n",
    }
    findings = analyse_tree(files, shape={"cycles": True}, **{"type-checking-imports": True})
    assert places(findings) == {("LAY204", "x.py", 2), ("LAY204", "y.py", 1)}
    assert traces(findings) == {("x:2 -> y:1 -> x",), ("y:1 -> x:2 -> y",)}


def test_cycles_are_reported_in_the_files_of_the_policy(analyse_tree: Any) -> None:
    files = {"a/x.py": "import b.y", "b/y.py": "import a.x"}
    assert {f.path for f in analyse_tree(files, shape={"cycles": True, "files": ["a"]})} == {"a/x.py"}


def test_a_clean_tree_does_not_pay_for_networkx() -> None:
    script = """if True:
        import sys
        from msgspec import convert
        from analyzers.layering.analyse import analyse
        from analyzers.layering.modules import Modules
        from analyzers.layering.policy import LayeringPolicy
        from analyzers.python.facts import Import, PythonFacts
        imports = {"a.py": [Import("b", [], 0, 1, 8, -1, 0)], "b.py": []}
        facts = {path: PythonFacts.of(1, [], rows, []) for path, rows in imports.items()}
        policy = convert({
            "layers": [{"name": "l", "order": ["a", "b"]}],
            "forbidden": [{"name": "f", "from": ["b"], "to": ["a"]}],
            "acyclic": [{"name": "c", "within": ""}],
            "shape": {"cycles": True},
        }, LayeringPolicy)
        assert analyse(policy, Modules(facts), facts, {}) == []
        sys.exit("networkx" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_lines_may_move_freely(analyse_tree: Any) -> None:
    files = {"top.py": "", "low.py": "from top import (\n    a,\n    b,\n)\nimport torch\n"}
    settings = {"layers": layers("top", "low"), "forbidden": forbid("low", "torch")}
    moved = files | {"low.py": "# new\n\nimport torch\nfrom top import a, b\n"}
    prints = [{f.fingerprint for f in identify(analyse_tree(tree, **settings))} for tree in (files, moved)]
    assert prints[0] == prints[1]
    assert len(prints[0]) == 2


@pytest.mark.parametrize("seed", range(40))
def test_forbidden_findings_are_the_edges_to_cut(seed: int) -> None:
    facts = random_imports(seed)
    modules = Modules(facts)
    policy = convert({"forbidden": forbid("m0", "m1")}, LayeringPolicy)
    findings = analyse(policy, modules, facts, {})
    digraph = as_digraph(ImportGraph.build(modules, facts))
    zero, one = modules.number["m0.py"], modules.number["m1.py"]
    assert bool(findings) == nx.has_path(digraph, zero, one)
    digraph.remove_edges_from([(zero, modules.number[f"m{finding.line - 1}.py"]) for finding in findings])
    assert not nx.has_path(digraph, zero, one)


@pytest.mark.parametrize("seed", range(40))
def test_import_cycles_are_the_edges_inside_strong_components(seed: int) -> None:
    facts = random_imports(seed)
    modules = Modules(facts)
    findings = analyse(convert({"shape": {"cycles": True}}, LayeringPolicy), modules, facts, {})
    digraph = as_digraph(ImportGraph.build(modules, facts))
    expected = {(a, b) for a, b in digraph.edges if nx.has_path(digraph, b, a)}
    assert {(modules.number[f.path], modules.number[f"m{f.line - 1}.py"]) for f in findings} == expected
