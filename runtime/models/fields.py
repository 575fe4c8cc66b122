"""Typed reading of a checkpoint's settings, where every mistake names the file and the key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from runtime.errors import CheckpointError, meant

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
        """A list of texts. One text is none: read letter by letter it would name nothing, and nobody would know."""
        value = self._value(key, None)
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.refuse(key, "a list of texts")
        if not all(isinstance(item, str) and item.strip() for item in value):
            self.refuse(key, "a list of texts, none of them empty")
        return list(value)

    def choice(self, key: str, known: Sequence[str], otherwise: str = "") -> str:
        """One of the known texts, which may be written in capitals or not.

        Args:
            otherwise: what else can be done, for the error.
        """
        value = self.text(key)
        spelled = {text.lower(): text for text in known}
        if value.lower() not in spelled:
            hint = meant(value.lower(), spelled, "")
            self.refuse(key, f"{', '.join(known)}{otherwise}", hint)
        return spelled[value.lower()]

    def spelling(self, *keys: str) -> str:
        """The key that is set among several that mean the same; the first of them where none is.

        Several may be set, as some tools repeat a setting under another name, but only to one value.
        """
        known, *others = [key for key in keys if self.has(key)] or keys[:1]
        for key in others:
            if self.values[self.prefix + key] != self.values[self.prefix + known]:
                self.refuse(key, f"the same as {known}, which is {self._shown(known)}, or one of the two alone")
        return known

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

    def over(self, general: Fields) -> Fields:
        """These settings, and the general ones where these say nothing."""
        own = {key: value for key, value in self.values.items() if value is not None}
        return Fields({**general.values, **own}, self.place, self.prefix)

    def must_be(self, key: str, supported: object) -> None:
        """Refuse a feature that is present with any other value than the supported one."""
        if self.has(key) and self.values[self.prefix + key] != supported:
            self.refuse(key, f"{supported!r}")

    def must_be_absent(self, key: str, remedy: str) -> None:
        """Refuse a feature that would change the result and is not implemented."""
        if self.has(key):
            raise CheckpointError(f"{self.place}: {self.prefix}{key} is set, which is not supported. {remedy}.")

    def stated(self, *keys: str) -> str:
        """Where these keys are and what each holds, for an error that finds them contradicted."""
        return f"{self.place}: {', '.join(map(self._stated, keys))}"

    def refuse(self, key: str, supported: str, hint: str = "") -> NoReturn:
        """Raise the error that says what `key` holds and what it may hold."""
        asked = f" ({hint})" if hint else ""
        raise CheckpointError(f"{self.place}: {self._stated(key)}{asked}; supported: {supported}.")

    def _stated(self, key: str) -> str:
        return f"{self.prefix}{key} is {self._shown(key) if self.has(key) else 'not set'}"

    def _shown(self, key: str) -> str:
        found = repr(self.values[self.prefix + key])
        return found if len(found) <= 60 else f"{found[:57]}..."

    def _value(self, key: str, default: object) -> object:
        value = self.values.get(self.prefix + key)
        if value is not None:
            return value
        if default is None:
            raise CheckpointError(f"{self.place}: {self.prefix}{key} is missing. Is this the config of a whole model?")
        return default
