"""`--base REV`: only what a change introduces fails, with or without baselines, and through renames and moves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from sample_project import FILES, SETTINGS, UPWARD, Gates, break_layers, commit, rules_of, waiver, write

LONG = "def run():\n" + "    x = 1\n" * 30 + "    return x\n"
SHAPE = SETTINGS + "\n[layering.shape]\nmax-function-lines = 20\n"


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True)


@pytest.fixture
def indebted(project: Path) -> Path:
    """The project with one violation that was committed, and no baseline."""
    break_layers(project)
    commit(project, "debt")
    return project


def summary(gates: Gates, *arguments: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """The exit status, and how many findings of each gate are new and were there before."""
    done = gates("check", *arguments, "--format", "json")
    counts = json.loads(done.stdout)["gates"] if done.stdout else []
    return done.returncode, {gate["name"]: (gate["new"], gate["accepted"]) for gate in counts}


def test_what_was_there_passes_without_any_baseline(gates: Gates, indebted: Path) -> None:
    assert gates("check").returncode == 1
    assert summary(gates, "--base", "HEAD") == (0, {"layering": (0, 1), "docs": (0, 0)})


def test_only_what_is_new_fails(gates: Gates, indebted: Path) -> None:
    write(indebted, {"app/core.py": "import torch\n" + UPWARD})
    done = gates("check", "--base", "HEAD", "--format", "json")
    assert (done.returncode, rules_of(done)) == (1, ["LAY003"])


@pytest.mark.parametrize(("command", "rules"), [("docs", ["DOC001"]), ("layering", ["LAY001"]), ("check", None)])
def test_every_gate_takes_a_base(gates: Gates, project: Path, command: str, rules: list[str] | None) -> None:
    break_layers(project)
    write(project, {"README.md": "[gone](gone.md)\n"})
    done = gates(command, "--base", "HEAD", "--format", "json")
    assert rules_of(done) == (rules or ["DOC001", "LAY001"])


def test_what_the_base_branch_fixed_meanwhile_is_not_blamed_on_the_change(gates: Gates, indebted: Path) -> None:
    git(indebted, "checkout", "-qb", "change")
    write(indebted, {"app/extra.py": "X = 1\n"})
    commit(indebted, "something else")
    git(indebted, "checkout", "-q", "main")
    write(indebted, {"app/core.py": FILES["app/core.py"]})
    commit(indebted, "fixed on main")
    git(indebted, "checkout", "-q", "change")
    assert gates("check", "--base", "main").returncode == 0


def test_the_baseline_is_not_asked(gates: Gates, project: Path) -> None:
    break_layers(project)
    assert gates("init").returncode == 0
    assert gates("check").returncode == 0
    assert gates("check", "--base", "HEAD").returncode == 1


def test_the_index_and_a_revision_are_held_against_the_base(gates: Gates, project: Path) -> None:
    break_layers(project)
    assert gates("check", "--staged", "--base", "HEAD").returncode == 0
    git(project, "add", "-A")
    write(project, {"app/core.py": FILES["app/core.py"]})
    assert gates("check", "--base", "HEAD").returncode == 0
    assert gates("check", "--staged", "--base", "HEAD").returncode == 1

    break_layers(project)
    commit(project, "broken")
    git(project, "revert", "--no-edit", "HEAD")
    assert gates("check", "--ref", "HEAD~1", "--base", "HEAD~2").returncode == 1
    assert gates("check", "--ref", "HEAD", "--base", "HEAD~2").returncode == 0


def test_a_renamed_file_brings_its_findings_along(gates: Gates, indebted: Path) -> None:
    git(indebted, "mv", "app/core.py", "app/kernel.py")
    write(indebted, {"gates.toml": SETTINGS.replace("app.core", "app.kernel"), "README.md": "# App\n"})
    write(indebted, {"app/cli.py": "from app import kernel\n\n\ndef main():\n    kernel.run()\n"})
    assert summary(gates, "--base", "HEAD") == (0, {"layering": (0, 1), "docs": (0, 0)})
    git(indebted, "add", "-A")
    assert gates("check", "--staged", "--base", "HEAD").returncode == 0
    commit(indebted, "renamed")
    assert gates("check", "--ref", "HEAD", "--base", "HEAD~1").returncode == 0


def test_who_imports_a_renamed_module_breaks_no_new_rule(gates: Gates, indebted: Path) -> None:
    git(indebted, "mv", "app/cli.py", "app/terminal.py")
    write(indebted, {"gates.toml": SETTINGS.replace("app.cli", "app.terminal")})
    write(indebted, {"app/core.py": UPWARD.replace("cli", "terminal")})
    assert summary(gates, "--base", "HEAD") == (0, {"layering": (0, 1), "docs": (0, 0)})


def test_code_that_moved_to_another_file_is_not_new_and_the_report_says_so(gates: Gates, project: Path) -> None:
    write(project, {"gates.toml": SHAPE, "app/core.py": "A = 1\n\n\n" + LONG})
    commit(project, "long")
    write(project, {"app/core.py": "A = 1\n", "app/loop.py": LONG, "app/cli.py": "from app import loop\n"})
    done = gates("check", "--base", "HEAD")
    assert done.returncode == 0
    assert "LAY201 app/core.py run" in done.stdout
    assert "-> app/loop.py" in done.stdout


def test_what_has_grown_fails_and_says_from_what(gates: Gates, project: Path) -> None:
    write(project, {"gates.toml": SHAPE, "app/core.py": LONG})
    commit(project, "long")
    write(project, {"app/core.py": LONG.replace("    x = 1\n", "    x = 1\n    y = 1\n", 1)})
    done = gates("check", "--base", "HEAD")
    assert done.returncode == 1
    assert "before this change it was 32" in done.stdout


def test_a_rule_that_the_change_switches_on_does_not_blame_it_for_old_debt(gates: Gates, project: Path) -> None:
    write(project, {"app/core.py": LONG})
    commit(project, "long")
    write(project, {"gates.toml": SHAPE})
    assert summary(gates, "--base", "HEAD") == (0, {"layering": (0, 1), "docs": (0, 0)})


@pytest.mark.parametrize("older", ["[layering\n", "[nothing]\n", None], ids=["not TOML", "unknown table", "none"])
def test_settings_of_the_base_that_cannot_be_read_do_not_matter(gates: Gates, project: Path, older: str | None) -> None:
    break_layers(project)
    (project / "gates.toml").unlink() if older is None else write(project, {"gates.toml": older})
    commit(project, "before the gates")
    write(project, {"gates.toml": SETTINGS})
    assert gates("check", "--base", "HEAD").returncode == 0


def test_a_waiver_covers_what_a_change_introduces_and_an_expired_one_is_not_its_fault(
    gates: Gates, project: Path
) -> None:
    break_layers(project)
    write(project, {"gates.toml": waiver("LAY001", "app/**", "2999-01-01") + SETTINGS})
    assert gates("check", "--base", "HEAD").returncode == 0
    write(project, {"gates.toml": waiver("LAY001", "app/**", "2020-01-01") + SETTINGS})
    assert rules_of(gates("check", "--base", "HEAD", "--format", "json")) == ["LAY001"]
    commit(project, "expired")
    assert gates("check", "--base", "HEAD").returncode == 0


def test_paths_limit_what_is_judged_but_not_where_code_may_come_from(gates: Gates, project: Path) -> None:
    write(project, {"gates.toml": SHAPE, "app/core.py": LONG})
    commit(project, "long")
    write(project, {"app/core.py": "from app import cli\n", "app/loop.py": LONG})
    assert gates("check", "--base", "HEAD", "app/loop.py").returncode == 0
    assert gates("check", "--base", "HEAD", "app/core.py").returncode == 1


def test_a_root_that_the_base_does_not_have_is_new_altogether(gates: Gates, project: Path) -> None:
    write(project, {f"part/{path}": text for path, text in FILES.items()})
    assert gates("check", "--base", "HEAD", "--root", "part").returncode == 0
    write(project, {"part/app/core.py": UPWARD})
    assert gates("check", "--base", "HEAD", "--root", "part").returncode == 1


def test_a_gate_whose_subject_the_base_lacks_still_judges_the_change(gates: Gates, project: Path) -> None:
    config = '\n[config]\nroots = ["app.settings.Root"]\n\n[env]\nprefixes = ["APP_"]\n\n[[env.registries]]\n'
    write(project, {"gates.toml": f'{SETTINGS}{config}files = ["app/settings.py"]\nsymbol = "VARIABLES"\n'})
    write(project, {"app/settings.py": "class Root:\n    unread: int = 1\n\n\nVARIABLES = {'APP_A': 1}\n"})
    done = gates("check", "--base", "HEAD", "--format", "json")
    assert done.returncode == 1, done.stderr
    assert "CFG003" in rules_of(done)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", "nowhere"), "'nowhere' is no revision"),
        (("--base", "HEAD", "--update"), "--base asks no baseline"),
        (("--base", "HEAD", "--strict"), "--base asks no baseline"),
        (("--base", "HEAD", "--ref", "HEAD", "--staged"), "exclude each other"),
    ],
)
def test_misuse_is_told(gates: Gates, project: Path, arguments: tuple[str, ...], said: str) -> None:
    done = gates("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_history_of_its_own_is_told(gates: Gates, project: Path) -> None:
    git(project, "checkout", "-q", "--orphan", "other")
    git(project, "commit", "-qm", "unrelated")
    done = gates("check", "--base", "main")
    assert done.returncode == 2
    assert "no common ancestor" in done.stderr


def test_outside_of_git_there_is_no_base(gates: Gates, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plain")
    write(folder, FILES)
    done = gates("check", "--base", "HEAD", cwd=folder)
    assert done.returncode == 2
    assert f"{folder} is in no git repository, so it has no revisions and no index: judge" in done.stderr
