"""What the gates write stays inside the tree, and over nothing that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_project import FILES, Gates, break_layers, write

ENV = '\n[env]\nprefixes = ["X_"]\nreference = "page.md"\n\n[[env.registries]]\nfiles = ["app/envs.py"]\nsymbol = "R"\n'
REFERENCE = """
[reference]
page = "page.md"
title = "Reference"

[[reference.sections]]
heading = "Codecs"
symbol = "app.codecs.CODECS"
"""
CODECS = "from typing import NamedTuple\n\n\nclass Codec(NamedTuple):\n    name: str\n\n\nCODECS = (Codec('fp16'),)\n"


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is none of the tree's."""
    file = tmp_path_factory.mktemp("outside") / "mine.md"
    file.write_text("[x](core.p)\n")
    return file


@pytest.fixture
def generating(project: Path) -> Path:
    """A project with both generated pages, at one path."""
    write(project, {"gates.toml": FILES["gates.toml"] + ENV + REFERENCE, "app/codecs.py": CODECS})
    write(project, {"app/envs.py": "import os\n\nR = {'X_PORT': lambda: os.getenv('X_PORT', '80')}\n"})
    return project


@pytest.mark.parametrize("gate", ["env", "reference"])
def test_a_page_that_somebody_else_wrote_is_not_overwritten(gates: Gates, generating: Path, gate: str) -> None:
    write(generating, {"page.md": "# By hand\n"})

    done = gates(gate, "--write")

    assert (done.returncode, (generating / "page.md").read_text()) == (2, "# By hand\n")
    assert done.stderr.startswith(f"error: page.md: `gates {gate} --write` did not write this page")
    assert "name another page in the settings" in done.stderr


@pytest.mark.parametrize("gate", ["env", "reference"])
def test_a_page_of_its_own_is_written_and_written_anew(gates: Gates, generating: Path, gate: str) -> None:
    gates(gate, "--write")
    page = generating / "page.md"
    written = page.read_text()
    page.write_text(f"{written}\nedited\n")

    gates(gate, "--write")

    assert page.read_text() == written


@pytest.mark.parametrize(("mine", "other"), [("env", "reference"), ("reference", "env")])
def test_one_generated_page_does_not_replace_another(gates: Gates, generating: Path, mine: str, other: str) -> None:
    gates(mine, "--write")

    assert gates(other, "--write").returncode == 2


@pytest.mark.parametrize(
    ("link", "command"),
    [("page.md", ("env", "--write")), ("page.md", ("reference", "--write")), ("app/envs.py", ("env", "--fix"))],
)
def test_no_link_leads_a_page_or_a_fix_out_of_the_tree(
    gates: Gates, generating: Path, outside: Path, link: str, command: tuple[str, ...]
) -> None:
    outside.write_text("import os\n\nR = {}\n" if link.endswith(".py") else "")
    before = outside.read_text()
    write(generating, {"app/reader.py": "import os\n\nos.getenv('X_HOST')\n"})
    (generating / link).unlink(missing_ok=True)
    (generating / link).symlink_to(outside)

    assert gates(*command).returncode == 2
    assert outside.read_text() == before


@pytest.mark.parametrize("command", [("init",), ("check", "--update"), ("baseline", "refresh")], ids=" ".join)
def test_no_link_leads_a_baseline_out_of_the_tree(
    gates: Gates, project: Path, tmp_path_factory: pytest.TempPathFactory, command: tuple[str, ...]
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    break_layers(project)
    gates("init")
    accepted = (project / "baselines/layering.json").read_bytes()
    (project / "baselines").rename(project / "old")
    (project / "baselines").symlink_to(elsewhere)
    kept = {"layering.json": accepted} if command != ("init",) else {}
    for name, content in kept.items():
        (elsewhere / name).write_bytes(content)
    write(project, {"app/core.py": FILES["app/core.py"]})

    done = gates(*command)

    assert done.returncode == 2
    assert "it leads out of" in done.stderr
    assert {file.name: file.read_bytes() for file in elsewhere.iterdir()} == kept


def test_pages_of_rules_overwrite_no_folder_of_documents(gates: Gates, project: Path) -> None:
    done = gates("explain", "--write", ".")

    assert done.returncode == 2
    assert "README.md would be overwritten" in done.stderr
    assert (project / "README.md").read_text() == FILES["README.md"]
    assert gates("explain", "--write", "rules").returncode == 0
    assert gates("explain", "--write", "rules").returncode == 0
