"""Settings of the routes analyser: `[tool.gates.routes]`."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from analyzers.declarations.policy import Symbol, TableShape
from analyzers.policy import Glob, Table, Text

Choice = bool | int | str | tuple[int, ...]
"""A value on an axis of the matrix; a list stands for several things at once, such as the rows of each request."""
Test = Literal["one-of", "multiple-of", "at-least", "at-most", "supports", "required"]

_EVERYWHERE = ("**",)


class Condition(Table):
    """One check by which a route takes or refuses a call.

    `one-of`: the call's value is among the field's; an empty field takes all. `multiple-of`, `at-least`, `at-most`:
    the call's number, or each of them, is such; an unset field takes all. `supports`: a call that asks for it needs a
    field that is true. `required`: the field itself is true, whatever the call.
    """

    field: str
    test: Test
    axis: str | None = None
    """What it asks of a call; the field's own name where none is given."""
    wildcard: str | None = None
    """A value of the field that takes everything."""

    @property
    def asks(self) -> str | None:
        """The axis; None where the call does not matter."""
        return None if self.test == "required" else self.axis or self.field


class RouteTable(TableShape, kw_only=True):
    """One table of routes."""

    name: Text
    symbol: Symbol
    stage: str | None = None
    fallback: str | None = None
    observer: str | None = None
    operators: tuple[str, ...] = ()
    """The native operators of a route, with its fields in braces."""
    vocabularies: dict[str, Symbol] = field(default_factory=dict)
    """Field -> the table that declares its values."""
    executors: tuple[Symbol, ...] = ()
    """Mappings whose keys are routes that can run."""
    calls: dict[str, int | str] = field(default_factory=dict)
    """Function -> the position or keyword of the argument by which it names a route."""
    ordered: bool = True
    """Whether the first route that takes a call runs it; else nothing is said of which one would."""
    conditions: tuple[Condition, ...] = ()
    format: str | None = None
    """The axis that the matrix shows as a column of its own."""
    matrix: dict[str, tuple[Choice, ...]] = field(default_factory=dict)
    """Axis -> the values that the static plan is made for."""


class RegistrarPolicy(Table):
    """A function or decorator of the tree that defines an operator."""

    function: str
    namespace: str
    fakes: tuple[str, ...] = ()
    always_fake: bool = False


class NativePolicy(Table):
    """How the tree registers and uses native operators."""

    files: tuple[Glob, ...] = _EVERYWHERE
    namespaces: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    macros: dict[str, str] = field(default_factory=dict)
    registrars: tuple[RegistrarPolicy, ...] = ()
    fakes: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()

    @property
    def names_files(self) -> bool:
        """Whether the settings say which files count."""
        return self.files is not _EVERYWHERE


class RoutesPolicy(Table):
    modules: tuple[str, ...] = ()
    """Modules whose names may stand in tables: those of the tree are read, others stand for themselves."""
    tables: tuple[RouteTable, ...] = ()
    native: NativePolicy = NativePolicy()
