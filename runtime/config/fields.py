"""What a setting is: a dataclass field that knows its description, its bounds and its part in the hash."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Root = TypeVar("Root")

_KINDS: Mapping[object, str] = {
    str: "text",
    bool: "flag",
    int: "integer",
    float: "number",
    tuple[int, ...]: "integers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One setting, as its dataclass declares it.

    Attributes:
        path: the owner path, such as `cache.block_size`.
        kind: `text`, `flag`, `integer`, `number`, `integers` or `bytes`; names its parser in `values.PARSERS`.
        optional: whether None is admitted; it then means that the runtime decides.
        help: one sentence for `v100 explain --config` and for error messages.
        choices: the admitted texts, empty where any text is.
        synonyms: other spellings of a choice.
        above: an exclusive lower bound of numbers.
        diagnostic: True where the setting changes only what is reported, so that `compute_hash` leaves it out.
    """

    path: str
    kind: str
    optional: bool
    default: object
    help: str
    choices: tuple[str, ...]
    synonyms: Mapping[str, str]
    above: float | None
    diagnostic: bool

    def says_nothing(self, value: object) -> bool:
        """Whether a value leaves the choice to the runtime, and so counts as not given: None or `auto`."""
        return value == self.default and (value is None or value == "auto")


def setting(
    default: object,
    *,
    help: str,  # noqa: A002 - the key of the metadata that command lines print
    choices: tuple[str, ...] = (),
    synonyms: Mapping[str, str] | None = None,
    above: float | None = None,
    unit: str = "",
    diagnostic: bool = False,
) -> Any:
    """Declare a field of a configuration dataclass; `unit` is `bytes` or empty, the rest is as in `FieldSpec`."""
    metadata = {
        "help": help,
        "choices": choices,
        "synonyms": synonyms or {},
        "above": above,
        "unit": unit,
        "diagnostic": diagnostic,
    }
    return dataclasses.field(default=default, metadata=metadata)


def collect(root: type) -> dict[str, FieldSpec]:
    """Every setting below a configuration dataclass by owner path, in declared order."""
    return {spec.path: spec for spec in _walk(root, "")}


def _walk(owner: type, prefix: str) -> Iterator[FieldSpec]:
    hints = typing.get_type_hints(owner)
    for item in dataclasses.fields(owner):
        annotation = hints[item.name]
        path = prefix + item.name
        if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            yield from _walk(annotation, path + ".")
        else:
            yield _spec(path, annotation, item)


def _spec(path: str, annotation: object, item: dataclasses.Field[Any]) -> FieldSpec:
    members = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    kind = next(_KINDS[member] for member in members if member is not type(None))
    return FieldSpec(
        path=path,
        kind=item.metadata["unit"] or kind,
        optional=type(None) in members,
        default=item.default,
        help=item.metadata["help"],
        choices=item.metadata["choices"],
        synonyms=item.metadata["synonyms"],
        above=item.metadata["above"],
        diagnostic=item.metadata["diagnostic"],
    )


def flatten(config: object) -> dict[str, object]:
    """The values of a configuration by owner path, in declared order."""
    values: dict[str, object] = {}
    for item in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            values.update({f"{item.name}.{path}": inner for path, inner in flatten(value).items()})
        else:
            values[item.name] = value
    return values


def assemble(root: type[Root], values: Mapping[str, object]) -> Root:
    """Build a configuration from its values by owner path; the inverse of `flatten`."""
    arguments: dict[str, object] = {}
    for item in dataclasses.fields(root):  # type: ignore[arg-type]
        child = item.default_factory
        if isinstance(child, type):
            prefix = item.name + "."
            below = {path.removeprefix(prefix): value for path, value in values.items() if path.startswith(prefix)}
            arguments[item.name] = assemble(child, below)
        else:
            arguments[item.name] = values[item.name]
    return root(**arguments)
