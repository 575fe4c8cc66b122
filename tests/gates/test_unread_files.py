"""Of what nobody could read nobody can say that it is gone: baselines keep it, and no run advises to drop it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_project import FILES, UPWARD, Gates, commit, waiver, write

DEBT = {"app/core.py": UPWARD, "app/heavy.py": "import torch\n", "app/long.py": "import torch\n"}
BASELINE = "baselines/layering.json"


def break_syntax(file: Path) -> None:
    file.write_text("def (\n")


def break_encoding(file: Path) -> None:
    file.write_bytes(b"name = '\xfc'\n")


def take_away(file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere/at/all")


Break = Callable[[Path], None]
every_break = pytest.mark.parametrize("spoil", [break_syntax, break_encoding, take_away])


@pytest.fixture
def indebted(gates: Gates, project: Path) -> Path:
    """Three accepted violations in three files."""
    write(project, DEBT)
    assert gates("init").returncode == 0
    commit(project, "debt")
    return project


def entries(project: Path) -> list[str]:
    return [entry["path"] for entry in json.loads((project / BASELINE).read_text())["entries"]]


@every_break
@pytest.mark.parametrize(
    "command",
    [
        ("check", "--update"),
        ("layering", "--update"),
        ("check", "--accept-moves"),
        ("baseline", "refresh"),
        ("baseline", "prune"),
    ],
    ids=" ".join,
)
def test_no_command_takes_entries_out_while_a_file_cannot_be_read(
    gates: Gates, indebted: Path, spoil: Break, command: tuple[str, ...]
) -> None:
    spoil(indebted / "app/heavy.py")
    # Another file is really clean now; but what it breaks may rest on the one that nobody could read.
    write(indebted, {"app/core.py": FILES["app/core.py"]})
    done = gates(*command)
    assert entries(indebted) == sorted(DEBT)
    assert f"{BASELINE} keeps 2 entries" in done.stdout
    assert "app/heavy.py can be read" in done.stdout
    assert "fixed" not in done.stdout


@every_break
@pytest.mark.parametrize("format_", ["terminal", "json", "markdown", "sarif"])
def test_no_report_calls_entries_stale_while_a_file_cannot_be_read(
    gates: Gates, indebted: Path, spoil: Break, format_: str
) -> None:
    spoil(indebted / "app/heavy.py")
    done = gates("check", "--strict", "--format", format_)
    assert done.returncode == 1
    assert "BAS002" not in done.stdout
    assert "--update" not in done.stdout
    if format_ != "sarif":
        assert "keeps 1 entry" in done.stdout


def test_once_the_file_is_mended_everything_is_as_it_was(gates: Gates, indebted: Path) -> None:
    break_syntax(indebted / "app/heavy.py")
    gates("check", "--update")
    write(indebted, DEBT)
    assert gates("check", "--strict").returncode == 0


def test_an_amount_is_not_lowered_to_what_is_left_of_a_broken_file(gates: Gates, project: Path) -> None:
    long = "def f():\n" + "    x = 1\n" * 30
    write(project, {"gates.toml": FILES["gates.toml"] + "\n[layering.shape]\nmax-function-lines = 20\n"})
    write(project, {"app/long.py": long})
    gates("init")
    write(project, {"app/long.py": long.replace("    x = 1\n", "", 5) + "def (\n"})
    gates("check", "--update")
    (entry,) = json.loads((project / BASELINE).read_text())["entries"]
    assert entry["amount"] == 31


def test_a_file_that_never_parsed_holds_nothing_up_but_its_own_entries(gates: Gates, project: Path) -> None:
    write(project, {**DEBT, "app/heavy.py": "import torch\ndef (\n"})
    gates("init")
    write(project, {"app/core.py": FILES["app/core.py"], "app/heavy.py": "def (\n"})
    assert gates("check", "--update").returncode == 0
    assert set(entries(project)) == {"app/heavy.py", "app/long.py"}


def test_a_document_that_is_only_linked_to_keeps_what_is_said_of_it(gates: Gates, project: Path) -> None:
    write(project, {"README.md": "[there](notes.md#gone)\n", "notes.md": "# Here\n"})
    gates("init")
    (project / "notes.md").write_bytes(b"# H\xfcr\n")
    done = gates("check", "--update")
    assert "baselines/docs.json keeps 1 entry" in done.stdout
    write(project, {"notes.md": "# Here\n"})
    assert gates("check", "--strict").returncode == 0


def test_no_waiver_is_called_idle_that_may_cover_what_cannot_be_read(gates: Gates, project: Path) -> None:
    settings = waiver("LAY003", "app/heavy.py", "2999-01-01") + FILES["gates.toml"]
    write(project, {"gates.toml": settings, "app/heavy.py": "def (\n"})
    done = gates("check", "--strict", "--format", "json")
    assert [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == ["SRC002"]


def test_against_a_base_what_cannot_be_read_is_neither_gone_nor_moved(gates: Gates, indebted: Path) -> None:
    break_syntax(indebted / "app/heavy.py")
    write(indebted, {"app/other.py": "import torch\n"})
    done = gates("check", "--base", "HEAD", "--format", "json")
    report = json.loads(done.stdout)
    assert [finding["rule"] for finding in report["findings"]] == ["SRC002", "LAY003"]
    assert ["gone nor as moved" in note for note in report["notes"]] == [True]


def test_what_the_base_could_not_read_either_holds_nothing_up(gates: Gates, project: Path) -> None:
    write(project, {**DEBT, "app/broken.py": "def (\n"})
    commit(project, "broken from the start")
    write(project, {"app/core.py": FILES["app/core.py"]})
    done = gates("check", "--base", "HEAD", "--format", "json")
    assert done.returncode == 0
    assert ["is gone" in note for note in json.loads(done.stdout)["notes"]] == [True]
