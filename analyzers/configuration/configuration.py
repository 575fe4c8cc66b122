"""The configuration of a tree: gathered file by file, from the roots to the last reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct

from analyzers.configuration.aliases import Alias, find_aliases
from analyzers.configuration.attribute_names import AttributeNamesExtractor
from analyzers.configuration.classes import Classes
from analyzers.configuration.consumers import Consumers, find_consumers
from analyzers.configuration.outline import Outline, OutlineExtractor
from analyzers.configuration.ownership import OwnedSetting, Ownership, own
from analyzers.configuration.policy import ConfigPolicy
from analyzers.configuration.program import Definition, Program
from analyzers.configuration.readers import Readers
from analyzers.configuration.reads import FileReads
from analyzers.environment.extractor import UsesExtractor
from analyzers.environment.uses import FileUses
from analyzers.facts import FactBase, Need
from analyzers.globs import matcher
from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.python.extractor import PythonExtractor


class Configuration(Struct, frozen=True, dict=True):
    """Everything that the rules and the inventory look at."""

    policy: ConfigPolicy
    ownership: Ownership
    roots: Mapping[str, Definition | None]
    """What each root of the policy stands for."""
    package: Sequence[str]
    """The files of the policy's packages."""
    settings: Sequence[OwnedSetting]
    readers: Readers
    aliases: Sequence[Alias]
    uses: Mapping[str, FileUses]

    @property
    def program(self) -> Program:
        return self.ownership.classes.program

    def unread(self) -> Iterator[OwnedSetting]:
        """The fields that nothing reads, as far as anybody can tell. One that holds configuration is left to its own
        fields."""
        counts = matcher(self.policy.readers)
        found = find_consumers(self.ownership, self._telling, frozenset(map(_name_of, self._unnamed)))
        spread = {above for owner in found.spread() for above in self.ownership.classes.get(owner).ancestors}
        for setting in self._unnamed:
            key = setting.setting.key
            read = any(consumer.reads and counts(consumer.path) for consumer in found.fields.get(key, ()))
            if not read and key.owner not in spread:
                yield setting

    @cached_property
    def unparsed(self) -> list[str]:
        """Files that matter and that could not be parsed, though they hold no syntax error."""
        failed = {path for path, outline in self.program.outlines.items() if not outline.is_read}
        failed.update(path for path, said in self._telling.items() if not said.is_read)
        return sorted(failed - self.readers.facts.problems.keys())

    @cached_property
    def _unnamed(self) -> list[OwnedSetting]:
        """The fields of whose name no reader gets at an attribute."""
        counts = matcher(self.policy.readers)
        named = set(" ".join(said.names for path, said in self.readers.names.items() if counts(path)).split())
        return [
            setting
            for setting in self.settings
            if not setting.setting.children
            and (name := _name_of(setting)) not in named
            and name[0] != "_"
            and not self.ownership.classes.is_value(setting.setting.owner)
        ]

    @property
    def further_needs(self) -> list[Need]:
        """What `unread` will gather."""
        return self.readers.needs(self._telling_paths)

    @cached_property
    def _telling(self) -> Mapping[str, FileReads]:
        """What is read in these files."""
        return self.readers.read(self._telling_paths)

    @cached_property
    def _telling_paths(self) -> list[str]:
        """The files that may get at these fields in another way, and those that may not parse."""
        owners = {setting.setting.owner for setting in self._unnamed}
        heirs = {owned.definition for owned in self.ownership if not owners.isdisjoint(owned.ancestors)}
        paths = {*self.readers.doubtful(), *self.readers.unsure_of(set(map(_name_of, self._unnamed)))}
        return sorted(paths.union(self.readers.spreading(heirs) if heirs else ()))

    @cached_property
    def reads(self) -> Mapping[str, FileReads]:
        """What is read in every file that may get at configuration and parses. No rule asks for all of it."""
        from analyzers.configuration.holders import read_with_holders

        return {path: said for path, said in read_with_holders(self.readers, self.ownership).items() if said.is_read}

    @cached_property
    def consumers(self) -> Consumers:
        """Who gets at which field."""
        return find_consumers(self.ownership, self.reads)

    @cached_property
    def package_classes(self) -> list[Definition]:
        return list(_classes_of(self.program, self.package))

    def aliases_of(self, setting: OwnedSetting) -> Iterator[Alias]:
        """The environment variables that feed a field."""
        key = setting.setting.key
        for alias in self.aliases:
            if alias.setting is not None and alias.setting.setting.key == key:
                yield alias

    def is_diagnostic(self, setting: OwnedSetting) -> bool:
        """Whether a field is declared to change nothing but what is reported."""
        declared = setting.setting.fact.keywords.get(self.policy.diagnostic_key)
        covers = pattern_matcher(self.policy.diagnostic)
        return declared == "True" or any(covers(name) for name in names_of(setting))


def names_of(setting: OwnedSetting) -> Iterator[str]:
    """What settings may call a field: `Class.field`, and its owner paths."""
    yield setting.label
    name = setting.setting.fact.name
    for owner in setting.owner_paths:
        yield f"{owner.path}.{name}".removeprefix(".").replace("[]", "")


def _name_of(setting: OwnedSetting) -> str:
    return setting.setting.key.name


def package_paths(policy: ConfigPolicy, modules: Modules) -> list[str]:
    """The files of the policy's packages, or else of the packages that the roots are in."""
    covers = pattern_matcher(policy.packages or {_package_of(root, modules) for root in policy.roots})
    return [path for path, name in zip(modules.paths, modules.names, strict=True) if covers(name)]


def first_needs(policy: ConfigPolicy, modules: Modules, environment: UsesExtractor) -> list[Need]:
    """What can be gathered before anything is known of the tree's classes."""
    return [
        Need(PythonExtractor(), modules.paths),
        Need(AttributeNamesExtractor(), modules.paths),
        Need(environment, modules.paths),
        Need(OutlineExtractor(), package_paths(policy, modules)),
    ]


def read_configuration(
    policy: ConfigPolicy, modules: Modules, facts: FactBase, environment: UsesExtractor
) -> Configuration:
    """Read the configuration of a tree. What `first_needs` asks for has been gathered; the rest is gathered here."""
    package = package_paths(policy, modules)
    program = Program(modules, partial(_outline, facts))
    roots = {name: program.locate(name) for name in policy.roots}
    classes = Classes(program, policy)
    found = [root for root in roots.values() if root is not None and root.kind == "class"]
    ownership = own(classes, found, list(_records(classes, package)))
    settings = list(ownership.settings())
    for table in policy.aliases:
        program.table(table.table)
    program.complete()
    environments = facts.of(environment, modules.paths)
    uses = {path: FileUses.from_json(fact) for path, fact in environments.items() if fact}
    return Configuration(
        policy=policy,
        ownership=ownership,
        roots=roots,
        package=package,
        settings=settings,
        readers=Readers(ownership, modules, package, facts),
        aliases=find_aliases(policy, program, settings, uses),
        uses=uses,
    )


def _outline(facts: FactBase, path: str) -> Outline:
    """The outline of one file; an empty one where it cannot be read as text."""
    if path not in facts.of(OutlineExtractor()):
        facts.gather([Need(OutlineExtractor(), [path])])
    return Outline(facts.of(OutlineExtractor()).get(path, ()))


def _package_of(root: str, modules: Modules) -> str:
    """The package of the module that a dotted class name starts with; the module where it is in none."""
    known = set(modules.names)
    name = root
    while name and name not in known:
        name = name.rpartition(".")[0]
    inside = any(other.startswith(f"{name}.") for other in known)
    return name if inside else name.rpartition(".")[0] or name or root


def _classes_of(program: Program, paths: Iterable[str]) -> Iterator[Definition]:
    for path in paths:
        for name in program.outline(path).classes:
            yield Definition(path, name, "class")


def _records(classes: Classes, paths: Iterable[str]) -> Iterator[Definition]:
    return filter(classes.is_record, _classes_of(classes.program, paths))
