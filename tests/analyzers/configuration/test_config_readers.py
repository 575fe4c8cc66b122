"""Which files are parsed in search of readers: no more than must be, and all in which only a syntax tree tells."""

from __future__ import annotations

import pytest
from configuration_trees import Broken, Configure

CONFIG = """
from dataclasses import asdict, dataclass, field

@dataclass
class Part:
    width: int = 0
    über: int = 0

@dataclass
class Root:
    part: Part = field(default_factory=Part)
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def first(self) -> Part:
        return self.part

def current() -> Part:
    return Part()

Some = Part | None
"""
IMPORTS = "from dataclasses import asdict\nfrom app.config import Part, Root, Some, current\n"
UNREAD = [("CFG003", "width"), ("CFG003", "über")]


def tree(code: str) -> dict[str, str]:
    return {"app/config.py": CONFIG, "app/use.py": IMPORTS + code, "app/other.py": "def f(it): it.part, it.parts\n"}


@pytest.mark.parametrize(
    "code",
    [
        "import it\ndef f(it: Part):\n    return it.width\n",
        "def f(it: Part):\n    return hasattr(it, 'width')\n",
        "def f(it: Part):\n    return f'{it.width=}'\n",
        "import it\nx = [it.width for it in (current(),)]\ndef f(it: Part):\n    return it.width\n",
    ],
)
def test_a_name_that_words_leave_open_is_looked_up(broken: Broken, code: str) -> None:
    assert broken(tree(code)) == UNREAD[1:]


def test_a_name_beyond_ascii_is_looked_up(broken: Broken) -> None:
    assert broken(tree("def f(it: Part):\n    return it.über\n")) == UNREAD[:1]


@pytest.mark.parametrize(
    "code",
    [
        "def f(it: Part):\n    g(**asdict(it))\n",
        "def f(it: Part):\n    g(1,\n      # all\n      **asdict(it))\n",
        "def f(it: Part):\n    return f'{g(**asdict(it))}'\n",
        "def f(root: Root):\n    g(** asdict(root.part))\n",
        "def f(root: Root):\n    g(**asdict(root.first))\n",
        "def f(root: Root):\n    g(**asdict(getattr(root, 'part')))\n",
        "def f(root: Root):\n    for it in root.parts.values():\n        g(**asdict(it))\n",
        "def f():\n    g(**asdict(current()))\n",
        "import app.config as c\ndef f(it: c.Part):\n    g(**asdict(it))\n",
        "from app.config import *\ndef f(it: Part):\n    g(**asdict(it))\n",
        "from app.config import Part as Other\ndef f(it: Other):\n    g(**asdict(it))\n",
    ],
)
def test_a_spread_object_has_all_its_fields_read(broken: Broken, code: str) -> None:
    assert broken(tree(code)) == []


def test_a_file_whose_words_tell_everything_is_not_parsed(configure: Configure) -> None:
    code = "import os\ndef f(it: Part, **options):\n    return it.other + os.width, g(**options, **it.rest)\n"
    configuration = configure(tree(code))
    readers = configuration.readers
    part = {definition for definition in configuration.ownership.paths if definition.name == "Part"}
    assert "app/use.py" not in readers.doubtful()
    assert [*readers.unsure_of({"width"})] == ["app/use.py"]
    assert [*readers.unsure_of({"height"})] == []
    assert [*readers.spreading(part)] == ["app/use.py"]
    assert [*readers.spreading(set())] == []


@pytest.mark.parametrize(
    "code",
    [
        "def f(it: Part, **more): return g(it, **more)",
        "def f(it: Part, **more): return g(more.pop('a'), more['b'], **more)",
        "def f(it: Part, **more): return it ** 2, {**more}",
        "def f(it: Part, more): return g(it, **more)",
        "def f(it: Part, more: dict[str, list[int]] | None = None): return g(it, **more)",
        "def f(it: Part):\n    more = {'a': it}\n    more |= {}\n    return g(more, more=it, **more)",
        "def f(it: Part):\n    more: dict[str, int] = dict(a=1) if it else {}\n    return g(**more)",
        "def f(it: Part):\n    more = another(it)\n    return [g(**more) for x in it.parts], g(**another(1))",
        "def f(it: Part): return g(**{'a': it}), g(a=1, **dict(b=it))",
        "def f(it: Part, a, **b):\n    more = a or b or {}\n    return g(**more), g(**a if it else b)",
    ],
)
def test_what_is_no_object_leads_to_no_file(configure: Configure, code: str) -> None:
    configuration = configure(tree(f"{code}\n"))
    assert [*configuration.readers.spreading(set(configuration.ownership.paths))] == []


@pytest.mark.parametrize(
    "code",
    [
        "def f(it: Part): g(**it)",
        "def f(it: Part): g(**{**vars(it)})",
        "def f(it: Part): g(**(vars(it) | {}))",
        "def f(it: Part): g(\n    1,\n    **vars(it),\n)",
        "def f(it: Part, **more):\n    more = vars(it)\n    g(**more)",
        "def f(it: Part):\n    more: dict[str, int] = asdict(it) if it else {}\n    g(**more)",
        "def f(it: Part):\n    more = {k: v for k, v in it.dict().items() if v}\n    g(**more)",
        "def f(it: Part):\n    more = {**it.__dict__}\n    g(**more)",
        "def f(root: Root):\n    more = dict(asdict(root.part))\n    def h(): g(**more)",
        "def f(root: Root):\n    more = root.part if root else None\n    g(**more)",
        "def f(root: Root):\n    more, a = root.part, 1\n    g(**more)",
        "def f(root: Root):\n    for (a, more) in root.parts.items(): g(**more)",
        "def f(root: Root):\n    more = current()\n    g(**more)",
        "def f(root: Root):\n    a, more = 1, root.part\n    g(**more)",
        "def f(root: Root):\n    a, (b, more) = 1, (2, root.part)\n    g(**more)",
        "def f(root: Root):\n    a = (b, more) = 1, root.part\n    g(**more)",
        "def f(root: Root, a):\n    more = {} if (1 if a else 2) else root.part\n    g(**more)",
        "async def f(): g(**await(current()))",
        "def f():\n    a: int; more: Part\n    g(**more)",
        "def f(ﬁ: Part): g(**fi)",
        'def f(it: Part): return f"""{g(\n    **vars(it))}"""',
        "def f(root: Root, a):\n    b = root.part\n    more = a or b\n    g(**more)",
        "def f(root: Root):\n    if (more := root.part): g(**more)",
        "def f(root: Root):\n    with root.part as more: g(**more)",
        "def f(it):\n    more: Part = it\n    g(**more)",
        "def f(it: Part): return f'{g(** vars(it))}'",
    ],
)
def test_what_is_spread_has_all_its_fields_read(broken: Broken, code: str) -> None:
    assert broken(tree(f"{code}\n")) == []


def test_a_file_that_may_not_parse_is_tried(configure: Configure) -> None:
    assert "app/use.py" in configure(tree(f"x = {'(' * 60}{')' * 60}\n")).readers.doubtful()
