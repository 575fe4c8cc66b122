"""The reference gate as a user meets it: its page, its facts, and each way in which the two may part."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner, Result
from sample_project import commit, write

from analyzers.errors import UserError
from gates.cli import cli

SETTINGS = """[config]
roots = ["app.config.Root"]

[reference]
page = "docs/page.md"
title = "App"

[[reference.sections]]
heading = "Owners"
kind = "configuration"

[[reference.sections]]
heading = "Codecs"
symbol = "app.formats.CODECS"
fields = ["name", "bits"]
omitted = ["note"]
guide = "README.md"
"""
OPTIONAL = '\n[[reference.sections]]\nheading = "MoE"\nsymbol = "app.moe.STAGES"\noptional = true\n'
CONFIG = """from dataclasses import dataclass, field


@dataclass
class Cache:
    size: int | None = field(default=None, metadata={"help": "in blocks"})


@dataclass
class Root:
    cache: Cache = field(default_factory=Cache)
"""
FORMATS = """from typing import NamedTuple


class Codec(NamedTuple):
    name: str
    bits: int = 16
    note: str = ""


WIDE = Codec("fp32", bits=32)

CODECS = (
    Codec("fp16"),
    WIDE,
)
"""
FILES = {
    "gates.toml": SETTINGS,
    "README.md": "# App\n",
    "app/__init__.py": "",
    "app/config.py": CONFIG,
    "app/formats.py": FORMATS,
    "app/use.py": "def use(root):\n    return root.cache.size\n",
}
PAGE = "docs/page.md"
LINK = re.compile(r"\| `([^`]+)` \|.*\]\(([^)#]+)#L(\d+)\) \|$")


def gates(root: Path, *arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["reference", "--no-cache", *arguments, "--root", str(root)], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


def found(root: Path, *arguments: str) -> list[tuple[str, str, int]]:
    done = gates(root, "--format", "json", *arguments)
    findings = json.loads(done.stdout)["findings"]
    assert done.return_value == (1 if findings else 0)
    return [(f["rule"], f["path"], f["line"]) for f in findings]


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree whose page is up to date."""
    write(tmp_path, FILES)
    assert gates(tmp_path, "--write").return_value == 0
    return tmp_path


def test_writing_changes_the_page_alone_and_checking_nothing(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before = contents(tmp_path)
    assert found(tmp_path) == found(tmp_path, "--check") == [("REF001", PAGE, 0)]
    assert contents(tmp_path) == before
    gates(tmp_path, "--write")
    written = contents(tmp_path)
    assert written.pop(PAGE)
    assert written == before
    assert found(tmp_path) == []


def test_the_page_is_the_same_each_time(tree: Path) -> None:
    first = (tree / PAGE).read_bytes()
    (tree / PAGE).unlink()
    gates(tree, "--write")
    assert (tree / PAGE).read_bytes() == first


def test_every_row_leads_to_the_line_that_declares_it(tree: Path) -> None:
    rows = [match for match in map(LINK.match, (tree / PAGE).read_text().splitlines()) if match]
    assert [name for name, *_ in map(re.Match.groups, rows)] == ["cache", "size", "fp16", "fp32"]
    for name, target, line in map(re.Match.groups, rows):
        source = (tree / "docs" / unquote(target)).read_text().splitlines()
        assert name in source[int(line) - 1]


def test_a_changed_value_makes_the_page_stale_at_its_row(tree: Path) -> None:
    row = next(
        n for n, line in enumerate((tree / PAGE).read_text().splitlines(), start=1) if line.startswith("| `fp32")
    )
    write(tree, {"app/formats.py": FORMATS.replace("bits=32", "bits=64")})
    assert found(tree) == [("REF001", PAGE, row)]


def test_moved_lines_make_it_stale_too(tree: Path) -> None:
    write(tree, {"app/formats.py": "# moved\n" + FORMATS})
    assert [rule for rule, *_ in found(tree)] == ["REF001"]


def test_links_to_a_file_that_moved_are_one_finding(tree: Path) -> None:
    (tree / "app/formats.py").rename(tree / "app/codecs.py")
    write(tree, {"gates.toml": SETTINGS.replace("app.formats", "app.codecs")})
    assert sorted(rule for rule, *_ in found(tree)) == ["REF001", "REF002"]


@pytest.mark.parametrize(
    ("path", "was", "becomes", "expected"),
    [
        ("app/formats.py", "CODECS =", "FORMATS =", ("REF004", "gates.toml", 14)),
        ("app/formats.py", "    note", "    unit: str = ''\n    note", ("REF003", "app/formats.py", 13)),
        ("app/formats.py", "bits", "width", ("REF003", "app/formats.py", 12)),
        ("app/formats.py", '"fp16"', '"fp16", colour=1', ("REF003", "app/formats.py", 13)),
        ("app/formats.py", '"fp16"', "name()", ("REF005", "app/formats.py", 13)),
        ("app/formats.py", "CODECS = (", "CODECS = found(", ("REF005", "app/formats.py", 12)),
        ("gates.toml", '"README.md"', '"docs/gone.md"', ("REF002", PAGE, 25)),
        ("app/formats.py", "class Codec", "class (Codec", ("SRC002", "app/formats.py", 4)),
        ("app/config.py", "class Cache", "class (Cache", ("SRC002", "app/config.py", 5)),
    ],
)
def test_what_parts_source_and_page_is_told_once_and_in_its_place(
    tree: Path, path: str, was: str, becomes: str, expected: tuple[str, str, int]
) -> None:
    write(tree, {path: FILES[path].replace(was, becomes)})
    if expected[0] == "REF002":
        gates(tree, "--write")
    assert set(found(tree)) == {expected}


def test_a_default_that_cannot_be_read_is_one_finding_however_many_rows_take_it(tree: Path) -> None:
    write(tree, {"app/formats.py": re.sub(r"(note: [^=]*= ).*", r"\1note()", FORMATS)})

    assert [rule for rule, *_ in found(tree)] == ["REF005"]


def test_a_renamed_field_is_told_from_both_sides(tree: Path) -> None:
    write(tree, {"app/formats.py": FORMATS.replace("bits", "width")})
    told = json.loads(gates(tree, "--format", "json").stdout)["findings"]
    assert [finding["message"] for finding in told] == [
        "the rows of `CODECS` have the field `width`, which 'Codecs' does not mention",
        "the section 'Codecs' names the field `bits`, which no row of `CODECS` has",
    ]


@pytest.mark.parametrize(("was", "becomes"), [("CODECS =", "FORMATS ="), ("class Codec", "class (Codec")])
def test_a_page_that_would_lack_something_is_not_written(tree: Path, was: str, becomes: str) -> None:
    before = (tree / PAGE).read_bytes()
    write(tree, {"app/formats.py": FORMATS.replace(was, becomes)})
    done = gates(tree, "--write")
    assert (done.return_value, (tree / PAGE).read_bytes()) == (1, before)
    assert f"{PAGE}: not written" in done.stderr


def test_only_an_optional_table_may_be_missing_and_only_aloud(tree: Path) -> None:
    write(tree, {"gates.toml": SETTINGS + OPTIONAL.replace("optional = true", "")})
    assert [rule for rule, *_ in found(tree)] == ["REF004"]
    write(tree, {"gates.toml": SETTINGS + OPTIONAL})
    gates(tree, "--write")
    assert "None declared yet: the source has no `app.moe.STAGES`." in (tree / PAGE).read_text()
    write(tree, {"app/moe.py": "STAGES = ()\n"})
    assert [rule for rule, *_ in found(tree)] == ["REF001"]


def test_the_facts_are_those_of_the_page(tree: Path) -> None:
    done = gates(tree, "--json")
    told = json.loads(done.stdout)
    owners, codecs = told["sections"]
    assert done.return_value == 0
    assert (told["version"], told["page"], told["title"], told["problems"]) == (1, PAGE, "App", [])
    assert "declarations" in told["evidence"]
    assert [(block["name"], block["owner_paths"]) for block in owners["blocks"]] == [
        ("Root", ["Root"]),
        ("Cache", ["cache"]),
    ]
    assert owners["blocks"][1]["rows"] == [
        {
            "path": "app/config.py",
            "line": 6,
            "fields": {
                "setting": "size",
                "type": "int | None",
                "default": "None",
                "variables": [],
                "description": "in blocks",
            },
        }
    ]
    assert (codecs["symbol"], codecs["guide"], codecs["declared"]) == ("app.formats.CODECS", "README.md", True)
    assert codecs["blocks"] == [
        {
            "name": None,
            "path": "app/formats.py",
            "line": 12,
            "owner_paths": [],
            "columns": ["name", "bits"],
            "rows": [
                {"path": "app/formats.py", "line": 13, "fields": {"name": "fp16", "bits": 16}},
                {"path": "app/formats.py", "line": 10, "fields": {"name": "fp32", "bits": 32}},
            ],
        }
    ]


def test_facts_that_lack_something_say_so(tree: Path) -> None:
    write(tree, {"app/formats.py": FORMATS.replace("CODECS =", "FORMATS =")})
    done = gates(tree, "--json")
    told = json.loads(done.stdout)
    assert done.return_value == 1
    assert [problem["rule"] for problem in told["problems"]] == ["REF004"]
    assert told["sections"][1]["declared"] is False


@pytest.mark.parametrize(
    ("table", "keys", "rows"),
    [
        ("('a', 'b')", 'shape = "tuples"\ncolumns = ["name"]', [{"name": "a"}, {"name": "b"}]),
        ("(('a', 1e999),)", 'shape = "tuples"\ncolumns = ["name", "most"]', [{"name": "a", "most": "inf"}]),
        (
            "{'up': {'fast': ('mma', 8)}, ('up', 'slow'): ('fma', 1)}",
            'shape = "mapping"\nkeys = ["stage", "mode"]\ncolumns = ["binding", "rows"]',
            [
                {"stage": "up", "mode": "fast", "binding": "mma", "rows": 8},
                {"stage": "up", "mode": "slow", "binding": "fma", "rows": 1},
            ],
        ),
        (
            "build((('a b', 8, {'note': 'x'}),))",
            'shape = "rows"\nrecord = "m.Codec"',
            [{"name": "a", "bits": 8, "note": "x"}, {"name": "b", "bits": 8, "note": "x"}],
        ),
        (
            "(Codec('a', frozenset({2, 1}), Codec('b')),)",
            "",
            [{"name": "a", "bits": [1, 2], "note": {"name": "b", "bits": 16, "note": ""}}],
        ),
    ],
)
def test_tables_of_other_shapes(tmp_path: Path, table: str, keys: str, rows: list[dict[str, object]]) -> None:
    section = f'[[reference.sections]]\nheading = "T"\nsymbol = "m.T"\n{keys}\n'
    record = FORMATS.partition("WIDE")[0]
    write(
        tmp_path,
        {
            "gates.toml": f'[reference]\npage = "page.md"\ntitle = "T"\n{section}',
            "m.py": f"{record}T = {table}\n",
        },
    )
    done = gates(tmp_path, "--json")
    assert done.return_value == 0, done.stdout
    shown = json.loads(done.stdout)["sections"][0]["blocks"][0]["rows"]
    assert [row["fields"] for row in shown] == rows
    gates(tmp_path, "--write")
    assert found(tmp_path) == []


def test_the_source_is_read_and_never_run(tree: Path) -> None:
    write(tree, {"app/formats.py": f"import os\nos._exit(9)\n{FORMATS}"})
    gates(tree, "--write")
    assert found(tree) == []


def test_a_revision_owes_nothing_to_the_settings_of_today(tree: Path) -> None:
    write(tree, {"app/formats.py": FORMATS.replace("CODECS", "OLD")})
    commit(tree, "before the table", init=True)
    write(tree, {"app/formats.py": FORMATS})
    assert found(tree) == []
    assert found(tree, "--ref", "HEAD") == []


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('page = "docs/page.md"', 'page = "page.py"', "reference.page: 'page.py' is no Markdown file"),
        ('page = "docs/page.md"', 'page = "../a.md"', "reference.page: the path must not lead out of the root"),
        ('page = "docs/page.md"', "", "reference.page: is required"),
        ('heading = "Codecs"', 'heading = "Owners"', "sections[1].heading: another section is called 'Owners'"),
        ('symbol = "app.formats.CODECS"', "", 'sections[1].symbol: is required by `kind = "table"`'),
        ('kind = "configuration"', 'kind = "configuration"\noptional = true', "sections[0].optional: says how a table"),
        ('omitted = ["note"]', 'omitted = ["bits"]', "sections[1].omitted[0]: the field 'bits' is named twice"),
        ('omitted = ["note"]', 'shape = "tuples"', 'sections[1].columns: are required by `shape = "tuples"`'),
        ("guide", "guides", "sections[1].guides: unknown key; did you mean `guide`?"),
        ('[config]\nroots = ["app.config.Root"]', "", "sections[0].kind: there is no configuration to show"),
        ('"app.config.Root"', '"app.config.Rot"', "config.roots[0]: there is no class 'app.config.Rot'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, was: str, becomes: str, told: str) -> None:
    write(tmp_path, {**FILES, "gates.toml": SETTINGS.replace(was, becomes)})
    with pytest.raises(UserError) as caught:
        gates(tmp_path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--check", "--write"), "exclude each other"),
        (("--json", "--strict"), "prints the whole page"),
        (("--write", "--staged"), "changes the working tree"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tree: Path, arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(Exception, match=told):
        gates(tree, *arguments)


def test_a_page_that_cannot_be_written_is_told(tree: Path) -> None:
    (tree / PAGE).unlink()
    (tree / "docs").rmdir()
    write(tree, {"docs": "a file in the way\n"})
    with pytest.raises(UserError, match=f"{PAGE}: cannot be written"):
        gates(tree, "--write")
    assert os.path.isfile(tree / "docs")
