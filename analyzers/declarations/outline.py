"""What one Python file declares at module level: names, imports and classes, as far as they can be read as data."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from analyzers.declarations.expressions import Row
from analyzers.python.bindings import Binding
from analyzers.python.changes import Change
from analyzers.source import Source

_VERSION = 4
"""Goes up whenever the same text may give another outline."""


class Member(NamedTuple):
    """A statement of a class body that binds a name."""

    name: str
    line: int
    annotation: str
    """Its source; empty where there is none."""
    value: Row | None


class ClassOutline(NamedTuple):
    """A class at module level."""

    line: int
    bases: list[str]
    """Dotted names; what is no name is left out."""
    decorators: list[tuple[str, dict[str, bool]]]
    """Dotted names, each with the keywords that are given True or False."""
    members: list[Member]


class Outline(Struct, frozen=True):
    """What a module says of itself."""

    names: dict[str, Row]
    """What is bound once, by a statement of the module itself."""
    unfit: dict[str, tuple[int, str]]
    """Other names that the module binds: the line, and why what they hold is not certain."""
    imports: dict[str, Binding]
    classes: dict[str, ClassOutline]
    functions: list[str]
    changes: list[Change]
    """Of these names, and of others that the file imports; a name that the module imports counts as imported."""
    parsed: bool = True
    """A file that does not parse says nothing."""

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Outline:
        classes = {
            name: ClassOutline(line, bases, [(who, flags) for who, flags in decorators], [Member(*m) for m in members])
            for name, (line, bases, decorators, members) in stored["classes"].items()
        }
        imports = {name: Binding(*row) for name, row in stored["imports"].items()}
        changes = [
            Change(name, line, in_function, Binding(*row) if row else None)
            for name, line, in_function, row in stored["changes"]
        ]
        return cls(**{**stored, "classes": classes, "imports": imports, "changes": changes})


class OutlineExtractor(Struct, frozen=True):
    """The outline of a Python file; it depends on no setting."""

    kind: str = f"declarations@{_VERSION}"

    def extract(self, source: Source) -> dict[str, Any]:
        """The fact, as `Outline.from_json` reads it."""
        from analyzers.declarations.outline_reader import outline_of

        return asdict(outline_of(source.text))


UNPARSED = Outline({}, {}, {}, {}, [], [], parsed=False)
"""What is known of a file that cannot be read."""
