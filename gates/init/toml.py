"""Values and comments of a settings file, as a person would write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from textwrap import indent

_WIDTH = 90


def off(text: str) -> str:
    """Settings that are shown but do not hold."""
    return indent(text, "#")


def string(text: str) -> str:
    """A basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def listed(items: Iterable[str]) -> str:
    """A list of strings, on one line where it fits."""
    items = [string(item) for item in items]
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    return "[\n" + "".join(f"  {item},\n" for item in items) + "]"
