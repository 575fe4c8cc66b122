"""The command line from the outside: every exit status, and what goes with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from sample_project import SETTINGS, UPWARD, Gates, break_layers, rules_of, write

# 0, 1, 2, 3


def test_a_clean_tree_ends_with_0(gates: Gates) -> None:
    done = gates("check")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_broken_rule_ends_with_1_and_names_the_place(gates: Gates, project: Path) -> None:
    break_layers(project)

    done = gates("check")

    assert done.returncode == 1
    assert "app/core.py:1:1" in done.stdout
    assert "LAY001" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("check",), "[layering]\nlayer = 1\n", "layers"),
        (("check",), '[[layering.coupling]]\nkind = "x"\npattern = "("\n', "pattern"),
        (("check",), '[[layering.layers]]\nname = "house"\norder = ["app.cli", "app.cor"]\n', "app.core"),
        (("check",), "x = [", "gates.toml"),
        (("check",), "", "no gate is configured"),
        (("check", "--ref", "no-such-revision"), SETTINGS, "no-such-revision"),
        (("check", "app/none.py"), SETTINGS, "app/none.py"),
        (("check", "/etc/hostname"), SETTINGS, "/etc/hostname"),
        (("check", "--ref", "HEAD", "--staged"), SETTINGS, "--staged"),
        (("check", "--ref", "HEAD", "--update"), SETTINGS, "--update"),
        (("check", "--output", "jsn=x"), SETTINGS, "jsn=x"),
        (("check", "--output", "json=no/such/folder/x"), SETTINGS, "no/such/folder/x"),
        (("chekc",), SETTINGS, "chekc"),
        (("explain", "LAY01"), SETTINGS, "LAY"),
    ],
)
def test_a_mistake_ends_with_2_and_one_message(
    gates: Gates, project: Path, arguments: tuple[str, ...], settings: str, said: str
) -> None:
    write(project, {"gates.toml": settings})

    done = gates(*arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_corrupt_baseline_ends_with_2(gates: Gates, project: Path) -> None:
    write(project, {"baselines/layering.json": '{"version": 1, "entr'})

    done = gates("check")

    assert (done.returncode, "baselines/layering.json" in done.stderr) == (2, True)


def test_no_settings_anywhere_ends_with_2_and_names_init(
    gates: Gates, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = gates("check", cwd=tmp_path_factory.mktemp("empty"))

    assert (done.returncode, "gates init" in done.stderr) == (2, True)


def test_an_update_that_only_a_move_stands_against_ends_with_3(gates: Gates, project: Path) -> None:
    break_layers(project)
    assert gates("init").returncode == 0
    write(project, {"app/core/__init__.py": "", "app/core/run.py": UPWARD})
    (project / "app/core.py").unlink()
    write(project, {"README.md": "# App\n"})

    assert gates("check").returncode == 1
    assert gates("check", "--update").returncode == 3
    assert gates("check", "--accept-moves").returncode == 0
    assert gates("check").returncode == 0


# Sources


def test_a_revision_is_judged_without_touching_the_working_tree(gates: Gates, project: Path) -> None:
    break_layers(project)

    assert gates("check", "--ref", "HEAD").returncode == 0
    assert gates("check").returncode == 1
    assert (project / "app/core.py").read_text() == UPWARD


def test_settings_may_name_what_a_revision_did_not_have_yet(gates: Gates, project: Path) -> None:
    write(project, {"gates.toml": SETTINGS.replace('"app.core"', '"app.core", "app.base"'), "app/base.py": ""})

    assert gates("check", "--ref", "HEAD").returncode == 0
    assert gates("layering", "--report", "--base", "HEAD").returncode == 0
    assert gates("check").returncode == 0


def test_the_index_is_judged_as_it_would_be_committed(gates: Gates, project: Path) -> None:
    break_layers(project)
    assert gates("check", "--staged").returncode == 0

    subprocess.run(("git", "add", "-A"), cwd=project, check=True)
    write(project, {"app/core.py": ""})

    assert gates("check", "--staged").returncode == 1


def test_explicit_paths_limit_what_is_judged(gates: Gates, project: Path) -> None:
    break_layers(project)

    assert gates("check", "app/cli.py", "README.md").returncode == 0
    assert gates("check", "app").returncode == 1
    assert gates("layering", "core.py", cwd=project / "app").returncode == 1


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("app/broken.py", b"def f(:\n", "SRC002"),
        ("app/latin.py", b"x = '\xff'\n", "SRC003"),
        ("README.md", b"# \xff\n", "SRC003"),
    ],
)
def test_what_cannot_be_read_is_a_finding(gates: Gates, project: Path, name: str, content: bytes, rule: str) -> None:
    (project / name).write_bytes(content)

    done = gates("check", "--format", "json")

    assert done.returncode == 1
    assert rules_of(done) == [rule]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbfx = 1\r\n", b"x = '" + b"a" * 5_000_000 + b"'\nimport torch\n"])
def test_unusual_files_are_read(gates: Gates, project: Path, content: bytes) -> None:
    (project / "app/odd.py").write_bytes(content)

    assert gates("check").returncode == (1 if b"torch" in content else 0)


def test_git_ignored_files_are_not_judged_unless_named(gates: Gates, project: Path) -> None:
    write(project, {".gitignore": "scratch/\n", "app/scratch/x.py": "import torch\n"})

    assert gates("check").returncode == 0
    assert gates("check", "app/scratch/x.py").returncode == 1


def test_a_missing_git_is_said_and_survived(gates: Gates, project: Path) -> None:
    done = gates("check", PATH="/nonexistent")

    assert done.returncode == 0
    assert "git is not installed" in done.stdout


@pytest.mark.parametrize("flag", [(), ("--no-cache",)])
def test_a_home_that_cannot_be_written_changes_nothing(
    gates: Gates, project: Path, tmp_path_factory: pytest.TempPathFactory, flag: tuple[str, ...]
) -> None:
    blocked = tmp_path_factory.mktemp("home") / "file"
    blocked.write_text("")

    assert gates("check", *flag, XDG_CACHE_HOME=str(blocked)).returncode == 0


def test_the_nearest_settings_decide_the_root(gates: Gates, project: Path) -> None:
    assert gates("check", cwd=project / "app").returncode == 0
    assert gates("check", "--root", str(project), cwd=project.parent).returncode == 0


def test_pyproject_holds_the_same_tables_below_its_prefix(gates: Gates, project: Path) -> None:
    (project / "gates.toml").unlink()
    write(
        project,
        {
            "pyproject.toml": SETTINGS.replace("[[layering", "[[tool.gates.layering").replace(
                "[docs", "[tool.gates.docs"
            )
        },
    )
    assert gates("check").returncode == 0

    break_layers(project)
    assert gates("check").returncode == 1


# Formats


def test_several_reports_come_of_one_run(gates: Gates, project: Path) -> None:
    break_layers(project)

    done = gates("check", "--format", "json", "--output", "sarif=out.sarif", "--output", "junit=out.xml")

    report = json.loads(done.stdout)
    assert report["verdict"] == "broken"
    assert set(report["findings"][0]) >= {
        "rule", "path", "line", "column", "message", "hint", "fingerprint", "symbol",
    }  # fmt: skip
    assert json.loads((project / "out.sarif").read_text())["version"] == "2.1.0"
    assert "LAY001" in (project / "out.xml").read_text()


def test_what_reads_the_repository_gets_its_paths(gates: Gates, project: Path) -> None:
    part = project / "part"
    write(part, {"gates.toml": '[docs]\nmaintained = ["a.md"]\n', "a.md": "[x](gone.md)\n"})

    github = gates("docs", "--format", "github", "--output", "sarif=out.sarif", cwd=part)

    assert "file=part/a.md," in github.stdout
    assert '"uri": "part/a.md"' in (part / "out.sarif").read_text()
    assert json.loads(gates("docs", "--format", "json", cwd=part).stdout)["findings"][0]["path"] == "a.md"


def test_a_pipe_gets_no_control_characters(gates: Gates, project: Path) -> None:
    write(project, {"app/core.py": "from app import cli  # \x1b[31m\n"})

    assert "\x1b" not in gates("check").stdout


def test_a_shared_finding_is_told_once(gates: Gates, project: Path) -> None:
    done = gates("check", "--format", "json", "--strict")

    assert json.loads(done.stdout)["findings"] == []
    assert [gate["name"] for gate in json.loads(done.stdout)["gates"]] == ["layering", "docs"]


# The rest


@pytest.mark.parametrize("arguments", [("--help",), ("check", "--help"), ("layering", "--help"), ("docs", "--help"),
                                       ("baseline", "--help"), ("list",), ("schema",), ("completion", "bash"),
                                       ("cache", "path"), ("explain", "LAY001"), ("explain", "SRC002")])  # fmt: skip
def test_commands_that_only_inform_end_with_0(gates: Gates, arguments: tuple[str, ...]) -> None:
    done = gates(*arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_facts_are_listed_for_each_file(gates: Gates, project: Path) -> None:
    done = gates("facts", "app/cli.py", "README.md", "--json")

    python, markdown = json.loads(done.stdout)
    assert set(python) == set(markdown) == {"path", "imports", "env", "anchors", "links"}
    assert [(found["module"], found["names"]) for found in python["imports"]] == [("app", ["core"])]
    assert markdown["anchors"] == ["app"]
    assert markdown["links"] == [{"target": "app/core.py", "line": 3}]


def test_the_cache_can_be_cleared(gates: Gates) -> None:
    gates("check")

    assert "freed" in gates("cache", "clear").stdout
    assert "nothing" in gates("cache", "clear").stdout


def test_init_leaves_existing_settings_alone(gates: Gates, project: Path) -> None:
    before = (project / "gates.toml").read_bytes()

    assert gates("init").returncode == 0
    assert gates("init").returncode == 2
    assert (project / "gates.toml").read_bytes() == before


def test_init_starts_from_nothing(gates: Gates, project: Path) -> None:
    (project / "gates.toml").unlink()
    break_layers(project)

    assert gates("init").returncode == 0
    assert gates("check", "--strict").returncode == 0
