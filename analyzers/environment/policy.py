"""Settings of the environment analyser: `[tool.gates.env]`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from analyzers.environment.extractor import UsesExtractor
from analyzers.environment.mentions import Vocabulary
from analyzers.policy import Glob, Table, Text


class RegistryPolicy(Table):
    """Where variables are registered, and what each registration has to say."""

    files: Annotated[tuple[Glob, ...], Meta(min_length=1)]
    symbol: str = ""
    """The mapping, tuple or class that holds the registrations."""
    decorator: str = ""
    """What marks registered functions, where there is no such symbol."""
    accessor: str = ""
    """What code reads the registry through: `envs` for `envs.VLLM_PORT`."""
    captured: bool = False
    """The variables are read all at once, from a copy of the environment: none is read by its name."""
    needs: tuple[str, ...] = ()
    """The fields that each registration states, as literals."""
    category: str = "category"
    categories: tuple[str, ...] = ()
    """The values that the field of the category may have."""
    default: str = "default"
    deprecation: str = "deprecation"
    deprecation_needs: tuple[str, ...] = ("kind", "reason", "evidence", "replacement")


class EnvironmentPolicy(Table):
    prefixes: Annotated[tuple[Text, ...], Meta(min_length=1)]
    """What the names of the tree's own variables start with; others need no registration."""
    files: tuple[Glob, ...] = (".",)
    """The Python, C, C++ and CUDA files whose uses count."""
    registries: tuple[RegistryPolicy, ...] = ()
    wrappers: tuple[str, ...] = ()
    """Functions that read the variable that their first argument names."""
    initialisation: tuple[Glob, ...] | None = None
    """The files that may read the tree's own variables, beside the registries; unset means every file."""
    documents: tuple[Glob, ...] = ()
    """The Markdown files that describe the variables."""
    reference: Glob = "docs/reference/environment.md"
    """The generated page; empty for none."""

    @property
    def extractor(self) -> UsesExtractor:
        """Reads the uses of the environment that these settings ask for."""
        accessors = sorted({registry.accessor for registry in self.registries if registry.accessor})
        return UsesExtractor(self.wrappers, Vocabulary(self.prefixes, tuple(accessors)))
