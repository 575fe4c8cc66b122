"""What a run over an unchanged tree leaves unimported: it is the start that such a run spends its time on."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_project import SETTINGS, Gates, write

HEAVY = {"pydantic", "networkx", "rich", "libcst", "astroid", "pyromark", "pathspec", "concurrent", "multiprocessing"}
READERS = {"analyzers.python.structure", "analyzers.python.syntax", "analyzers.markdown.parser"}
FURTHER = """
[layering.shape]
max-file-lines = 400
private-access = true
cycles = true

[env]
prefixes = ["APP_"]

[config]
roots = ["app.core.Config"]
"""
CORE = "from dataclasses import dataclass\n\n\n@dataclass\nclass Config:\n    size: int = 1\n\n\nprint(Config().size)\n"


@pytest.fixture
def check(gates: Gates, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Gates:
    """`gates check` with its own cache; on its standard error stands what it imports."""
    write(project, {"gates.toml": SETTINGS + FURTHER, "app/core.py": CORE, "app/cli.py": "import app.core\n"})
    cache = tmp_path_factory.mktemp("cache")
    return lambda: gates("check", XDG_CACHE_HOME=str(cache), PYTHONPROFILEIMPORTTIME="1")


def imported(stderr: str) -> set[str]:
    """The modules in the output of `-X importtime`, and the packages that they are below."""
    modules = [line.rpartition("|")[2].strip() for line in stderr.splitlines() if line.startswith("import time:")]
    return {*modules, *(module.partition(".")[0] for module in modules)}


def test_a_warm_run_imports_neither_heavy_packages_nor_readers_of_sources(check: Gates) -> None:
    cold, warm = check(), check()

    assert (cold.returncode, warm.returncode) == (0, 0), warm.stderr
    assert {"pyromark", *READERS} <= imported(cold.stderr)
    assert not imported(warm.stderr) & (HEAVY | READERS)
