"""What is wrong with a settings file, said so that a person can put it right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from analyzers.errors import UserError
from gates.settings.lines import Key

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Mistake(NamedTuple):
    """One thing that is wrong."""

    key: str
    """From the top of the file: `tool.gates.layering.shape.cycles`; empty when the whole file is meant."""
    line: int
    """1-based; 0 when no line can be named."""
    message: str
    nearest: str = ""
    """The valid spelling that was probably meant."""

    def __str__(self) -> str:
        said = f"{self.key}: {self.message}" if self.key else self.message
        return f"{said}; did you mean `{self.nearest}`?" if self.nearest else said


class SettingsError(UserError):
    """A settings file cannot be used. Its text is the whole message, with every mistake in order of line."""

    def __init__(self, file: Path, mistakes: Iterable[Mistake]) -> None:
        self.file = file
        self.mistakes = tuple(sorted(mistakes, key=lambda mistake: mistake.line))
        super().__init__(self.file, self.mistakes)

    def __str__(self) -> str:
        name = _shown(self.file)
        places = [f"{name}:{m.line}: {m}" if m.line else f"{name}: {m}" for m in self.mistakes]
        if len(places) == 1:
            return places[0]
        return "\n  ".join([f"{name} has {len(places)} mistakes:", *places])


def spell(key: Key) -> str:
    """A key as TOML writes it, with positions of arrays in brackets: `layering.coupling[2].pattern`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def _shown(file: Path) -> str:
    """The path as seen from the current folder where it lies below it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(file)
