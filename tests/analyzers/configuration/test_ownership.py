"""Which classes the roots reach, and by which ways."""

from __future__ import annotations

import pytest
from configuration_trees import Configure

from analyzers.configuration.configuration import Configuration
from analyzers.configuration.ownership import OwnerPath

RECORD = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
LEAF = "from dataclasses import dataclass\n\n@dataclass\nclass Leaf:\n    x: int = 1\n"


def paths(configuration: Configuration) -> dict[str, list[str]]:
    return {
        owned.name: [path.path for path in configuration.ownership.paths[owned.definition]]
        for owned in configuration.ownership
    }


def config(body: str) -> str:
    return f"{RECORD}{body}"


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        ("Leaf", "leaf"),
        ("'Leaf'", "leaf"),
        ("Leaf | None", "leaf"),
        ("Optional[Leaf]", "leaf"),
        ("Union[int, Leaf]", "leaf"),
        ("list[Leaf]", "leaf[]"),
        ("dict[str, 'Leaf']", "leaf[]"),
        ("Annotated[Leaf, 'help me']", "leaf"),
        ("parts.Leaf", "leaf"),
        ("app.parts.Leaf", "leaf"),
        ("Short", "leaf"),
        ("Many", "leaf[]"),
        ("Renamed", "leaf"),
        ("ClassVar[Leaf]", None),
        ("InitVar[Leaf]", None),
        ("type[Leaf]", None),
        ("Missing", None),
        ("Circular", None),
    ],
)
def test_an_annotation_leads_to_a_class(configure: Configure, annotation: str, path: str | None) -> None:
    text = config(
        "import app.parts\nfrom app import parts\nfrom app.parts import Leaf\nfrom app.parts import Leaf as Renamed\n"
        "from typing import *\nShort = Leaf | None\nMany = list[Short]\nCircular = list[Circular]\n"
        f"@dataclass\nclass Root:\n    leaf: {annotation} = None\n"
    )
    found = configure({"app/__init__.py": "", "app/parts.py": LEAF, "app/config.py": text})
    assert paths(found) == {"Root": [""]} | ({"Leaf": [path]} if path else {})


@pytest.mark.parametrize("base", ["NamedTuple", "typing.NamedTuple", "TypedDict"])
def test_configuration_may_be_held_by_a_tuple_of_named_fields(configure: Configure, base: str) -> None:
    text = config(
        f"@dataclass\nclass Leaf:\n    a: int\nclass Pair({base}):\n    leaf: Leaf\n"
        "@dataclass\nclass Root:\n    pair: Pair\n"
    )
    assert paths(configure({"app/__init__.py": "", "app/config.py": text})) == {
        "Root": [""],
        "Pair": ["pair"],
        "Leaf": ["pair.leaf"],
    }


@pytest.mark.parametrize(
    "statement",
    [
        "from app.parts import Leaf",
        "from .parts import Leaf",
        "from app import Leaf",
        "from . import Leaf",
        "from app.stars import Leaf",
        "if TYPE_CHECKING:\n    from app.parts import Leaf",
        "try:\n    from app.parts import Leaf\nexcept ImportError:\n    Leaf = None",
    ],
)
def test_a_name_is_found_where_it_was_defined(configure: Configure, statement: str) -> None:
    files = {
        "app/__init__.py": "from .parts import Leaf\n",
        "app/stars.py": "from app.parts import *\n",
        "app/parts.py": LEAF,
        "app/config.py": config(f"{statement}\n@dataclass\nclass Root:\n    leaf: Leaf\n"),
    }
    assert paths(configure(files))["Leaf"] == ["leaf"]


def test_a_root_may_be_named_by_a_re_export(configure: Configure) -> None:
    files = {"app/__init__.py": "from app.config import Root", "app/config.py": config("@dataclass\nclass Root: pass")}
    assert paths(configure(files, roots=("app.Root",))) == {"Root": [""]}


@pytest.mark.parametrize(
    "definition",
    [
        "@dataclass\nclass Leaf:",
        "@dataclasses.dataclass(frozen=True)\nclass Leaf:",
        "@pydantic.dataclasses.dataclass\nclass Leaf:",
        "@attrs.define\nclass Leaf:",
        "@attr.s(auto_attribs=True)\nclass Leaf:",
        "@ours\nclass Leaf:",
        "class Leaf(BaseModel):",
        "class Leaf(msgspec.Struct, frozen=True):",
        "class Leaf(Base):",
        "class Leaf[T](Base):",
    ],
)
def test_records_of_every_kind(configure: Configure, definition: str) -> None:
    base = "class Mixin(pydantic.BaseModel):\n    pass\nclass Base(Mixin):\n    y: int = 1\n"
    text = config(f"{base}{definition}\n    x: int = 1\n@dataclass\nclass Root:\n    leaf: Leaf\n")
    assert paths(configure({"app/config.py": text}, decorators=("app.ours",)))["Leaf"] == ["leaf"]


def test_a_class_without_fields_of_its_own_kind_is_a_value(configure: Configure) -> None:
    text = config(
        "class Kind(Enum):\n    A = 1\nclass Plain:\n    pass\n@dataclass\nclass Root:\n    a: Kind\n    b: Plain\n"
    )
    assert paths(configure({"app/config.py": text})) == {"Root": [""]}


def test_inherited_fields_and_subclasses_are_owned(configure: Configure) -> None:
    text = config(
        "@dataclass\nclass Leaf:\n    pass\n@dataclass\nclass Base:\n    leaf: Leaf\n@dataclass\nclass Root(Base):\n"
        "    part: Part\n@dataclass\nclass Part:\n    pass\n@dataclass\nclass Special(Part):\n    inner: Leaf\n"
    )
    found = paths(configure({"app/config.py": text}))
    assert found["Leaf"] == ["leaf", "part.inner"]
    assert found["Special"] == ["part"]
    assert "Base" not in found


def test_a_field_is_resolved_where_it_is_declared(configure: Configure) -> None:
    base = config("from app.parts import Leaf as Part\n@dataclass\nclass Base:\n    part: Part\n")
    text = config("from app.base import Base\n@dataclass\nclass Root(Base):\n    pass\n")
    files = {"app/base.py": base, "app/parts.py": LEAF, "app/config.py": text}
    assert paths(configure(files))["Leaf"] == ["part"]


def test_recursion_is_cut(configure: Configure) -> None:
    text = config(
        "@dataclass\nclass Root:\n    a: Node\n    b: Node | None\n"
        "@dataclass\nclass Node:\n    next: Node\n    root: Root\n    leaf: Leaf\n"
        "@dataclass\nclass Leaf(Leaf):\n    x: int\n"
    )
    found = paths(configure({"app/config.py": text}))
    assert found == {"Root": [""], "Node": ["a", "b"], "Leaf": ["a.leaf", "b.leaf"]}


def test_a_web_of_classes_ends(configure: Configure) -> None:
    layers = [
        f"@dataclass\nclass C{n}:\n" + "".join(f"    f{i}: C{n + 1}\n" for i in range(6)) + "    x: int = 0\n"
        for n in range(12)
    ]
    text = config("".join(layers) + "@dataclass\nclass C12:\n    y: int\n@dataclass\nclass Root:\n    c: C0\n")
    found = configure({"app/config.py": text})
    assert found.ownership.truncated
    assert len(paths(found)["C3"]) == 216


def test_two_roots_own_what_both_reach(configure: Configure) -> None:
    text = config("@dataclass\nclass A:\n    c: C\n@dataclass\nclass B:\n    d: C\n@dataclass\nclass C:\n    x: int\n")
    found = configure({"app/config.py": text}, roots=("app.config.A", "app.config.B"))
    owned = {definition.name: ways for definition, ways in found.ownership.paths.items()}
    assert owned["C"] == (OwnerPath("A", "c"), OwnerPath("B", "d"))
