"""Stubs for unregistered reads: what is there keeps its format."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.environment.fixes import NoPlaceError, with_stubs
from analyzers.environment.policy import RegistryPolicy


def fixed(text: str, *needs: str, symbol: str = "R") -> str:
    return with_stubs(text, RegistryPolicy(files=("a.py",), symbol=symbol, needs=needs), ["X_A", "X_B"])


def test_a_mapping_of_getters_keeps_its_comments() -> None:
    text = (
        "import os\n\nR: dict = {\n    # The port.\n    'X_P': lambda: os.getenv('X_P'),  # kept\n\n    # The last.\n"
        "    'X_Q' : lambda: 1,  # stays here\n}\n\nafter = 1\n"
    )
    assert fixed(text) == (
        "import os\n\nR: dict = {\n    # The port.\n    'X_P': lambda: os.getenv('X_P'),  # kept\n\n    # The last.\n"
        "    'X_Q' : lambda: 1,  # stays here\n"
        '    "X_A": lambda: os.getenv("X_A"),\n    "X_B": lambda: os.getenv("X_B"),\n}\n\nafter = 1\n'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R = {}\n", 'import os\n\nR = {"X_A": lambda: os.getenv("X_A"), "X_B": lambda: os.getenv("X_B")}\n'),
        ("R = {'X': M(1)}\n", 'R = {\'X\': M(1), "X_A": M(), "X_B": M()}\n'),
        ("R = {\n    'X': M(1)\n}\n", 'R = {\n    \'X\': M(1),\n    "X_A": M(),\n    "X_B": M()\n}\n'),
        ("R = (V(name='X'),)\n", 'R = (V(name=\'X\'), V(name="X_A"), V(name="X_B"),)\n'),
        ("R = ()\n", 'R = ("X_A", "X_B")\n'),
        ("R = [\n    V('X'),\n]\n", 'R = [\n    V(\'X\'),\n    V(name="X_A"),\n    V(name="X_B"),\n]\n'),
        ("class R:\n    X = E(1)\n", "class R:\n    X = E(1)\n    X_A = E(None)\n    X_B = E(None)\n"),
        ("R = {'X': 80}\n", 'R = {\'X\': 80, "X_A": None, "X_B": None}\n'),
        ("R = {'X': 'The port.'}\n", 'R = {\'X\': \'The port.\', "X_A": "TODO", "X_B": "TODO"}\n'),
        ("R = {'X': flag('X', 1)}\n", 'R = {\'X\': flag(\'X\', 1), "X_A": flag("X_A"), "X_B": flag("X_B")}\n'),
        (
            "R = {'X': {'default': 1}}\n",
            'R = {\'X\': {\'default\': 1}, "X_A": {"default": "TODO"}, "X_B": {"default": "TODO"}}\n',
        ),
        ("R = dict(X=M(1))\n", "R = dict(X=M(1), X_A=M(), X_B=M())\n"),
        ("R = dict(\n    X=M(1),  # kept\n)\n", "R = dict(\n    X=M(1),  # kept\n    X_A=M(),\n    X_B=M(),\n)\n"),
        ("R = dict(\n    X=M(1)\n)\n", "R = dict(\n    X=M(1),\n    X_A=M(),\n    X_B=M()\n)\n"),
        ("R = MappingProxyType({'X': M(1)})\n", 'R = MappingProxyType({\'X\': M(1), "X_A": M(), "X_B": M()})\n'),
        ("R = S | {'X': M(1)}\n", 'R = S | {\'X\': M(1), "X_A": M(), "X_B": M()}\n'),
        ("R = {'X': M(1)} | S\n", 'R = {\'X\': M(1), "X_A": M(), "X_B": M()} | S\n'),
        ("R = {'X': M(1), **S}\n", 'R = {\'X\': M(1), **S, "X_A": M(), "X_B": M()}\n'),
        ("R = frozenset({'X'})\n", 'R = frozenset({\'X\', "X_A", "X_B"})\n'),
    ],
)
def test_every_shape(text: str, expected: str) -> None:
    changed = fixed(text)
    assert changed == expected
    compile(changed, "a.py", "exec")


def test_line_ends_stay() -> None:
    changed = fixed("R = {\r\n    'X': lambda: 1,\r\n}\r\n")
    assert "\n" not in changed.replace("\r\n", "")


def test_a_record_has_what_the_registry_needs() -> None:
    policy = RegistryPolicy(files=("a.py",), symbol="R", needs=("name", "owner", "default"))
    assert with_stubs("R = (V(name='X'),)\n", policy, ["X_A"]) == (
        'R = (V(name=\'X\'), V(name="X_A", owner="TODO", default=None),)\n'
    )


@pytest.mark.parametrize("text", ["R = make()\n", "S = {}\n", "def f():\n    R = {}\n", "R = {\n"])
def test_what_cannot_take_a_stub(text: str) -> None:
    with pytest.raises(NoPlaceError):
        fixed(text)


def test_a_getter_can_be_called() -> None:
    namespace: dict[str, Any] = {}
    exec(fixed('"""The registry."""\nfrom os import environ\nR = {"X": lambda: environ["X"]}\n'), namespace)
    assert namespace["R"]["X_A"]() is None
