"""Names across files: what a dotted name in one file was defined as, through imports, re-exports and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from analyzers.configuration.outline import ClassFact, Outline, TypeName
from analyzers.layering.modules import Modules
from analyzers.layering.resolution import Resolver
from analyzers.python.bindings import Binding


class Definition(Struct, frozen=True):
    """Where a name is defined."""

    path: str
    name: str
    """Dotted from its module; empty where the module itself is meant."""
    kind: Literal["module", "class", "function", "alias"]


class Program:
    """The modules of a tree, of which only those are read that a name leads to."""

    def __init__(self, modules: Modules, read: Callable[[str], Outline]) -> None:
        self.modules = modules
        self.outlines: dict[str, Outline] = {}
        """Of the files that have been read, until `complete` says that these are all that declare configuration."""
        self._others: dict[str, Outline] = {}
        """Of those that were read later: they only hand it on."""
        self._open = self.outlines
        self._read = read
        self._resolver = Resolver(modules, ())
        self._numbers = {name: number for number, name in reversed([*enumerate(modules.names)])}
        self._known: dict[tuple[str, str], Definition | None] = {}

    def outline(self, path: str) -> Outline:
        known = self.outlines if path in self.outlines else self._open
        if path not in known:
            known[path] = self._read(path)
        return known[path]

    def complete(self) -> None:
        """Keep what is read from now on apart: what was not needed so far is no part of the configuration."""
        self._open = self._others

    def class_fact(self, definition: Definition) -> ClassFact:
        return self.outline(definition.path).classes[definition.name]

    def locate(self, name: str) -> Definition | None:
        """What an absolute dotted name stands for."""
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            number = self._numbers.get(".".join(parts[:count]))
            if number is not None:
                return self._attributes(Definition(self.modules.paths[number], "", "module"), parts[count:])
        return None

    def table(self, name: str) -> tuple[str, str] | None:
        """The file and the name of a table that an absolute dotted name stands for."""
        module, _, symbol = name.rpartition(".")
        found = self.locate(module)
        if found is None or found.kind != "module" or symbol not in self.outline(found.path).tables:
            return None
        return found.path, symbol

    def resolve(self, path: str, name: str) -> Definition | None:
        """What a dotted name in a file stands for; None where it leads out of the tree or nowhere."""
        key = (path, name)
        if key not in self._known:
            head, *rest = name.split(".")
            binding = self.outline(path).imports.get(head)
            if binding is not None and not binding.name and rest:
                self._known[key] = self.imported(path, binding, rest)
            else:
                found = self._member(path, head, set())
                self._known[key] = self._attributes(found, rest) if found else None
        return self._known[key]

    def imported(self, path: str, binding: Binding, rest: list[str]) -> Definition | None:
        """What an imported name of a file, and attributes of it, stand for."""
        for count in range(len(rest) if not binding.name else 0, -1, -1):
            module = ".".join((binding.module, *rest[:count]))
            found = self._from(path, binding._replace(module=module), set())
            if found is not None and (found := self._attributes(found, rest[count:])):
                return found
        return None

    def types(
        self, path: str, names: list[TypeName], seen: frozenset[Definition] = frozenset()
    ) -> Iterator[tuple[Definition, bool]]:
        """The classes that some type names in a file lead to, and whether the value holds many of them.

        Names that were `seen` stand for themselves, and so for nothing.
        """
        for name, many in names:
            found = self.resolve(path, name)
            if found is None or found in seen:
                continue
            if found.kind == "class":
                yield found, many
            elif found.kind == "alias":
                inner = self.outline(found.path).aliases[found.name]
                for definition, inner_many in self.types(found.path, inner, seen | {found}):
                    yield definition, many or inner_many

    def _attributes(self, found: Definition, names: list[str]) -> Definition | None:
        for name in names:
            inner = self._attribute(found, name)
            if inner is None:
                return None
            found = inner
        return found

    def _attribute(self, owner: Definition, name: str) -> Definition | None:
        if owner.kind == "module":
            return self._member(owner.path, name, set()) or self._submodule(owner.path, name)
        nested = f"{owner.name}.{name}"
        if owner.kind == "class" and nested in self.outline(owner.path).classes:
            return Definition(owner.path, nested, "class")
        return None

    def _member(self, path: str, name: str, seen: set[tuple[str, str]]) -> Definition | None:
        """What a file binds a name to."""
        if (path, name) in seen:
            return None
        seen.add((path, name))
        outline = self.outline(path)
        if name in outline.classes:
            return Definition(path, name, "class")
        if name in outline.functions:
            return Definition(path, name, "function")
        if name in outline.imports and (found := self._from(path, outline.imports[name], seen)):
            return found
        if name in outline.aliases:
            return Definition(path, name, "alias")
        for star in outline.stars:
            module = self._from(path, star, seen)
            if module is not None and (found := self._member(module.path, name, seen)):
                return found
        return None

    def _from(self, path: str, binding: Binding, seen: set[tuple[str, str]]) -> Definition | None:
        """What an import statement of a file takes."""
        names = self._resolver.folder(path.rpartition("/")[0])[binding.level, 0][binding.module]
        module, target = names[""], names[binding.name]
        if not isinstance(target, int) or not names.held:
            return None
        if target != module or not binding.name:
            return Definition(self.modules.paths[target], "", "module")
        return self._member(self.modules.paths[target], binding.name, seen)

    def _submodule(self, path: str, name: str) -> Definition | None:
        place = path.removesuffix("/__init__.py")
        number = self.modules.at(f"{place}/{name}") if place != path else None
        return None if number is None else Definition(self.modules.paths[number], "", "module")
