"""What a configuration policy says that the tree contradicts."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.configuration.configuration import Configuration, names_of
from analyzers.configuration.policy import ConfigPolicy
from analyzers.layering.modules import Modules, pattern_matcher
from analyzers.nearest import nearest
from analyzers.policy import Misfit
from analyzers.python.nodes import last_part


def check_packages(policy: ConfigPolicy, modules: Modules) -> Iterator[Misfit]:
    """Packages that are not there."""
    for index, pattern in enumerate(policy.packages):
        covers = pattern_matcher([pattern])
        if not any(map(covers, modules.names)):
            depth = pattern.count(".")
            alike = {name for name in modules.names if name.count(".") == depth}
            yield Misfit(("config", "packages", index), f"no module is called {pattern!r}", nearest(pattern, alike))


def check_names(configuration: Configuration, modules: Modules) -> Iterator[Misfit]:
    """Roots, tables, owner paths and patterns that lead nowhere."""
    policy = configuration.policy
    outlines = configuration.program.outlines
    classes = configuration.ownership.classes
    all_read = all(outline.is_read for outline in outlines.values())
    for index, root in enumerate(policy.roots):
        found = configuration.roots[root]
        if found is None and not all_read:
            continue  # a file that cannot be read today is a finding, and no mistake of the settings
        if found is None or found.kind != "class":
            known = {_full_name(configuration, modules, path) for path in configuration.program.outlines}
            yield Misfit(("config", "roots", index), f"there is no class {root!r}", nearest(root, set().union(*known)))
        elif not classes.is_record(found) and not classes.get(found).settings:
            yield Misfit(("config", "roots", index), f"the class {root!r} declares no field")
    if not all(configuration.roots.values()):
        return
    for index, table in enumerate(policy.aliases):
        if configuration.program.table(table.table) is None:
            near = nearest(table.table, set(_tables(configuration, modules)))
            yield Misfit(("config", "aliases", index, "table"), f"there is no table {table.table!r}", near)
    for index, resource in enumerate(policy.resources):
        field = last_part(resource.owner)
        alike = [setting for setting in configuration.settings if setting.setting.fact.name == field]
        if not any(resource.owner in names_of(setting) for setting in alike):
            message = f"no field is called {resource.owner!r}"
            yield Misfit(
                ("config", "resources", index, "owner"), message, nearest(resource.owner, _fields(configuration))
            )
    for index, pattern in enumerate(policy.diagnostic):
        if not any(map(pattern_matcher([pattern]), _fields(configuration))):
            message = f"no field is called {pattern!r}"
            yield Misfit(("config", "diagnostic", index), message, nearest(pattern, _fields(configuration)))


def _fields(configuration: Configuration) -> set[str]:
    """Everything that settings may call a field."""
    return {name for setting in configuration.settings for name in names_of(setting)}


def _full_name(configuration: Configuration, modules: Modules, path: str) -> frozenset[str]:
    """The dotted names of the classes in a file."""
    module = modules.names[modules.number[path]]
    return frozenset(f"{module}.{name}" for name in configuration.program.outline(path).classes)


def _tables(configuration: Configuration, modules: Modules) -> Iterator[str]:
    for path, outline in configuration.program.outlines.items():
        for name in outline.tables:
            yield f"{modules.names[modules.number[path]]}.{name}"
