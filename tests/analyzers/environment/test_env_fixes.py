"""Stubs for unregistered reads: what is there keeps its format."""

from __future__ import annotations

import pytest

from analyzers.environment.fixes import with_stubs
from analyzers.environment.policy import RegistryPolicy


def fixed(text: str, *needs: str, symbol: str = "R") -> str | None:
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
        ("R = {}\n", 'R = {"X_A": lambda: os.getenv("X_A"), "X_B": lambda: os.getenv("X_B")}\n'),
        ("R = {'X': M(1)}\n", 'R = {\'X\': M(1), "X_A": M(), "X_B": M()}\n'),
        ("R = {\n    'X': M(1)\n}\n", 'R = {\n    \'X\': M(1),\n    "X_A": M(),\n    "X_B": M()\n}\n'),
        ("R = (V(name='X'),)\n", 'R = (V(name=\'X\'), V(name="X_A"), V(name="X_B"),)\n'),
        ("R = ()\n", 'R = ("X_A", "X_B")\n'),
        ("R = [\n    V('X'),\n]\n", 'R = [\n    V(\'X\'),\n    V(name="X_A"),\n    V(name="X_B"),\n]\n'),
        ("class R:\n    X = E(1)\n", "class R:\n    X = E(1)\n    X_A = E(None)\n    X_B = E(None)\n"),
        ("R = {\r\n    'X': 1,\r\n}\r\n", None),
    ],
)
def test_every_shape(text: str, expected: str | None) -> None:
    changed = fixed(text)
    assert changed is not None
    if expected is None:
        assert "\n" not in changed.replace("\r\n", "")
    else:
        assert changed == expected
    compile(changed, "a.py", "exec")


def test_a_record_has_what_the_registry_needs() -> None:
    policy = RegistryPolicy(files=("a.py",), symbol="R", needs=("name", "owner", "default"))
    assert with_stubs("R = (V(name='X'),)\n", policy, ["X_A"]) == (
        'R = (V(name=\'X\'), V(name="X_A", owner="TODO", default=None),)\n'
    )


@pytest.mark.parametrize("text", ["R = make()\n", "S = {}\n", "def f():\n    R = {}\n", "R = {\n"])
def test_what_cannot_take_a_stub(text: str) -> None:
    assert fixed(text) is None
