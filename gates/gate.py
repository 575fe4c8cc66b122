"""What a gate is: the name of an analyser, its rules, and how settings become its question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from analyzers.decoding import decode
from analyzers.facts import FactBase, Need
from analyzers.finding import Finding, Rule
from analyzers.globs import matcher
from analyzers.layering.modules import Modules
from analyzers.policy import Misfit
from analyzers.trees.tree import Tree
from gates.settings.errors import SettingsError
from gates.settings.load import Loaded
from gates.settings.model import Settings


class Context(Struct, frozen=True, eq=False, dict=True):
    """One tree under one set of settings."""

    loaded: Loaded
    tree: Tree
    past: bool = False
    """The tree may be older than the settings: that it lacks something they name is then no mistake."""

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @cached_property
    def paths(self) -> list[str]:
        """The files that the gates look at: the tree's, less `exclude`."""
        excluded = matcher(self.settings.exclude)
        return [path for path in self.tree.paths if not excluded(path)]

    @cached_property
    def modules(self) -> Modules:
        """The Python modules among them."""
        return Modules(self.paths, self.settings.source_roots)

    def refuse(self, misfits: Iterable[Misfit]) -> None:
        """Refuse the settings if one of them cannot be meant.

        Raises:
            SettingsError: with all that cannot.
        """
        mistakes = [self.loaded.source.mistake(misfit.key, misfit.message, misfit.nearest) for misfit in misfits]
        if mistakes:
            raise SettingsError(self.loaded.file, mistakes)

    def text_of(self, path: str) -> str | None:
        """The text of a file of the tree; None when it cannot be read as text."""
        data = self.tree.read(path)
        text = None if data is None else decode(path, data)
        return text if isinstance(text, str) else None


class Judge(Protocol):
    """Whoever answers for some rules."""

    name: str
    """Also the name of its settings table."""
    summary: str
    rules: tuple[Rule, ...]


class Gate(Judge, Protocol):
    """Judges a tree, and has a baseline of its name. Adding one means a module with such an object in it and a line in
    the registry."""

    def needs(self, context: Context) -> Sequence[Need]:
        """The facts to gather.

        Raises:
            SettingsError: the gate's table does not fit the tree.
        """
        ...

    def findings(self, context: Context, facts: FactBase) -> list[Finding]:
        """Everything that breaks one of the gate's rules, whether accepted or not."""
        ...
