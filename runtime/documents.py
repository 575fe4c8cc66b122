"""JSON files that this program itself writes, read strictly: each mistake in one is told with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from runtime.errors import VoltgateError

_T = TypeVar("_T")


def read_document(path: Path, form: type[_T], what: str, remedy: str, failure: Callable[[str], VoltgateError]) -> _T:
    """The content of a file.

    Args:
        form: its type, which forbids unknown fields wherever these mean a mistake.
        what: what the file should be, as the error says it behind "no".
        remedy: what to do, as the error says it at its end.
        failure: makes the error.

    Raises:
        VoltgateError: as `failure` makes it; the file cannot be read, is no JSON in UTF-8, or is something else.
    """
    try:
        return parsed_document(path.read_bytes(), path, form, what, remedy, failure)
    except OSError as error:
        raise failure(f"{path}: cannot be read: {error.strerror}; {remedy}") from None


def parsed_document(
    content: bytes, path: Path, form: type[_T], what: str, remedy: str, failure: Callable[[str], VoltgateError]
) -> _T:
    """As `read_document`, of bytes that were read from `path`."""
    try:
        return decode(content.decode("utf-8"), type=form)
    except ValidationError as error:
        raise failure(f"{path}: no {what}: {error}; {remedy}") from None
    except UnicodeDecodeError as error:
        raise failure(f"{path}: no text in UTF-8: byte {error.start} is not; {remedy}") from None
    except (DecodeError, RecursionError) as error:
        raise failure(f"{path}: not valid JSON: {error}; {remedy}") from None
