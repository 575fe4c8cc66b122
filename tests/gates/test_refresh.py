"""`gates baseline refresh`: what shrank is locked in, what grew is refused with a waiver to copy, what moved waits."""

from __future__ import annotations

import datetime
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from sample_project import FILES, SETTINGS, UPWARD, Gates, commit, waiver, write

LONG = "def f():\n" + "    x = 1\n" * 30


@pytest.fixture
def indebted(gates: Gates, project: Path) -> Path:
    """Accepted: an import upwards, one of torch, and a function of 31 lines."""
    write(project, {"gates.toml": SETTINGS + "\n[layering.shape]\nmax-function-lines = 20\n"})
    write(project, {"app/core.py": UPWARD, "app/heavy.py": "import torch\n", "app/long.py": LONG})
    assert gates("init").returncode == 0
    commit(project, "debt")
    return project


def baseline(project: Path) -> bytes:
    return (project / "baselines/layering.json").read_bytes()


def test_what_shrank_is_told_and_locked_in(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": FILES["app/core.py"], "app/long.py": LONG.replace("    x = 1\n", "", 5)})
    done = gates("baseline", "refresh")
    assert done.returncode == 0
    assert "layering: 3 entries before, 2 now" in done.stdout
    assert "- LAY001 app/core.py house: app.cli" in done.stdout
    assert "- LAY201 app/long.py f f: 31 -> 26" in done.stdout
    assert "docs: 0 entries, none changed" in done.stdout
    assert gates("check", "--strict").returncode == 0


@pytest.mark.parametrize("options", [(), ("--format", "markdown"), ("--record-waived",)])
def test_a_dry_run_says_the_same_and_writes_nothing(gates: Gates, indebted: Path, options: tuple[str, ...]) -> None:
    write(indebted, {"app/core.py": FILES["app/core.py"], "README.md": "[gone](gone.md)\n"})
    before = baseline(indebted)
    rehearsed = gates("baseline", "refresh", "--dry-run", *options)
    assert baseline(indebted) == before
    assert "nothing was written" in rehearsed.stdout

    done = gates("baseline", "refresh", *options)
    assert baseline(indebted) != before
    told = [line for line in rehearsed.stdout.splitlines() if "dry run" not in line]
    assert rehearsed.returncode == done.returncode == 1
    assert told == [line for line in done.stdout.splitlines() if line in told]


def test_what_grew_is_refused_and_the_printed_waiver_lets_it_stand_once_it_has_a_reason(
    gates: Gates, indebted: Path
) -> None:
    subprocess.run(("git", "config", "user.name", 'Ana "A" Bee'), cwd=indebted, check=True)
    write(indebted, {"app/new[1].py": "import torch\nimport torch.nn\n"})
    before = baseline(indebted)
    done = gates("baseline", "refresh")
    assert (done.returncode, baseline(indebted)) == (1, before)
    assert "! app/new[1].py:1:8 LAY003" in done.stdout

    (block,) = re.findall(r"^\[\[waivers\]\]\n(?:.+\n)+", done.stdout, re.MULTILINE)
    (printed,) = tomllib.loads(block)["waivers"]
    assert printed["owner"] == 'Ana "A" Bee'
    assert printed["expires"] > datetime.date.today()
    settings = (indebted / "gates.toml").read_text()
    write(indebted, {"gates.toml": f"{block}\n{settings}"})
    assert gates("check").returncode == 2
    write(indebted, {"gates.toml": f"{block}\n{settings}".replace('reason = ""', 'reason = "next release"')})
    assert gates("check").returncode == 0


def test_in_a_pyproject_the_waiver_stands_below_the_suites_table(gates: Gates, project: Path) -> None:
    (project / "gates.toml").unlink()
    write(project, {"pyproject.toml": '[tool.gates.docs]\nmaintained = ["README.md"]\n', "README.md": "[x](y.md)\n"})
    done = gates("baseline", "refresh")
    assert "[[tool.gates.waivers]]" in done.stdout
    assert "add to pyproject.toml" in done.stdout


def test_what_may_have_moved_is_left_to_a_person(gates: Gates, indebted: Path) -> None:
    (indebted / "app/heavy.py").rename(indebted / "app/weighty.py")
    before = baseline(indebted)
    done = gates("baseline", "refresh")
    assert (done.returncode, baseline(indebted)) == (3, before)
    assert "--accept-moves" in done.stdout
    assert "> LAY003 app/heavy.py torch-free: torch -> app/weighty.py" in done.stdout
    assert "[[waivers]]" not in done.stdout
    assert gates("check", "--accept-moves").returncode == 0
    assert gates("baseline", "refresh").returncode == 0


def test_what_has_outgrown_its_entry_is_refused_with_what_is_accepted(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/long.py": LONG + "    y = 1\n"})
    done = gates("baseline", "refresh")
    assert done.returncode == 1
    assert "the baseline accepts 31" in done.stdout


def test_what_a_waiver_covers_is_recorded_only_on_demand(gates: Gates, indebted: Path) -> None:
    settings = (indebted / "gates.toml").read_text()
    write(indebted, {"gates.toml": waiver("LAY003", "app/new.py", "2999-01-01") + settings})
    write(indebted, {"app/new.py": "import torch\n"})
    assert "none changed" in gates("baseline", "refresh").stdout
    done = gates("baseline", "refresh", "--record-waived")
    assert done.returncode == 0
    assert "+ LAY003 app/new.py torch-free: torch" in done.stdout
    write(indebted, {"gates.toml": settings})
    assert gates("check").returncode == 0


def test_waivers_that_end_are_told(gates: Gates, indebted: Path) -> None:
    soon = datetime.date.today() + datetime.timedelta(days=3)
    settings = (indebted / "gates.toml").read_text()
    write(indebted, {"README.md": "[gone](gone.md)\n"})
    write(indebted, {"gates.toml": waiver("DOC001", "README.md", soon.isoformat()) + settings})
    assert f"expires after {soon}" in gates("baseline", "refresh").stdout
    write(indebted, {"gates.toml": waiver("DOC001", "README.md", "2020-01-01") + settings})
    done = gates("baseline", "refresh")
    assert done.returncode == 1
    assert "expired after 2020-01-01" in done.stdout


def test_a_gate_without_a_baseline_is_sent_to_init_and_gets_no_empty_one(gates: Gates, indebted: Path) -> None:
    (indebted / "baselines/docs.json").unlink()
    write(indebted, {"README.md": "[gone](gone.md)\n"})
    done = gates("baseline", "refresh")
    assert done.returncode == 1
    assert "docs has no baseline: `gates init`" in done.stdout
    assert not (indebted / "baselines/docs.json").exists()
    assert gates("init").returncode == 0
    assert gates("check").returncode == 0


def test_the_markdown_goes_to_a_file_too(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": FILES["app/core.py"]})
    done = gates("baseline", "refresh", "--output", "markdown=summary.md", "--dry-run")
    assert done.returncode == 0
    text = (indebted / "summary.md").read_text()
    assert "| `layering` | 3 | 2 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "* `LAY001 app/core.py house: app.cli`" in text


def test_a_broken_baseline_is_told_and_nothing_is_written(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": FILES["app/core.py"], "baselines/docs.json": "{"})
    before = baseline(indebted)
    done = gates("baseline", "refresh")
    assert (done.returncode, done.stdout, baseline(indebted)) == (2, "", before)
    assert "docs.json" in done.stderr
