"""docs/settings.md says what the models say: every key, its default, and examples that load."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec import NODEFAULT
from msgspec.inspect import DictType, Field, Metadata, StructType, Type, UnionType, VarTupleType, type_info

from analyzers.policy import Table
from gates.settings.load import load
from gates.settings.model import settings_model

DOCUMENT = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (?:The (root) table|`(\[.+\])`)$")
ROW = re.compile(r"^\| `([a-z-]+)` \| .+? \| (required|unset|`[^|]+`) \| .+ \|$")


def default_of(field: Field) -> str:
    """A field's default, as the document writes it."""
    if field.required:
        return "required"
    value = field.default if field.default_factory is NODEFAULT else field.default_factory()
    if value is None:
        return "unset"
    return "`{}`" if isinstance(value, Table) else f"`{json.dumps(value)}`"


def table_in(form: Type) -> StructType | None:
    """The table that a field holds, in whatever container."""
    match form:
        case StructType():
            return form
        case VarTupleType(item_type=inner) | DictType(value_type=inner) | Metadata(type=inner):
            return table_in(inner)
        case UnionType(types=members):
            return next(filter(None, map(table_in, members)), None)
    return None


def tables(table: StructType, name: str = "root") -> dict[str, dict[str, str]]:
    """Heading -> key -> default, for a table and all those below it."""
    found = {name: {field.encode_name: default_of(field) for field in table.fields}}
    above = "" if name == "root" else name.strip("[]") + "."
    for field in table.fields:
        inner = table_in(field.type)
        if inner is None:
            continue
        below = f"{above}{field.encode_name}"
        if isinstance(field.type, VarTupleType):
            below = f"[[{below}]]"
        elif isinstance(field.type, DictType):
            below = f'[{below}."FOLDER"]'
        else:
            below = f"[{below}]"
        found |= tables(inner, below)
    return found


def root() -> StructType:
    table = type_info(settings_model())
    assert isinstance(table, StructType)
    return table


def documented() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    keys: dict[str, str] = {}
    for line in DOCUMENT.splitlines():
        if heading := HEADING.match(line):
            keys = found.setdefault(heading[1] or heading[2], {})
        elif row := ROW.match(line):
            keys[row[1]] = row[2]
    return found


def test_every_table_and_key_is_documented_with_its_default_and_no_other() -> None:
    assert documented() == tables(root())


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_loads(example: str, tmp_path: Path) -> None:
    name = "pyproject.toml" if "[tool.gates]" in example else "gates.toml"
    (tmp_path / name).write_text(example, encoding="utf-8")
    assert load(tmp_path, codes={"LAY101"}).settings != settings_model(())()


def test_every_table_has_an_example() -> None:
    for heading in tables(root()):
        section = heading.replace('"FOLDER"', "")
        assert heading == "root" or any(section.rstrip("]") in example for example in EXAMPLES), heading


def test_the_error_that_is_shown_is_the_error_that_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gates.toml").write_text("\n\n\n\n\n[layering.shape]\nmax-function-line = 60\n")
    with pytest.raises(Exception, match="unknown key") as caught:
        load(tmp_path)
    assert f"error: {caught.value}\n" in DOCUMENT
