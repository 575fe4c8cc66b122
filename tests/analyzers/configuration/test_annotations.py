"""Which classes an annotation speaks of."""

from __future__ import annotations

import ast

import pytest

from analyzers.configuration.annotations import declares_field, type_names


def read(annotation: str) -> list[str]:
    node = ast.parse(annotation, mode="eval").body
    return [f"{found.name}[]" if found.many else found.name for found in type_names(node)]


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("C", ["C"]),
        ("a.b.C", ["a.b.C"]),
        ("'C'", ["C"]),
        ("'a.C | None'", ["a.C"]),
        ("Optional[C]", ["C"]),
        ("Optional['C']", ["C"]),
        ("typing.Union[C, D, None]", ["C", "D"]),
        ("C | D | None", ["C", "D"]),
        ("C | 'D'", ["C", "D"]),
        ("list[C]", ["list", "C[]"]),
        ("dict[str, C]", ["dict", "str[]", "C[]"]),
        ("tuple[C, ...]", ["tuple", "C[]"]),
        ("Sequence[Optional[C]]", ["Sequence", "C[]"]),
        ("Annotated[C, Field(default=D)]", ["C"]),
        ("A[C, 'what it is for, in words']", ["C"]),
        ("A[Optional[C], Arg(help='x')]", ["C"]),
        ("Final[C]", ["C"]),
        ("SkipValidation['C'] | None", ["C"]),
        ("Box[C]", ["Box", "C[]"]),
        ("Literal['C']", []),
        ("type[C]", []),
        ("Type['C']", []),
        ("Callable[[C], D]", []),
        ("None", []),
        ("'not a type'", []),
        ("C()", []),
    ],
)
def test_names(annotation: str, names: list[str]) -> None:
    assert read(annotation) == names


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int", True),
        ("ClassVar[int]", False),
        ("ClassVar", False),
        ("typing.ClassVar['C']", False),
        ("'ClassVar[int]'", False),
        ("InitVar[C]", False),
        ("dataclasses.InitVar[C]", False),
        ("dataclasses.KW_ONLY", False),
        ("Annotated[ClassVar[int], 1]", False),
        ("Final[int]", True),
        ("list[ClassVar]", True),
    ],
)
def test_what_declares_a_field(annotation: str, expected: bool) -> None:
    assert declares_field(ast.parse(annotation, mode="eval").body) is expected
