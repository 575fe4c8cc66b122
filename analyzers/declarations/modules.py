"""The modules that may be read, and what a name in one of them stands for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from analyzers.declarations.outline import Outline
from analyzers.python.bindings import Binding


class DeclaredModule(Struct, frozen=True):
    """A module that may be read."""

    name: str
    """Dotted."""
    path: str
    outline: Outline

    @property
    def package(self) -> str:
        """What its relative imports start from."""
        is_package = self.path == "__init__.py" or self.path.endswith("/__init__.py")
        return self.name if is_package else self.name.rpartition(".")[0]

    def defines(self, name: str) -> bool:
        """Whether the module itself binds a name, other than by an import."""
        outline = self.outline
        return any(name in known for known in (outline.names, outline.unfit, outline.classes, outline.functions))


class ModuleIndex:
    """Modules by their dotted names."""

    def __init__(self, modules: Mapping[str, DeclaredModule]) -> None:
        self.modules = modules

    def absolute(self, module: DeclaredModule, name: str, imported: Binding | None = None) -> str:
        """A dotted name of a module, in full; the name itself where its first part is not imported.

        Args:
            module: where the name is used.
            name: the name.
            imported: how the first part is imported there, if not as the module itself says.
        """
        first, _, rest = name.partition(".")
        binding = imported or module.outline.imports.get(first)
        if binding is None:
            return name
        level, source, attribute = binding
        if level:
            package = module.package.split(".")
            source = ".".join(filter(None, (*package[: len(package) - level + 1], source)))
        return ".".join(filter(None, (source, attribute, rest)))

    def owner(
        self, module: DeclaredModule, name: str, imported: Binding | None = None
    ) -> tuple[DeclaredModule, str] | None:
        """The module that binds what a dotted name of another one stands for, and its name there.

        A module may hand on what it imports. None where the name leads out of the modules. The arguments are those of
        `absolute`.
        """
        seen = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            first = name.partition(".")[0]
            if imported is None and module.defines(first):
                return module, name
            parts = self.absolute(module, name, imported).split(".")
            imported = None
            ends = range(len(parts) - 1, 0, -1)
            found = next((end for end in ends if ".".join(parts[:end]) in self.modules), None)
            if found is None:
                return None
            module, name = self.modules[".".join(parts[:found])], ".".join(parts[found:])
            if name.partition(".")[0] not in module.outline.imports:
                return module, name
        return None
