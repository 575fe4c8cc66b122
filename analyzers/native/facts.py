"""What one file says about native operators and about routes that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict


class Definition(NamedTuple):
    """An operator is given its name: a schema, or a Python function that becomes one."""

    operator: str
    """`namespace::name`."""
    schema: str
    """As written; empty where it follows from a Python function."""
    language: str
    """"python" or "c++"."""
    line: int
    column: int
    symbol: str
    """The enclosing function or class; empty at module level."""


class Implementation(NamedTuple):
    """A function is registered as what runs an operator."""

    operator: str
    key: str
    """The dispatch key or device; empty for any."""
    function: str
    line: int
    column: int
    symbol: str


class Mention(NamedTuple):
    """A fake implementation or a capability probe of an operator.

    A probe may name it without the namespace.
    """

    operator: str
    line: int


class CallSite(NamedTuple):
    """A use of `torch.ops.namespace.name`, or of a function of a native module."""

    operator: str
    line: int
    column: int
    symbol: str
    conditions: Sequence[str]
    """The tests of the `if`s around it, within its function, the outermost first."""
    arguments: Sequence[str]
    """As written; empty where the operator is not called but handed on."""


class RouteUse(NamedTuple):
    """A call that names a route."""

    function: str
    """As the settings name it."""
    route: str
    """Empty where the name is no literal."""
    line: int
    column: int
    symbol: str


class NativeFacts(Struct):
    """Everything that one file says."""

    definitions: list[Definition] = field(default_factory=list)
    implementations: list[Implementation] = field(default_factory=list)
    fakes: list[Mention] = field(default_factory=list)
    probes: list[Mention] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    uses: list[RouteUse] = field(default_factory=list)
    parsed: bool = True
    """A Python file that may say something and does not parse says nothing."""

    def stored(self) -> dict[str, Any]:
        """As JSON can hold it: what is not empty."""
        return {key: value for key, value in asdict(self).items() if value != [] and value is not True}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> NativeFacts:
        rows = {key: [kind(*row) for row in stored.get(key, ())] for key, kind in _KINDS.items()}
        return cls(**rows, parsed=stored.get("parsed", True))


_KINDS: Mapping[str, Any] = {
    "definitions": Definition,
    "implementations": Implementation,
    "fakes": Mention,
    "probes": Mention,
    "calls": CallSite,
    "uses": RouteUse,
}
