"""`gates routes` as its users run it: verdicts, lists, snapshots, and settings that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sample_project import commit, write

from gates.cli import cli

HOUSE = Path(__file__).parents[2]
PLAN = HOUSE / "baselines" / "routes" / "plan.json"

SETTINGS = """
[[routes.tables]]
name = "attention"
symbol = "app.routes.ROUTES"
stage = "stage"
executors = ["app.kernels.KERNELS"]
vocabularies = { codecs = "app.codecs.CODECS" }
operators = ["v::{binding}"]
format = "codec"
conditions = [
    { field = "stage", test = "one-of", wildcard = "any" },
    { field = "codecs", test = "one-of", axis = "codec" },
    { field = "alignment", test = "multiple-of", axis = "rows" },
]

[routes.tables.matrix]
stage = ["decode"]
codec = ["fp16", "bf16"]
rows = [16, 17]
"""
FILES = {
    "gates.toml": SETTINGS,
    "app/codecs.py": "CODECS = ('fp16', 'bf16')\n",
    "app/routes.py": """from dataclasses import dataclass

@dataclass(frozen=True)
class Route:
    name: str
    stage: str
    codecs: tuple = ()
    alignment: int = 1
    binding: str | None = None

ROUTES = (
    Route("flash", "decode", ("fp16",), 16, "decode"),
    Route("reference", "any"),
)
""",
    "app/kernels.py": """import torch

HAS_DECODE = hasattr(torch.ops.v, "decode")


@torch.library.register_fake("v::decode")
def _(q):
    return q


def flash(q):
    if HAS_DECODE:
        return torch.ops.v.decode(q)


KERNELS = {"flash": flash, "reference": print}
""",
    "csrc/ops.cpp": 'TORCH_LIBRARY(v, m) {\n  m.def("decode(Tensor q) -> Tensor", &decode);\n}\n',
}


def run(root: Path, *arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["routes", *arguments, "--root", str(root)], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def lists(root: Path, *arguments: str) -> Any:
    return json.loads(run(root, *arguments, "--format", "json").stdout)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    return tmp_path


def test_a_sound_tree_is_clean(tree: Path) -> None:
    assert lists(tree)["findings"] == []


def test_a_finding_says_what_where_and_what_to_do(tree: Path) -> None:
    write(tree, {"app/kernels.py": FILES["app/kernels.py"].replace('{"flash"', '{"flsh"')})
    findings = lists(tree)["findings"]

    assert [(row["rule"], row["path"], row["message"], row["hint"]) for row in findings] == [
        (
            "RTE004",
            "app/kernels.py",
            "`KERNELS` runs the route `flsh`, which attention does not declare",
            "Did you mean `flash`?",
        ),
        (
            "RTE005",
            "app/routes.py",
            "nothing runs the route `flash` of attention",
            "Connect it, delete it, or declare that it is not built yet.",
        ),
    ]


def test_the_inventory(tree: Path) -> None:
    found = lists(tree, "--inventory")

    assert [(row["name"], row["line"], row["operators"]) for row in found["routes"]] == [
        ("flash", 12, ["v::decode"]),
        ("reference", 13, []),
    ]
    assert found["routes"][0]["parameters"]["codecs"] == ["fp16"]
    assert found["operators"] == [
        {
            "operator": "v::decode",
            "schema": "decode(Tensor q) -> Tensor",
            "language": "c++",
            "path": "csrc/ops.cpp",
            "line": 2,
            "fake": True,
            "probe": True,
            "implementations": [{"key": "", "function": "decode", "path": "csrc/ops.cpp", "line": 2}],
        }
    ]
    assert found["call_sites"] == [
        {
            "operator": "v::decode",
            "path": "app/kernels.py",
            "line": 13,
            "column": 16,
            "symbol": "flash",
            "conditions": ["HAS_DECODE"],
            "arguments": ["q"],
        }
    ]


def test_the_inventory_for_people(tree: Path) -> None:
    shown = run(tree, "--inventory").stdout

    parameters = 'name="flash", stage="decode", codecs=["fp16"], alignment=16, binding="decode"'
    assert f"| `attention` | `flash` | `decode` | `{parameters}` | `v::decode` | `app/routes.py:12` |" in shown
    assert "| `v::decode` | `q` | `HAS_DECODE` | `flash` | `app/kernels.py:13` |" in shown
    assert run(tree, "--inventory", "--format", "markdown").stdout == shown


def test_the_inventory_of_a_revision(tree: Path) -> None:
    commit(tree, "first", init=True)
    write(tree, {"app/routes.py": FILES["app/routes.py"].replace('"flash"', '"rapid"')})

    assert [row["name"] for row in lists(tree, "--inventory", "--ref", "HEAD")["routes"]] == ["flash", "reference"]
    assert [row["name"] for row in lists(tree, "--inventory")["routes"]] == ["rapid", "reference"]


def test_a_revision_that_lacks_a_table_lists_the_others(tree: Path) -> None:
    (tree / "app/routes.py").rename(tree / "app/later.py")
    commit(tree, "first", init=True)
    (tree / "app/later.py").rename(tree / "app/routes.py")

    assert lists(tree, "--inventory", "--ref", "HEAD")["routes"] == []


def test_what_cannot_be_read_is_listed_and_has_no_matrix(tree: Path) -> None:
    write(
        tree, {"app/routes.py": FILES["app/routes.py"].replace('("fp16",), 16', "CODECS(), 16"), "app/odd.py": "def ("}
    )

    unread = lists(tree, "--inventory")["unread"]

    assert [(row["path"], row["line"]) for row in unread] == [("app/routes.py", 12), ("app/odd.py", 1)]
    assert "`CODECS()`" in unread[0]["message"]
    assert "| `app/odd.py:1` |" in run(tree, "--inventory").stdout
    with pytest.raises(Exception, match=r"app/routes\.py:12: .*there is no plan of what is unread"):
        run(tree, "--matrix")


def test_the_matrix(tree: Path) -> None:
    (table,) = lists(tree, "--matrix")

    assert [(row["route"], row["takes"]["codec"], row["takes"]["rows"], row["chosen"]) for row in table["rows"]] == [
        ("flash", ["fp16"], ["16"], 1),
        ("reference", ["fp16"], ["16", "17"], 3),
        ("reference", ["bf16"], ["16", "17"], 3),
    ]
    assert "| `flash` | `decode` | `fp16` | `16` |  | `1` |" in run(tree, "--matrix").stdout


def test_a_snapshot_is_frozen_compared_and_changed_as_announced(tree: Path) -> None:
    plan, expected = tree / "plans" / "plan.json", tree / "expected.json"
    assert run(tree, "snapshot", "--output", str(plan)).return_value == 0
    assert run(tree, "snapshot", "--check", str(plan)).return_value == 0

    write(tree, {"app/routes.py": FILES["app/routes.py"].replace('("fp16",), 16', '("fp16",), 17')})
    changed = run(tree, "snapshot", "--check", str(plan))

    assert changed.return_value == 1
    assert changed.stdout.splitlines() == [
        "attention: stage=decode codec=fp16 rows=16: flash -> reference [refused: flash (alignment)]",
        "attention: stage=decode codec=fp16 rows=17: reference [refused: flash (alignment)] -> flash",
        "static plan: 2 changes that nobody announced, 0 announced in vain",
    ]

    announced = [
        {"table": "attention", "where": {"codec": "fp16", "rows": 16}, "was": "flash", "now": "reference"},
        {"table": "attention", "where": {"rows": 17}, "was": "reference", "now": "flash"},
    ]
    expected.write_text(json.dumps(announced))
    assert run(tree, "snapshot", "--check", str(plan), "--expected-changes", str(expected)).return_value == 0
    expected.write_text(json.dumps([*announced, {"table": "attention", "where": {}, "was": "flash", "now": None}]))
    assert run(tree, "snapshot", "--check", str(plan), "--expected-changes", str(expected)).return_value == 1


def test_the_snapshot_of_a_revision(tree: Path) -> None:
    commit(tree, "first", init=True)
    run(tree, "snapshot", "--output", str(tree / "plan.json"))
    write(tree, {"app/routes.py": FILES["app/routes.py"].replace('("fp16",), 16', '("fp16",), 17')})

    assert run(tree, "snapshot", "--check", str(tree / "plan.json"), "--ref", "HEAD").return_value == 0


def test_the_committed_plan_of_this_repository_is_the_plan_of_its_declarations() -> None:
    """Where a change to the plan is meant: `gates routes snapshot --output baselines/routes/plan.json`."""
    done = run(HOUSE, "snapshot", "--check", str(PLAN))

    assert done.return_value == 0, done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("app.routes.ROUTES", "app.routes.ROUTE"),
            "tables[0].symbol: there is no 'app.routes.ROUTE'; did you mean `app.routes.ROUTES`?",
        ),
        (("app.routes.ROUTES", "app.route.ROUTES"), "tables[0].symbol: there is no 'app.route.ROUTES'"),
        (("app.codecs.CODECS", "app.codecs.CODEC"), "tables[0].vocabularies.codecs: there is no 'app.codecs.CODEC'"),
        (("app.kernels.KERNELS", "app.kernels.KERNEL"), "tables[0].executors[0]: there is no 'app.kernels.KERNEL'"),
        (
            ('field = "codecs"', 'field = "codec"'),
            "conditions[1].field: the routes have no field 'codec'; did you mean `codecs`?",
        ),
        (("{binding}", "{bindings}"), "operators[0]: the routes have no field 'bindings'; did you mean `binding`?"),
        (("v::{binding}", "{binding}"), "operators[0]: '{binding}' is no operator's name"),
        (("v::{binding}", "v::{binding"), "operators[0]: 'v::{binding' is no operator's name"),
        (("codec = [", "codecs = ["), "matrix.codecs: no condition asks for this axis; did you mean `codec`?"),
        (("rows = [16, 17]", "rows = []"), "matrix.rows: has no values"),
        (("rows = [16, 17]", "rows = [16, 16]"), "matrix.rows[1]: stands here twice"),
        (("rows = [16, 17]", "rows = [[]]"), "matrix.rows[0]: must not be empty"),
        (("rows = [16, 17]", "rows = [16, '17']"), "matrix.rows[1]: must be a whole number"),
        (("rows = [16, 17]", "rows = [true]"), "matrix.rows[0]: must be a whole number"),
        (('format = "codec"', 'format = "codecs"'), "format: the matrix has no axis 'codecs'; did you mean `codec`?"),
        (('format = "codec"', "calls = { run = -1 }"), "calls.run: a position counts from 0"),
        (('stage = "stage"', 'stage = "stages"'), "stage: the routes have no field 'stages'; did you mean `stage`?"),
        (('stage = "stage"', 'shape = "rows"'), 'record: is required by `shape = "rows"`'),
        (('stage = "stage"', 'keys = ["a"]'), 'keys: go with `shape = "mapping"`'),
        (('stage = "stage"', 'shape = "mapping"'), 'keys: are required by `shape = "mapping"`'),
        (('stage = "stage"', 'columns = ["a"]'), 'columns: go with `shape = "mapping"`'),
        (('stage = "stage"', 'shape = "rows"\nrecord = "app.routes.Rote"'), "did you mean `app.routes.Route`?"),
        (("[16, 17]", f"{[*range(60_000)]}"), "matrix: has 120,000 cells; at most 100,000 are planned"),
        (('"app.routes.ROUTES"', '"ROUTES"'), "symbol: "),
        (('"one-of"', '"one_of"'), 'test: must be "at-least" or "at-most" or "multiple-of" or "one-of" or'),
    ],
)
def test_settings_that_do_not_fit_are_one_clear_error(tree: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in SETTINGS
    write(tree, {"gates.toml": SETTINGS.replace(*change, 1)})

    with pytest.raises(Exception, match=r"gates\.toml") as caught:
        run(tree)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[routes]\n", "routes: nothing to check"),
        (SETTINGS + SETTINGS.replace("[routes.tables.matrix]", "[routes.tables.matrix]"), "another table is called"),
        ('[routes.native]\nnamespaces = ["v"]\nfiles = ["src/**"]\n', "native.files: no Python or C++ file matches"),
    ],
)
def test_settings_that_ask_for_nothing_are_one_clear_error(tree: Path, settings: str, message: str) -> None:
    write(tree, {"gates.toml": settings})

    with pytest.raises(Exception, match=r"gates\.toml") as caught:
        run(tree)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["snapshot"], "give either --output or --check"),
        (["snapshot", "--output", "a", "--expected-changes", "gates.toml"], "goes with --check"),
        (["--inventory", "--format", "sarif"], "printed as markdown or json"),
        (["--inventory", "--update"], "only lists"),
        (["--inventory", "--matrix"], "either --inventory or --matrix"),
        (["--matrix", "app"], "only lists"),
        (["snapshot", "--check", "gates.toml"], "gates.toml: not valid JSON"),
    ],
)
def test_arguments_that_make_no_sense(
    tree: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tree)
    with pytest.raises(Exception, match=message):
        run(tree, *arguments)


@pytest.mark.parametrize(("content", "rule"), [(b"ROUTES = (\n", "SRC002"), (b"ROUTES = '\xff'\n", "SRC003")])
def test_a_table_in_a_broken_file_is_no_mistake_of_the_settings(tree: Path, content: bytes, rule: str) -> None:
    (tree / "app/routes.py").write_bytes(content)

    assert {row["rule"] for row in lists(tree)["findings"]} == {rule}


def test_there_is_no_plan_of_a_table_that_cannot_be_read(tree: Path) -> None:
    write(tree, {"app/routes.py": FILES["app/routes.py"].replace('("fp16",)', "codecs()")})

    assert "RTE001" in [row["rule"] for row in lists(tree)["findings"]]
    with pytest.raises(Exception, match=r"app/routes.py:12: `codecs\(\)` calls"):
        run(tree, "snapshot", "--output", str(tree / "plan.json"))
    assert not (tree / "plan.json").exists()
