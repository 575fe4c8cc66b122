"""Settings of the configuration analyser: `[tool.gates.config]`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from analyzers.policy import Glob, ModulePattern, Pattern, Table


class AliasTable(Table):
    """A table in the source that says which environment variable feeds which field.

    Its value is a tuple or list of record constructors, or a mapping from names to such records or to owner paths.
    """

    table: str
    """Dotted name of the table."""
    name: str = "name"
    """The record's argument that holds the variable's name; the keys of a mapping need none."""
    owner: str = "owner"
    """The record's argument that holds the owner path of the field."""
    parser: str = "parser"
    """The record's argument that says how the variable's text is read."""


class Resource(Table):
    """Something that exactly one field may decide on."""

    name: str
    fields: Pattern
    """Matches the whole name of every field that speaks of it."""
    owner: str
    """Owner path of the field that may."""


class ConfigPolicy(Table):
    roots: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Dotted names of the classes that own everything else."""
    packages: tuple[ModulePattern, ...] = ()
    """Modules whose classes are configuration; the packages of the roots where none is named."""
    classes: Pattern | None = None
    """What the whole name of a class in the packages matches if a root must reach it; every record, where unset."""
    readers: tuple[Glob, ...] = (".",)
    """Files whose reads count: a field that only its own test reads has no effect."""
    decorators: tuple[str, ...] = ()
    """Dotted names of further decorators that make a class a record."""
    field_constructors: tuple[str, ...] = ()
    """Dotted names of further functions that declare a field as `dataclasses.field` does."""
    hash_methods: tuple[str, ...] = ("compute_hash",)
    diagnostic: tuple[str, ...] = ()
    """Owner paths of fields that change nothing but what is reported; `*` stands for one segment."""
    diagnostic_key: str = "diagnostic"
    """Key of a field's metadata that declares the same."""
    alias_keys: tuple[str, ...] = ("env",)
    """Keys of a field's metadata that name the environment variables which feed it."""
    aliases: tuple[AliasTable, ...] = ()
    environment_owners: tuple[Glob, ...] = ()
    """Files that may read the variables which feed fields."""
    resources: tuple[Resource, ...] = ()
