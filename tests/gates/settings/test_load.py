"""Settings: found, read, and refused with one clear message."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from gates.settings.errors import SettingsError
from gates.settings.load import find_root, load


def refused(root: Path, text: str, name: str = "gates.toml") -> list[str]:
    """The mistakes that `load` finds, as `LINE KEY: MESSAGE`."""
    (root / name).write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(root, codes={"LAY001", "DOC001"})
    return [f"{mistake.line} {mistake}" for mistake in caught.value.mistakes]


def test_gates_toml_and_pyproject_hold_the_same_tables(tmp_path: Path) -> None:
    body = '[{}layering.shape]\nmax-file-lines = 400\n[[{}layering.forbidden]]\nname="n"\nfrom=["a"]\nto=["b"]\n'
    for folder, name, prefix in (("own", "gates.toml", ""), ("shared", "pyproject.toml", "tool.gates.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(body.format(prefix, prefix))
    own, shared = load(tmp_path / "own"), load(tmp_path / "shared")
    assert own.settings == shared.settings
    assert own.settings.layering is not None
    assert own.settings.layering.shape.max_file_lines == 400
    assert own.settings.layering.forbidden[0].from_ == ("a",)
    assert (own.prefix, shared.prefix) == ("", "tool.gates")
    assert own.file == tmp_path / "own" / "gates.toml"


def test_the_nearest_folder_with_settings_is_the_root(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    deep = inner / "pkg" / "sub"
    deep.mkdir(parents=True)
    (tmp_path / "gates.toml").write_text("")
    (inner / "pyproject.toml").write_text("[project]\nname = 'gates'\n")
    assert find_root(deep) == tmp_path
    (inner / "pyproject.toml").write_text("[tool.gates]\n")
    (deep / "module.py").write_text("")
    assert find_root(deep / "module.py") == inner


def test_no_settings_anywhere(tmp_path: Path) -> None:
    assert find_root(tmp_path) is None
    with pytest.raises(SettingsError, match=r"no settings: neither gates\.toml nor"):
        load(tmp_path)


def test_gates_toml_wins_over_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gates]\nbaselines = "theirs"\n')
    (tmp_path / "gates.toml").write_text('baselines = "ours"\n')
    assert load(tmp_path).settings.baselines == "ours"


@pytest.mark.parametrize("text", ["[tool.gates\n", "x = 1\n[tool.gates.docs]\nmaintained = [\n"])
def test_a_broken_pyproject_that_means_us_is_found_and_explained(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert find_root(tmp_path) == tmp_path
    with pytest.raises(SettingsError, match="not valid TOML"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["tool = 3 # gates\n", "gates = [\n", "[tool.gatestone]\n", "# [tool.gates]\n"])
def test_a_pyproject_that_does_not_mean_us_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "below").mkdir()
    assert find_root(tmp_path / "below") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[layring]\n", "1 layring: unknown key; did you mean `layering`?"),
        (
            "[layering.shape]\n\nmax-function-line = 3\n",
            "3 layering.shape.max-function-line: unknown key; did you mean `max-function-lines`?",
        ),
        (
            "[layering.shape]\nmax_function_lines = 3\n",
            "2 layering.shape.max_function_lines: unknown key: keys are written with hyphens; "
            "did you mean `max-function-lines`?",
        ),
        (
            '[docs.folders."my docs"]\ndialect = "mkdocs"\nzzz = 1\n',
            '3 docs.folders."my docs".zzz: unknown key; this table has dialect',
        ),
        ("exclude = 'a'\n", "1 exclude: must be a list, not the string 'a'"),
        ("docs = []\n", "1 docs: must be a table, not a list"),
        (
            "[layering.shape]\ncycles = 'yes'\n",
            "2 layering.shape.cycles: must be true or false, not the string 'yes'",
        ),
        (
            "[layering.shape]\nmax-file-lines = '40'\n",
            "2 layering.shape.max-file-lines: must be a whole number, not the string '40'",
        ),
        (
            "[layering.shape]\nmax-file-lines = 0\n",
            "2 layering.shape.max-file-lines: should be greater than 0 (it is 0)",
        ),
        (
            "[docs]\ndialect = 'githb'\n",
            '2 docs.dialect: must be "github" or "mkdocs", not \'githb\'; did you mean `github`?',
        ),
        (
            "layering.coupling = [{ kind = 'k', pattern = 'k' },\n{ kind = 'k', pattern = 'a(b' }]\n",
            "1 layering.coupling[1].pattern: the pattern does not compile: missing ) at position 3 (it is 'a(b')",
        ),
        (
            "layering.coupling = [{ kind = 'k', pattern = '' }]\n",
            "1 layering.coupling[0].pattern: the pattern must not be empty: it would match everywhere (it is '')",
        ),
        (
            "exclude = ['a', '[ab']\n",
            "1 exclude[1]: a `[` opens a set that no `]` closes; `[[]` stands for the character (it is '[ab')",
        ),
        ("exclude = ['/etc']\n", "1 exclude[0]: the path must be relative to the root (it is '/etc')"),
        ("exclude = ['C:/x']\n", "1 exclude[0]: the path must be relative to the root (it is 'C:/x')"),
        (
            "docs.maintained = ['a/../../x']\n",
            "1 docs.maintained[0]: the path must not lead out of the root by `..` (it is 'a/../../x')",
        ),
        ('baselines = "a\\u0000"\n', "1 baselines: must not hold a NUL character"),
        ('docs.folders."a\\u0000".dialect = "mkdocs"\n', "1 docs.folders: a key must not hold a NUL character"),
        (
            '[[layering.layers]]\nname = "n"\norder = ["a", "\\u0000"]\n',
            "3 layering.layers[0].order[1]: must not hold a NUL character",
        ),
        ("[[layering.acyclic]]\nname = 'n'\n", "1 layering.acyclic[0].within: is required"),
        (
            "[[layering.layers]]\nname = 'n'\norder = ['a']\n",
            "3 layering.layers[0].order: needs at least 2 items, but has 1",
        ),
        ("[tool.gates.docs]\n", "1 tool: in gates.toml the tables stand without the prefix [tool.gates]"),
    ],
)
def test_a_mistake_is_named_by_line_key_and_cure(tmp_path: Path, text: str, said: str) -> None:
    assert refused(tmp_path, text) == [said]


WAIVER = "[[waivers]]\nrule = 'LAY001'\nscope = 'a'\nowner = 'me'\nreason = 'r'\nexpires = 2027-01-31\n"


def test_a_waiver_date_may_be_a_toml_date_or_a_string(tmp_path: Path) -> None:
    for text in (WAIVER, WAIVER.replace("2027-01-31", '"2027-01-31"')):
        (tmp_path / "gates.toml").write_text(text)
        (waiver,) = load(tmp_path, codes={"LAY001"}).settings.waivers
        assert waiver.expires == datetime.date(2027, 1, 31)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("'LAY001'", "'lay001'", "2 waivers[0].rule: there is no rule 'lay001'; did you mean `LAY001`?"),
        ("'LAY001'", "'XXX'", "2 waivers[0].rule: there is no rule 'XXX'"),
        ("'me'", "''", "4 waivers[0].owner: must not be empty"),
        ("2027-01-31", "31", "6 waivers[0].expires: must be a date such as 2027-01-31, not 31"),
    ],
)
def test_a_waiver_needs_a_known_rule_an_owner_and_a_date(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert refused(tmp_path, WAIVER.replace(old, new)) == [said]


def test_a_date_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    (said,) = refused(tmp_path, WAIVER.replace("2027-01-31", '"2027-02-30"'))
    assert said.startswith("6 waivers[0].expires: should be a valid date")


def test_in_pyproject_the_key_carries_its_prefix(tmp_path: Path) -> None:
    said = refused(tmp_path, "[project]\nname = 'x'\n[tool.gates.docs]\ndialects = 'mkdocs'\n", "pyproject.toml")
    assert said == ["4 tool.gates.docs.dialects: unknown key; did you mean `dialect`?"]


@pytest.mark.parametrize("text", ["[tool]\ngates = 3\n", "[[tool.gates]]\n"])
def test_the_root_must_be_a_table(tmp_path: Path, text: str) -> None:
    (said,) = refused(tmp_path, text, "pyproject.toml")
    assert said.endswith("tool.gates: must be a table")


def test_every_mistake_is_listed_once_in_order_of_line(tmp_path: Path) -> None:
    text = "baselines = 1\n[docs]\ndialect = 2\n[layering.shape]\ncycles = 3\nprivate = true\n"
    mistakes = refused(tmp_path, text)
    assert [mistake.split(" ")[0] for mistake in mistakes] == ["1", "3", "5", "6"]
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'gates.toml'} has 4 mistakes:\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a = 1\nb = \n", r"gates\.toml:2: not valid TOML: Invalid value \(at line 2, column 5\)$"),
        (b"a = 1\na = 2\n", r"gates\.toml:2: not valid TOML: Cannot overwrite a value"),
        (b"# ok\n# \xff\n", r"gates\.toml:2: not UTF-8: invalid start byte$"),
        (b"a = " + b"[" * 5000, r"gates\.toml: is nested too deeply$"),
        (b"a = " + b"9" * 5000, r"gates\.toml: not valid TOML: Exceeds the limit"),
    ],
    ids=["syntax", "twice", "bytes", "deep", "huge"],
)
def test_what_is_no_toml_is_one_clear_error(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "gates.toml").write_bytes(data)
    with pytest.raises(SettingsError, match=said):
        load(tmp_path)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xef\xbb\xbf[tool.gates]\r\nbaselines = 'b'\r\n[tool.gates.docs]\r\n")
    assert load(tmp_path).settings.baselines == "b"


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gates.toml").write_text("")

    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(SettingsError, match=r"gates\.toml: cannot be read: Permission denied$"):
        load(tmp_path)


def test_an_error_found_later_still_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[[tool.gates.layering.layers]]\nname = 'n'\norder = ['a', 'b']\n")
    error = load(tmp_path).error(("layering", "layers", 0, "order", 1), "'b' matches no module", "bb")
    assert str(error) == (
        f"{tmp_path / 'pyproject.toml'}:3: tool.gates.layering.layers[0].order[1]: 'b' matches no module; "
        "did you mean `bb`?"
    )


@pytest.mark.parametrize("file", ["gates.toml", "pyproject.toml"])
def test_a_merge_conflict_is_called_one(tmp_path: Path, file: str) -> None:
    conflict = "exclude = []\n<<<<<<< ours\nbaselines = 'a'\n=======\nbaselines = 'b'\n>>>>>>> theirs\n"
    (tmp_path / file).write_text(f"[tool.gates]\n{conflict}" if file == "pyproject.toml" else conflict)
    with pytest.raises(SettingsError, match=rf"{file}:[23]: an unresolved merge conflict: keep "):
        load(tmp_path)
