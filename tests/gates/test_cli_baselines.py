"""Baselines and waivers through the real command: what is accepted, and what may change that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sample_project import SETTINGS, UPWARD, Gates, break_layers, commit, rules_of, waiver, write


@pytest.fixture
def indebted(gates: Gates, project: Path) -> Path:
    """The project with one accepted violation."""
    break_layers(project)
    assert gates("init").returncode == 0
    commit(project, "debt")
    return project


def test_accepted_findings_do_not_fail_and_survive_line_moves(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": '"""Doc."""\n\n\n' + UPWARD})

    assert gates("check").returncode == 0


def test_a_second_site_of_the_same_kind_fails(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": UPWARD + "\n\ndef again():\n    import app.cli\n"})

    assert gates("check").returncode == 1


def test_swapping_one_violation_for_another_fails(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": "import torch\n\n\ndef run():\n    return torch\n"})

    assert rules_of(gates("check", "--format", "json")) == ["LAY003"]


def test_an_update_locks_in_what_was_fixed_and_refuses_growth(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": "def run():\n    return 1\n"})
    assert "--update" in gates("check").stdout
    assert gates("check", "--strict").returncode == 1

    assert gates("check", "--update").returncode == 0
    assert gates("check", "--strict").returncode == 0

    break_layers(indebted)
    before = (indebted / "baselines/layering.json").read_bytes()
    assert gates("check", "--update").returncode == 1
    assert (indebted / "baselines/layering.json").read_bytes() == before


def test_a_waiver_covers_until_its_date(gates: Gates, project: Path) -> None:
    break_layers(project)
    write(project, {"gates.toml": waiver("LAY001", "app/**", "2999-01-01") + SETTINGS})
    assert gates("check").returncode == 0

    write(project, {"gates.toml": waiver("LAY001", "app/**", "2020-01-01") + SETTINGS})
    assert rules_of(gates("check", "--format", "json")) == ["LAY001", "BAS001"]


def test_verify_sees_a_baseline_that_grew(gates: Gates, project: Path) -> None:
    assert gates("init").returncode == 0
    commit(project, "clean baselines")
    break_layers(project)
    (project / "baselines/layering.json").unlink()
    assert gates("init").returncode == 0

    assert gates("check").returncode == 0
    done = gates("baseline", "verify", "--base", "HEAD")
    assert done.returncode == 1
    assert "BAS004" in done.stdout

    write(project, {"gates.toml": waiver("LAY001", "app/**", "2999-01-01") + SETTINGS})
    assert gates("baseline", "verify", "--base", "HEAD").returncode == 0


def test_verify_follows_a_renamed_folder(gates: Gates, project: Path) -> None:
    assert gates("init").returncode == 0
    commit(project, "clean baselines")
    break_layers(project)
    write(project, {"gates.toml": 'baselines = "accepted"\n' + SETTINGS})
    assert gates("init").returncode == 0

    assert gates("check").returncode == 0
    assert gates("baseline", "verify", "--base", "HEAD").returncode == 1


def test_verify_of_a_first_baseline_passes(gates: Gates, indebted: Path) -> None:
    assert gates("baseline", "verify", "--base", "HEAD~1").returncode == 0


def test_diff_shows_what_changed_since_the_commit(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": "def run():\n    return 1\n"})
    assert gates("baseline", "refresh").returncode == 0

    assert "1 removed" in gates("baseline", "diff").stdout


def test_git_merges_baselines_through_the_driver(gates: Gates, indebted: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        subprocess.run(("git", *identity, *arguments), cwd=indebted, check=True, capture_output=True)

    git("config", "merge.gates-baseline.driver", f"{sys.executable} -m gates baseline merge %O %A %B %P")
    write(indebted, {".gitattributes": "baselines/*.json merge=gates-baseline\n"})
    git("add", "-A")
    git("commit", "-qm", "attributes")
    git("checkout", "-qb", "other")
    write(indebted, {"app/core.py": "def run():\n    return 1\n"})
    assert gates("check", "--update").returncode == 0
    commit(indebted, "fixed")
    git("checkout", "-q", "main")
    write(indebted, {"README.md": "# App\n\n[gone](gone.md)\n"})
    (indebted / "baselines/docs.json").unlink()
    assert gates("init").returncode == 0
    commit(indebted, "more debt elsewhere")
    git("merge", "-q", "other")

    assert gates("check", "--strict").returncode == 0
