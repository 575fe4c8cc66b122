"""What it takes to see a rule fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Fixture(NamedTuple):
    """Files that break one rule, and those to lay over them so that it holds."""

    broken: dict[str, str]
    repaired: dict[str, str]
    arguments: tuple[str, ...] = ("check", "--strict")
    prepare: Callable[[Path], None] = lambda root: None
