"""Typed reading of a checkpoint's settings, where every mistake names the file and the key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from runtime.errors import CheckpointError

MOST_LAYERS, MOST_HEADS, MOST_POSITIONS = 1 << 10, 1 << 12, 1 << 30
"""Far beyond every model, and small enough to be planned for."""


class Fields:
    """Settings of a model, such as the object in a config.json or the metadata of a GGUF file.

    A key whose value is null counts as absent. Without a default, an absent key is an error.

    Args:
        values: the settings.
        place: what holds them, as an error message should name it.
        prefix: goes before every key, as in `llama.` before `block_count`.
    """

    def __init__(self, values: Mapping[str, object], place: str, prefix: str = "") -> None:
        self.values = values
        self.place = place
        self.prefix = prefix

    def has(self, key: str) -> bool:
        return self.values.get(self.prefix + key) is not None

    def count(self, key: str, default: int | None = None, minimum: int = 1, maximum: int = 1 << 20) -> int:
        """A whole number. The bounds keep a hostile file from asking for absurd amounts of memory."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            self.refuse(key, f"a whole number from {minimum} to {maximum}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number above zero: scales, bases, epsilons and caps are all of that kind."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            self.refuse(key, "a finite number above 0")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            self.refuse(key, "true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            self.refuse(key, "a text")
        return value

    def texts(self, key: str) -> list[str]:
        value = self._value(key, None)
        if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
            self.refuse(key, "a list of texts")
        return list(value)

    def optional_count(self, key: str) -> int | None:
        return self.count(key) if self.has(key) else None

    def optional_number(self, key: str) -> float | None:
        return self.number(key) if self.has(key) else None

    def table(self, key: str) -> Fields:
        """A nested object; empty where the key is absent."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            self.refuse(key, "an object")
        return Fields(value, f"{self.place}: {self.prefix}{key}")

    def must_be(self, key: str, supported: object) -> None:
        """Refuse a feature that is present with any other value than the supported one."""
        if self.has(key) and self.values[self.prefix + key] != supported:
            self.refuse(key, f"{supported!r}")

    def must_be_absent(self, key: str, remedy: str) -> None:
        """Refuse a feature that would change the result and is not implemented."""
        if self.has(key):
            raise CheckpointError(f"{self.place}: {self.prefix}{key} is set, which is not supported. {remedy}.")

    def refuse(self, key: str, supported: str) -> NoReturn:
        """Raise the error that says what `key` holds and what it may hold."""
        found = repr(self.values.get(self.prefix + key))
        shown = found if len(found) <= 60 else f"{found[:57]}..."
        raise CheckpointError(f"{self.place}: {self.prefix}{key} is {shown}; supported: {supported}.")

    def _value(self, key: str, default: object) -> object:
        value = self.values.get(self.prefix + key)
        if value is not None:
            return value
        if default is None:
            raise CheckpointError(f"{self.place}: {self.prefix}{key} is missing. Is this the config of a whole model?")
        return default
