"""The modules whose declarations the settings name, and the reader of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analyzers.declarations.modules import DeclaredModule
from analyzers.declarations.outline import UNPARSED, Outline, OutlineExtractor
from analyzers.declarations.reader import Reader
from analyzers.facts import FactBase, Need
from analyzers.layering.modules import pattern_matcher
from gates.gate import Context


class DeclaredModules:
    """The modules of some symbols, and others that may be read because their names may stand in declarations."""

    def __init__(self, context: Context, symbols: Iterable[str], patterns: Sequence[str]) -> None:
        """Find the modules.

        Args:
            context: the tree.
            symbols: dotted names, each of a module and of what it binds.
            patterns: the other modules; what they cover outside of the tree stands for itself.
        """
        wanted = {symbol.rpartition(".")[0] for symbol in symbols}
        self._covered = pattern_matcher(patterns)
        modules = context.modules
        self.paths: Mapping[str, str] = {
            name: path
            for name, path in zip(modules.names, modules.paths, strict=True)
            if name in wanted or self._covered(name)
        }

    def need(self) -> Need:
        return Need(OutlineExtractor(), [*self.paths.values()])

    def reader(self, facts: FactBase) -> Reader:
        """Reads the modules, once what they need has been gathered."""
        outlines = facts.of(OutlineExtractor())
        modules = {
            name: DeclaredModule(name, path, Outline.from_json(outlines[path]) if path in outlines else UNPARSED)
            for name, path in self.paths.items()
        }
        return Reader(modules, self._covered)
