"""Values of settings: checked where they are typed already, parsed where they are text."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping

from runtime.config.fields import FieldSpec
from runtime.errors import ConfigError

_FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_UNITS = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_SIZE = re.compile(r"([0-9]{1,18})\s*([a-z]*)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_EXPECTED = {
    "text": "a text",
    "flag": "true or false",
    "integer": "a whole number",
    "number": "a finite number",
    "integers": "whole numbers",
    "bytes": "a size in bytes, in text also as 512MiB or 8GiB",
}


def checked(spec: FieldSpec, value: object, place: str) -> object:
    """The canonical form of a typed value.

    Raises:
        ConfigError: the value has the wrong type or is out of bounds; the message begins with `place`.
    """
    if value is None and spec.optional:
        return None
    return _settled(spec, value, value, place)


def parsed(spec: FieldSpec, text: str, place: str) -> object:
    """The canonical form of a value that was written as text, such as `8GiB`, `off` or `1,2,4`.

    Raises:
        ConfigError: as `checked` does.
    """
    stripped = text.strip()
    if spec.optional and stripped.lower() in ("", "auto", "none"):
        return None
    try:
        value = PARSERS[spec.kind](stripped)
    except ValueError:
        value = None
    return _settled(spec, value, text, place)


def expected(spec: FieldSpec) -> str:
    """What a setting admits, in words that end the sentence `X must be ...`."""
    if spec.choices:
        return "one of " + ", ".join((*spec.choices, *spec.synonyms))
    words = _EXPECTED[spec.kind]
    if spec.above is not None:
        bound = f"above {spec.above:g}" if spec.kind == "number" else f"at least {spec.above + 1:g}"
        words += f", {'each ' if spec.kind == 'integers' else ''}{bound}"
    return f"{words}, or unset" if spec.optional else words


def _settled(spec: FieldSpec, value: object, stated: object, place: str) -> object:
    canonical = _canonical(spec, value)
    if canonical is None or not _admitted(spec, canonical):
        raise ConfigError(f"{place}: {stated!r} is not valid; {spec.path} must be {expected(spec)}")
    return canonical


def _canonical(spec: FieldSpec, value: object) -> object | None:
    """The value in the type that its field has; None where it is of another type."""
    match spec.kind, value:
        case "text", str() | os.PathLike():
            return _text(spec, os.fspath(value))
        case "flag", bool():
            return value
        case (("integer" | "bytes"), int()) if not isinstance(value, bool):
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return _finite(value)
        case "integers", list() | tuple() if all(type(item) is int for item in value):
            return tuple(value)
    return None


def _text(spec: FieldSpec, text: str | bytes) -> str | None:
    if isinstance(text, bytes) or not spec.choices:
        return text if isinstance(text, str) else None
    lowered = text.lower()
    choice = spec.synonyms.get(lowered, lowered)
    return choice if choice in spec.choices else None


def _finite(value: int | float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _admitted(spec: FieldSpec, value: object) -> bool:
    if spec.above is None:
        return True
    numbers = value if isinstance(value, tuple) else (value,)
    return all(number > spec.above for number in numbers)


def _flag(text: str) -> object | None:
    return _FLAGS.get(text.lower())


def _integer(text: str) -> object | None:
    return int(text) if _INTEGER.fullmatch(text) else None


def _integers(text: str) -> object | None:
    items = [_integer(item.strip()) for item in text.split(",")] if text else []
    return None if None in items else items


def _size(text: str) -> object | None:
    match = _SIZE.fullmatch(text.lower())
    if match is None or match[2] not in _UNITS:
        return None
    return int(match[1]) * _UNITS[match[2]]


PARSERS: Mapping[str, Callable[[str], object | None]] = {
    "text": str,
    "flag": _flag,
    "integer": _integer,
    "number": float,
    "integers": _integers,
    "bytes": _size,
}
"""Text to value by kind of field; None or ValueError where the text does not say one."""
