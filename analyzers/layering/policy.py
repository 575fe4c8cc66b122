"""Settings of the layering analyser: `[tool.gates.layering]`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from analyzers.policy import Glob, ModulePattern, Pattern, Table

Some = Annotated[tuple[ModulePattern, ...], Meta(min_length=1)]
Positive = Annotated[int, Meta(gt=0)]
_PYTHON = ("**/*.py",)


class LayersContract(Table):
    """An ordered list of layers, highest first; a layer never imports one above it.

    A line of `order` may hold siblings: "a | b" must not import each other, "a : b" may.
    """

    name: str
    order: Annotated[tuple[str, ...], Meta(min_length=2)]
    within: ModulePattern = ""
    """A package that the names in `order` are relative to."""


class ForbiddenContract(Table):
    """Modules that must not reach certain others, directly or through anything they import."""

    name: str
    from_: Some
    to: Some
    indirect: bool = True
    except_: tuple[tuple[ModulePattern, ModulePattern], ...] = ()
    """Pairs (importer, imported) that the contract does not look at."""


class AcyclicContract(Table):
    """The direct children of a package must not import each other in a circle."""

    name: str
    within: ModulePattern


class ProtectedContract(Table):
    """Modules that only some others may import directly."""

    name: str
    modules: Some
    importers: tuple[ModulePattern, ...]


class CouplingPattern(Table):
    """A name counted in files that do not own it."""

    kind: Annotated[str, Meta(pattern=r"^[^:]+$")]
    pattern: Pattern
    scope: Literal["code", "comments", "text"] = "code"
    files: tuple[Glob, ...] = _PYTHON
    owners: tuple[Glob, ...] = ()

    @property
    def names_files(self) -> bool:
        """Whether the settings say in which files, or in whose."""
        return self.files is not _PYTHON or bool(self.owners)


class ShapePolicy(Table):
    """Budgets for size, private access across modules, and import-time cycles."""

    max_function_lines: Positive | None = None
    max_file_lines: Positive | None = None
    private_access: bool = False
    cycles: bool = False
    files: tuple[Glob, ...] = _PYTHON


class LayeringPolicy(Table):
    type_checking_imports: bool = False
    layers: tuple[LayersContract, ...] = ()
    forbidden: tuple[ForbiddenContract, ...] = ()
    acyclic: tuple[AcyclicContract, ...] = ()
    protected: tuple[ProtectedContract, ...] = ()
    coupling: tuple[CouplingPattern, ...] = ()
    shape: ShapePolicy = ShapePolicy()
