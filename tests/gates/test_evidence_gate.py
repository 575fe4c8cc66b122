"""`gates evidence` as an author, a reviewer and a workflow run it, over scratch repositories."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from evidence_project import HEAD, PROJECT, ROUTES, SETTINGS, draft, row, run, verdict
from sample_project import commit, write

from analyzers.evidence.body import COLUMNS
from gates.cli import cli

HOUSE = Path(__file__).parents[2]
MEASURED = {
    "kind": "measured-performance",
    "version": 1,
    "machine": {"device": "Tesla V100-SXM2-32GB"},
    "command": "make bench",
    "runs": 1,
    "figures": {"decode": {"unit": "ms", "values": [1.9]}},
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path, PROJECT)
    commit(tmp_path, "first", init=True)
    return tmp_path


def artifact(root: Path, document: object, path: str = "perf/run.json") -> str:
    """Write an artifact; how a row names it."""
    text = json.dumps(document)
    write(root, {path: text})
    return f"`{path}@sha256:{sha256(text.encode()).hexdigest()}`"


def shown(root: Path, path: str) -> str:
    """A row with a measurement."""
    return row(f"`{path}`", "measured performance", artifact(root, MEASURED), "Tesla V100-SXM2-32GB")


EDITS = {
    "attention/flash": {"app/routes.py": ROUTES.replace('("fp16",), 16', '("fp16",), 8')},
    "attention/verify": {
        "app/routes.py": ROUTES.replace("    Route(", '    Route("verify", "verify"),\n    Route(', 1)
    },
    "attention/reference": {"app/routes.py": ROUTES.replace('"any"', '"any", ("fp16",)')},
    "size": {"app/config.py": PROJECT["app/config.py"].replace("16", "32")},
    "depth": {"app/config.py": PROJECT["app/config.py"] + "    depth: int = 1\n"},
    "X_PORT": {"app/envs.py": PROJECT["app/envs.py"].replace("'80'", "'81'")},
    "X_HOST": {"app/engine.py": "import os\n\nos.getenv('X_HOST')\n"},
    "baselines/docs.json": {"baselines/docs.json": '{"version": 2}\n'},
    "app/kernels/decode.cu": {"app/kernels/decode.cu": "// 2\n"},
    "app/kernels/new.cu": {"app/kernels/new.cu": "// 1\n"},
    "app/kernels/a new.cu": {"app/kernels/a new.cu": "// 1\n"},
}


@pytest.mark.parametrize("name", EDITS)
def test_a_change_that_no_row_names_fails_and_one_that_is_named_passes(repository: Path, name: str) -> None:
    write(repository, EDITS[name])

    assert verdict(repository, HEAD + row("`app/engine.py`")) == ["EVD003"]
    assert verdict(repository, HEAD + (shown(repository, name) if "kernels" in name else row(f"`{name}`"))) == []


@pytest.mark.parametrize("name", ["attention/flash", "size", "X_PORT", "app/kernels/decode.cu"])
def test_what_is_removed_must_be_named_too(repository: Path, name: str) -> None:
    gone = {
        "attention/flash": lambda text: text.replace('    Route("flash", "decode", ("fp16",), 16, "reference"),\n', ""),
        "size": lambda text: text.replace("size: int = 16", "pass"),
        "X_PORT": lambda text: "R = {}\n",
    }
    path = {"attention/flash": "app/routes.py", "size": "app/config.py", "X_PORT": "app/envs.py"}.get(name, name)
    if name in gone:
        write(repository, {path: gone[name](PROJECT[path])})
    else:
        write(repository, {"app/kernels/other.cu": ""})
        (repository / path).unlink()

    assert "EVD003" in verdict(repository, HEAD + row("app/kernels/other.cu, attention/reference"))
    rest = row(f"{name}, attention/reference") + shown(repository, "app/kernels/other.cu")
    assert verdict(repository, HEAD + rest) == []


def test_to_take_a_table_out_of_the_settings_hides_no_change(repository: Path) -> None:
    write(repository, {"gates.toml": "[evidence]\n"})

    found = run(repository, "--body", "-", "--format", "json", text=HEAD + row("`gates.toml`"))
    messages = [finding["message"] for finding in json.loads(found.stdout)["findings"]]

    assert [message.split(" has ")[0] for message in messages] == [
        "the setting size",
        "the variable X_PORT",
        "the route attention/flash",
        "the route attention/reference",
    ]


def test_to_call_files_excluded_or_no_kernels_hides_no_change(repository: Path) -> None:
    write(repository, {**EDITS["app/kernels/decode.cu"], "gates.toml": 'exclude = ["app/kernels"]\n'})

    named = "attention/flash, attention/reference, size, X_PORT"

    assert verdict(repository, HEAD + row(named)) == ["EVD003"]
    assert verdict(repository, HEAD + row(named) + shown(repository, "app/kernels")) == []


def test_a_first_table_of_the_settings_changes_nothing_by_itself(repository: Path) -> None:
    write(repository, {"gates.toml": "[evidence]\n"})
    commit(repository, "without tables")
    write(repository, {"gates.toml": SETTINGS})

    assert verdict(repository, HEAD + row("`gates.toml`")) == []


def test_a_wording_and_a_moved_line_are_no_change(repository: Path) -> None:
    write(repository, {"app/config.py": '"""Doc."""\n\n' + PROJECT["app/config.py"], "app/routes.py": f"# 1\n{ROUTES}"})

    assert verdict(repository, HEAD + row("`app/config.py`")) == []


@pytest.mark.parametrize("names", [[name] for name in EDITS] + [list(EDITS), ["README.md"], ["app/engine.py"], []])
def test_a_draft_fails_only_for_what_a_person_must_fill_in(repository: Path, names: list[str]) -> None:
    measured = artifact(repository, MEASURED)
    commit(repository, "measured")
    for name in names:
        write(repository, EDITS.get(name, {name: "x = 2\n"}))
    drafted = draft(repository)

    assert set(verdict(repository, drafted)) <= {"EVD002"}

    filled = re.sub(r"TODO: static plan[^|]*", "measured performance ", drafted)
    filled = filled.replace("TODO: path@sha256:DIGEST", measured)
    filled = filled.replace("TODO: shape, TP and EP, graph, device", "V100")
    assert verdict(repository, re.sub(r"TODO[^|]*", "said ", filled)) == []


def test_a_draft_says_what_the_source_knows(repository: Path) -> None:
    write(repository, EDITS["attention/flash"])
    snapshot = repository / "baselines/routes/plan.json"
    snapshot.parent.mkdir()
    arguments = ["routes", "snapshot", "--root", str(repository), "--output", str(snapshot)]
    assert CliRunner().invoke(cli, arguments, standalone_mode=False).return_value == 0
    digest = sha256(snapshot.read_bytes()).hexdigest()

    assert (
        "| `attention/flash` | `fp16` | `stage: decode; alignment: 8` | `alignment: 16 -> 8`; in all 1 call of the plan"
        f"; else `reference` | static plan | `baselines/routes/plan.json@sha256:{digest}` | TODO: what was not observed"
    ) in draft(repository)

    write(repository, EDITS["attention/reference"])
    assert "plan.json@sha256" not in draft(repository)


def test_the_description_itself_is_no_change(repository: Path) -> None:
    (repository / "body.txt").write_text("## Evidence\n\nN/A: nothing\n")

    assert run(repository, "--body", str(repository / "body.txt")).return_value == 0


def test_documentation_needs_no_evidence_and_says_so(repository: Path) -> None:
    write(repository, {"README.md": "# The app\n"})

    assert draft(repository) == "## Evidence\n\nN/A: only `README.md`\n"
    assert verdict(repository, "## Evidence\n\nN/A: a title\n") == []
    assert verdict(repository, "## Evidence\n\nN/A\n") == ["EVD002"]
    assert verdict(repository, "") == ["EVD001"]


def test_code_needs_evidence_whatever_is_said(repository: Path) -> None:
    write(repository, {"README.md": "# The app\n", "app/engine.py": "def step():\n    return 2\n"})

    assert verdict(repository, "## Evidence\n\nN/A: only comments\n") == ["EVD004"]
    write(repository, {**EDITS["X_PORT"], "gates.toml": SETTINGS.replace("[evidence]", '[evidence]\nexempt = ["."]')})
    assert verdict(repository, "## Evidence\n\nN/A: all is exempt\n") == ["EVD004"]
    assert verdict(repository, HEAD + row("app, X_PORT") + "\nN/A: only comments\n") == ["EVD001"]


@pytest.mark.parametrize(
    ("evidence", "device", "conditions", "expected"),
    [
        ("measured performance", "Tesla V100-SXM2-32GB", "V100, rows 1", []),
        ("measured performance", "Tesla V100-SXM2-32GB", "sm70", []),
        ("measured performance", "cpu", "V100, rows 1", ["EVD010"]),
        ("measured performance", "cpu", "CPU, rows 1", []),
        ("measured performance", "cpu", "rows 1", ["EVD010"]),
        ("measured performance", "cpu", "rows 1, cpuset", ["EVD010"]),
        ("measured performance", "cpu", "cpu-only, rows 1", ["EVD010"]),
        ("measured performance", "NVIDIA H200", "sm70, rows 1", ["EVD010"]),
        ("measured performance", "NVIDIA H200", "NVIDIA H200", []),
        ("observed dispatch", "Tesla V100-SXM2-32GB", "V100", ["EVD009"]),
        ("static plan", "Tesla V100-SXM2-32GB", "V100", ["EVD009"]),
    ],
)
def test_a_measurement_stands_for_its_own_kind_and_device(
    repository: Path, evidence: str, device: str, conditions: str, expected: list[str]
) -> None:
    named = artifact(repository, {**MEASURED, "machine": {"device": device}})

    assert verdict(repository, HEAD + row("`perf`", evidence, named, conditions)) == expected


@pytest.mark.parametrize("evidence", ["observed dispatch", "measured performance"])
@pytest.mark.parametrize("word", ["none", "None", "-", "N/A"])
def test_what_ran_needs_an_artifact_in_whatever_words_there_is_none(repository: Path, evidence: str, word: str) -> None:
    assert verdict(repository, HEAD + row("`perf`", evidence, word, "V100")) == ["EVD006"]
    assert verdict(repository, HEAD + row("`perf`", "static plan", word, "V100")) == []


@pytest.mark.parametrize(
    ("conditions", "expected"), [("V100", ["EVD010"]), ("V100, interpreters", ["EVD010"]), ("V100, interpreter", [])]
)
def test_an_interpreter_is_called_one(repository: Path, conditions: str, expected: list[str]) -> None:
    named = artifact(
        repository,
        {
            "kind": "observed-dispatch",
            "version": 1,
            "machine": {"device": "Tesla V100", "interpreted": True},
            "operators": [{"name": "v100::decode"}],
        },
    )

    assert verdict(repository, HEAD + row("`perf`", "observed dispatch", named, conditions)) == expected


def test_a_plan_alone_shows_no_kernel(repository: Path) -> None:
    write(repository, EDITS["app/kernels/decode.cu"])
    plan = row("app/kernels")

    assert verdict(repository, HEAD + plan) == ["EVD009"]
    assert verdict(repository, HEAD + plan + shown(repository, "app/kernels/decode.cu")) == []


def test_of_a_kernel_that_is_gone_nothing_can_be_shown(repository: Path) -> None:
    write(repository, {"app/kernels/other.cu": ""})
    commit(repository, "another one")
    (repository / "app/kernels/decode.cu").unlink()

    assert verdict(repository, HEAD + row("app/kernels/decode.cu")) == []


def test_a_draft_names_every_kernel(repository: Path) -> None:
    write(repository, {f"app/kernels/{number}.cu": "// 1\n" for number in range(20)})

    assert set(verdict(repository, draft(repository))) == {"EVD002"}


def test_every_artifact_of_a_row_is_looked_at(repository: Path) -> None:
    before, after = artifact(repository, MEASURED), artifact(repository, {"kind": "no"}, "perf/after.json")

    assert verdict(repository, HEAD + row("`perf`", "measured performance", f"{before}, {after}", "V100")) == ["EVD008"]


@pytest.mark.parametrize("path", ["perf/gone.json", "../secret.json", "/etc/passwd", "perf", ".git/config"])
def test_only_files_of_the_tree_are_artifacts(repository: Path, path: str) -> None:
    named = f"`{path}@sha256:{'0' * 64}`"

    assert verdict(repository, HEAD + row("`perf`", "measured performance", named, "V100")) == ["EVD007"]


def test_what_cannot_be_read_is_left_to_a_person(repository: Path) -> None:
    write(repository, {"app/routes.py": f"{ROUTES}ROUTES += tuple(more())\n"})

    done = run(repository, "--body", "-", text=HEAD + row("`attention/flash`, `attention/reference`"))

    assert done.return_value == 3, done.stdout
    assert "a person must decide whether this changed" in done.stdout


def test_a_finding_stands_where_its_subject_does(repository: Path) -> None:
    write(repository, EDITS["size"])
    claim = row("`app/engine.py`", "tests pass")
    (repository / "body.md").write_text(HEAD + claim)

    done = run(repository, "--body", str(repository / "body.md"), "--format", "github")

    assert [line.split(",title")[0] for line in done.stdout.splitlines() if line.startswith("::error")] == [
        "::error file=app/config.py,line=6",
        f"::error file=body.md,line=5,col={claim.index('tests pass') + 1}",
    ]


def test_a_finding_about_what_is_gone_shows_no_line_that_is_another_now(repository: Path) -> None:
    write(repository, {"app/envs.py": "R = {}\n\n# what stands here now\n"})

    done = run(repository, "--body", "-", "--format", "json", text=HEAD + row("app/envs.py"))

    assert [(found["path"], found["line"]) for found in json.loads(done.stdout)["findings"]] == [("app/envs.py", 0)]


@pytest.mark.parametrize("format_", ["terminal", "json", "sarif", "github", "junit", "markdown"])
def test_every_format_reports_it(repository: Path, format_: str, tmp_path: Path) -> None:
    write(repository, EDITS["X_PORT"])
    file = tmp_path / "report"

    done = run(repository, "--body", "-", "--output", f"{format_}={file}", text=HEAD + row("`app`", "plan"))

    assert done.return_value == 1
    assert "EVD005" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --body or --draft"),
        (["--body", "-", "--draft"], "either --body or --draft"),
        (["--draft", "--format", "json"], "nothing else"),
        (["--body", "gone.md"], "gone.md: the description cannot be read: "),
        (["--body", "."], ".: the description cannot be read: "),
        (["--body", "a\0b"], "the description cannot be read: "),
        (["--draft", "--base", "gone"], "'gone' is no revision"),
    ],
)
def test_a_mistake_is_one_sentence(repository: Path, arguments: list[str], message: str) -> None:
    done = run(repository, *arguments)

    assert done.exception is not None
    assert message in str(done.exception.message if hasattr(done.exception, "message") else done.exception)


def test_a_description_that_is_no_utf8_is_named_with_its_line(repository: Path) -> None:
    (repository / "body.md").write_bytes(b"# A\n\xff\n")

    done = run(repository, "--body", str(repository / "body.md"))

    assert re.search(r"body\.md:2: not UTF-8", str(done.exception))


def test_kernels_that_are_nowhere_are_a_mistake(repository: Path) -> None:
    write(repository, {"gates.toml": SETTINGS.replace('"app/kernels"', '"app/kernel"')})

    expected = "evidence.kernels[0]: app/kernel: no file matches"
    for arguments in (("evidence", "--base", "HEAD", "--draft"), ("check",), ("check", "--base", "HEAD"), ("docs",)):
        done = CliRunner().invoke(cli, [*arguments, "--root", str(repository)], standalone_mode=False)
        assert expected in str(done.exception)


def test_the_template_of_this_repository_is_a_table_to_fill_in(repository: Path) -> None:
    write(repository, {"app/engine.py": "def step():\n    return 2\n"})
    template = (HOUSE / ".github/PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")

    assert verdict(repository, template) == ["EVD002"] * len(COLUMNS)


def test_the_workflow_hands_the_description_over_in_a_file() -> None:
    workflow = (HOUSE / ".github/workflows/evidence.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"run: (?:>-\n\s+)?(.*)", workflow)

    assert any(script.startswith("gates evidence") for script in scripts)
    assert not any("${{" in script for script in scripts)
    assert "pull_request_target" not in workflow
