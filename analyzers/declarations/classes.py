"""Classes of declared fields - dataclasses and named tuples - and enumerations, from their own source."""

from __future__ import annotations

import re

from msgspec import Struct

from analyzers.declarations.expressions import CALL, MAPPING, NAME, SEQUENCE, SET, Row
from analyzers.declarations.modules import DeclaredModule, ModuleIndex
from analyzers.declarations.outline import ClassOutline, Member

_DATACLASS = "dataclasses.dataclass"
_FIELD = "dataclasses.field"
_NAMED_TUPLE = "typing.NamedTuple"
_ENUMERATIONS = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_CLASS_VARIABLE = re.compile(r"(?:\w+\.)?ClassVar\b")
_KEYWORD_MARK = re.compile(r"(?:\w+\.)?KW_ONLY")
_FACTORIES = {"tuple": SEQUENCE, "list": SEQUENCE, "set": SET, "frozenset": SET, "dict": MAPPING}
_DEEPEST = 16
"""Classes above a class: a tree whose classes inherit from each other in a circle must not hang us."""


class Field(Struct, frozen=True):
    """A field of a record's constructor."""

    name: str
    keyword_only: bool
    default: Row | None
    home: DeclaredModule
    """Where the default is written."""


def is_record(index: ModuleIndex, module: DeclaredModule, symbol: str) -> bool:
    """Whether a name of a module is a class whose constructor takes its declared fields."""
    found = module.outline.classes.get(symbol)
    if found is None:
        return False
    if _NAMED_TUPLE in (index.absolute(module, base) for base in found.bases):
        return True
    flags = _dataclass_flags(index, module, found)
    return flags is not None and flags.get("init", True)


def is_enumeration(index: ModuleIndex, module: DeclaredModule, symbol: str, depth: int = _DEEPEST) -> bool:
    """Whether a name of a module is an enumeration, also by way of its bases."""
    found = module.outline.classes.get(symbol)
    if found is None or not depth:
        return False
    for base in found.bases:
        if index.absolute(module, base) in _ENUMERATIONS:
            return True
        owner = index.owner(module, base)
        if owner is not None and is_enumeration(index, *owner, depth - 1):
            return True
    return False


def fields_of(index: ModuleIndex, module: DeclaredModule, symbol: str, depth: int = _DEEPEST) -> tuple[Field, ...]:
    """The fields of a record, those of its bases first, as its constructor takes them."""
    found = module.outline.classes[symbol]
    fields: dict[str, Field] = {}
    for base in reversed(found.bases if depth else []):
        owner = index.owner(module, base)
        if owner is not None and is_record(index, *owner):
            fields |= {field.name: field for field in fields_of(index, *owner, depth - 1)}
    keyword_only = (_dataclass_flags(index, module, found) or {}).get("kw_only", False)
    for member in found.members:
        if _KEYWORD_MARK.fullmatch(member.annotation):
            keyword_only = True
        elif member.annotation and not _CLASS_VARIABLE.match(member.annotation):
            field = _field(index, module, member, keyword_only)
            if field is not None:
                fields[member.name] = field
    return tuple(sorted(fields.values(), key=lambda field: field.keyword_only))


def _field(index: ModuleIndex, module: DeclaredModule, member: Member, keyword_only: bool) -> Field | None:
    """The field that a member declares; None where the constructor does not take it."""
    default = member.value
    if default is not None and default[0] == CALL and index.absolute(module, default[3]) == _FIELD:
        options = dict(default[5])
        if "init" in options and options["init"][3] is False:
            return None
        if "kw_only" in options:
            keyword_only = options["kw_only"][3] is True
        if "default_factory" in options:
            factory = options["default_factory"]
            # What another factory makes is known only when it runs: reading the whole call will say so.
            kind = _FACTORIES.get(factory[3]) if factory[0] == NAME else None
            default = default if kind is None else [kind, *factory[1:3], []]
        else:
            default = options.get("default")
    return Field(member.name, keyword_only, default, module)


def _dataclass_flags(index: ModuleIndex, module: DeclaredModule, found: ClassOutline) -> dict[str, bool] | None:
    """The options of the dataclass decorator; None where there is none."""
    for name, flags in found.decorators:
        if index.absolute(module, name) == _DATACLASS:
            return flags
    return None
