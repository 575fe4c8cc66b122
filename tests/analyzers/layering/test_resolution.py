"""What import statements lead to: case by case, and against Python's own finder."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import pytest

from analyzers.layering.modules import Modules
from analyzers.layering.resolution import Resolver

PACKAGE = {
    "app/__init__.py": "",
    "app/a.py": "",
    "app/sub/__init__.py": "",
    "app/sub/b.py": "",
    "app/bare/c.py": "",
    "tool.py": "",
    "json.py": "",
    "scripts.py": "",
    "scripts/run.py": "",
    "scripts/neighbour.py": "",
    "scripts/queue.py": "",
    "app/bare/torch.py": "",
    "lib/other/__init__.py": "",
    "lib/other/d.py": "",
    "lib/other/queue.py": "",
}

CASES = [
    # importer, statement, what it leads to
    ("tool.py", "import app", {"app"}),
    ("tool.py", "import app.sub.b", {"app.sub.b"}),
    ("tool.py", "import app.sub.b as b, app.a", {"app.sub.b", "app.a"}),
    ("tool.py", "from app import a", {"app.a"}),
    ("tool.py", "from app import name", {"app"}),
    ("tool.py", "from app import *", {"app"}),
    ("tool.py", "from app.a import name", {"app.a"}),
    ("tool.py", "from app.bare import c", {"app.bare.c"}),
    ("tool.py", "import app.bare", {"app"}),
    ("tool.py", "import app.compiled", {"app"}),
    ("tool.py", "from app.sub.generated import name", {"app.sub"}),
    ("app/a.py", "import app.compiled", set()),
    ("app/a.py", "from app.sub.compiled import x", {"app.sub"}),
    ("app/a.py", "from . import sub", {"app.sub"}),
    ("app/a.py", "from . import name", {"app"}),
    ("app/a.py", "from .sub import b", {"app.sub.b"}),
    ("app/__init__.py", "from .a import name", {"app.a"}),
    ("app/__init__.py", "from . import name", set()),
    ("app/sub/b.py", "from .. import a", {"app.a"}),
    ("app/sub/b.py", "from ..a import *", {"app.a"}),
    ("app/sub/b.py", "from .... import x", set()),
    ("app/bare/c.py", "from . import torch", {"app.bare.torch"}),
    ("app/bare/c.py", "from ..sub.b import x", {"app.sub.b"}),
    ("app/bare/c.py", "import torch", {"torch"}),
    ("tool.py", "import torch.nn", {"torch.nn"}),
    ("tool.py", "from torch import nn", {"torch"}),
    ("tool.py", "from torch import cuda", {"torch.cuda"}),
    ("tool.py", "import numpy, torchvision", set()),
    ("tool.py", "from numpy import linalg, zeros", {"numpy.linalg"}),
    ("tool.py", "import json", {"json"}),
    ("app/a.py", "import json", {"json"}),
    ("lib/other/d.py", "import json", set()),
    ("scripts/run.py", "import neighbour", {"scripts.neighbour"}),
    ("scripts/run.py", "import queue", set()),
    ("tool.py", "import neighbour", set()),
    ("tool.py", "import other.d", {"other.d"}),
    ("lib/other/d.py", "import queue", set()),
    ("lib/other/d.py", "import other.queue", {"other.queue"}),
    ("tool.py", "import importlib\nimportlib.import_module('app.a')", {"app.a"}),
    ("tool.py", "__import__('app.sub')", {"app.sub"}),
    ("tool.py", "try:\n    import app\nexcept ImportError:\n    import app.a", {"app", "app.a"}),
    ("tool.py", "def f():\n    import app.a", {"app.a"}),
    ("app/__init__.py", "_lazy = {'sub.b': ['B'], 'nothing': [], 'tool': []}\nx = _LazyModule(__name__, _lazy)",
     {"app.sub.b", "tool"}),
]  # fmt: skip


@pytest.mark.parametrize(("importer", "statement", "expected"), CASES)
def test_statement_leads_to(importer: str, statement: str, expected: set[str], build_graph: Any) -> None:
    forbidden = [{"name": "x", "from": ["app"], "to": ["torch", "torch.cuda", "numpy.linalg"]}]
    graph = build_graph(PACKAGE | {importer: statement}, forbidden=forbidden)
    number = graph.modules.number[importer]
    assert {graph.names[target] for target in graph.statements[number]} == expected


def test_type_checking_imports_count_only_where_the_policy_says_so(build_graph: Any) -> None:
    files = {"a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b", "b.py": ""}
    assert not build_graph(files).statements[0]
    assert build_graph(files, **{"type-checking-imports": True}).statements[0]


def test_an_import_without_a_root_package_file_and_one_at_the_root() -> None:
    modules = Modules(["__init__.py", "a.py"])
    assert Resolver(modules, ()).folder("")[1, 0][""]["a"] == modules.number["a.py"]


def _random_tree(rng: random.Random) -> dict[str, str]:
    folders = ["one", "two"]
    for _ in range(rng.randint(1, 6)):
        folders.append(f"{rng.choice(folders)}/{rng.choice('pqr')}")
    files = {f"{folder}/{rng.choice(['p', 'q', 'r', 'm'])}.py": "" for folder in folders}
    files.update({f"{folder}/__init__.py": "" for folder in folders[2:] if rng.random() < 0.6})
    return files


def _find_like_python(roots: list[str], dotted: str) -> str | None:
    """The file that Python's path finder gives for a dotted name; None where it finds none or only a folder."""
    path: Any = roots
    spec: ModuleSpec | None = None
    for segment in dotted.split("."):
        spec = PathFinder.find_spec(segment, path)
        if spec is None:
            return None
        path = [*spec.submodule_search_locations] if spec.submodule_search_locations is not None else []
    return spec.origin if spec else None


@pytest.mark.parametrize("seed", range(40))
def test_absolute_names_lead_where_pythons_finder_leads(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    files = _random_tree(rng)
    _write(tmp_path, files)
    roots = [str(tmp_path / "one"), str(tmp_path / "two")]
    monkeypatch.setattr(sys, "path", roots)
    sys.path_importer_cache.clear()
    modules = Modules(files, ["one", "two"])
    resolve = Resolver(modules, ()).folder("one/nowhere")
    for dotted in {".".join(rng.choices("pqrm", k=rng.randint(1, 3))) for _ in range(30)}:
        found = _find_like_python(roots, dotted)
        expected = None if found is None else Path(found).relative_to(tmp_path).as_posix()
        target = resolve[0, 1][dotted][""]
        assert (modules.paths[target] if isinstance(target, int) else None) == expected, (dotted, sorted(files))


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
