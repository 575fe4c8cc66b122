"""Sources that nobody would write: each is read or given up, and none ends in a traceback."""

from __future__ import annotations

import json

import pytest

from analyzers.configuration.attribute_names import AttributeNamesExtractor
from analyzers.configuration.outline import Outline, OutlineExtractor
from analyzers.configuration.reads import FileReads, ReadsExtractor, Vocabulary
from analyzers.source import Source

WORDS = Vocabulary(("Config",), ("Holder",), ("c", "config"))
EXTRACTORS = (OutlineExtractor(), ReadsExtractor(WORDS, unnamed=True), AttributeNamesExtractor())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "@",
        "class Config(",
        "def f(c: Config): return c" + ".b" * 3_000,
        "def f(c: Config): return " + "+".join(["c.b"] * 3_000),
        "def f(c: Config): return " + "(" * 150 + "c.b" + ")" * 150,
        "class Config:\n    x: " + "list[" * 90 + "Config" + "]" * 90,
        "class Config:\n    x: " + " | ".join(["Config"] * 3_000),
        "class Config(Config): pass\n" * 200,
        "from .................. import *\nimport a.b.c as d, e",
        "f'{" * 100,
        "Config = Config = Config[Config]\n",
        "x: 'Config[' = 1\nclass C:\n    y: \"'Config'\"\n    z: '' = 1\n",
        "class C:\n    x: int = field(default=, metadata={**a, 'b': 1})",
        "class C:\n    x: int = field(1, *a, **b, metadata={**a, 'b': 1, c: 2})",
        "def f(*, c: Config, **k): del c.x[c.y], c.z; c.w: int\n",
        "f(**{" * 20_000,
        "x = [" + "f(**k), " * 20_000 + "]\n",
        "".join(f"f(**k{number})\n" for number in range(20_000)),
        "match c:\n    case True | None:\n        c.x\n",
        "match c:\n    case Config(x=1) | [*_, {'a': Config() as d, **rest}]:\n        d.x\n",
    ],
)
def test_any_text_is_read_or_given_up(text: str) -> None:
    outline, reads, names = (json.loads(json.dumps(e.extract(Source("a.py", text)))) for e in EXTRACTORS)
    found = Outline(outline)
    assert all(isinstance(part, list | dict) for part in (found.imports, found.stars, found.classes, found.tables))
    assert isinstance(FileReads(reads).reads, list)
    assert [*map(type, names)] == [str, str, str, bool]
