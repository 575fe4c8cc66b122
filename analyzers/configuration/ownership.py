"""Who owns whom: every way from a root to a configuration class."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from analyzers.configuration.classes import Classes, ConfigClass, Setting
from analyzers.configuration.program import Definition

_MOST_PATHS = 5_000
"""Of all classes together. The shortest are kept: a web of classes has more ways through it than anyone can read."""


class OwnerPath(Struct, frozen=True):
    """One way from a root to a class or field."""

    root: str
    """Name of the root class."""
    path: str
    """Dotted, `[]` behind a field that holds many; empty for the root itself."""

    def to(self, field: str) -> OwnerPath:
        return OwnerPath(self.root, f"{self.path}.{field}" if self.path else field)


class OwnedSetting(Struct, frozen=True):
    """A field of a class that some root reaches."""

    owner: ConfigClass
    """The class that the roots reach; it may have inherited the field."""
    setting: Setting
    owner_paths: tuple[OwnerPath, ...]
    """Of the class."""

    @property
    def paths(self) -> list[OwnerPath]:
        """Every way from a root to the field, shortest first."""
        return [path.to(self.setting.fact.name) for path in self.owner_paths]

    @property
    def label(self) -> str:
        """`Class.field`, by the class that declares it."""
        return f"{self.setting.owner.name}.{self.setting.fact.name}"


class Ownership(Struct, frozen=True):
    """The classes that roots reach."""

    classes: Classes
    paths: Mapping[Definition, tuple[OwnerPath, ...]]
    """Shortest first."""
    truncated: bool
    """Whether there are more ways than were followed."""

    def __contains__(self, definition: object) -> bool:
        return definition in self.paths

    def __iter__(self) -> Iterator[ConfigClass]:
        return map(self.classes.get, self.paths)

    def ancestors(self) -> set[Definition]:
        """The owned classes, and all that they inherit from."""
        return {ancestor for owned in self for ancestor in owned.ancestors}

    def settings(self) -> Iterator[OwnedSetting]:
        """Every field of every owned class."""
        for owned in self:
            for setting in owned.settings.values():
                yield OwnedSetting(owned, setting, self.paths[owned.definition])


class _Step(Struct, frozen=True):
    definition: Definition
    path: OwnerPath
    above: frozenset[Definition]


def own(classes: Classes, roots: Iterable[Definition], candidates: Iterable[Definition]) -> Ownership:
    """Follow annotations from the roots. A class that is met again below itself is not followed a second time.

    Args:
        classes: all classes.
        roots: where ways start.
        candidates: classes that may stand in for an owned one because they inherit from it.
    """
    roots = list(roots)
    waiting = deque(_Step(root, OwnerPath(root.name, ""), frozenset()) for root in roots)
    paths: dict[Definition, dict[OwnerPath, None]] = {}
    heirs: dict[Definition, list[Definition]] = {}
    for candidate in candidates:
        for ancestor in classes.get(candidate).ancestors[1:]:
            heirs.setdefault(ancestor, []).append(candidate)
    followed = 0
    while waiting and followed < _MOST_PATHS:
        step = waiting.popleft()
        known = paths.setdefault(step.definition, {})
        if step.path in known:
            continue
        followed += 1
        known[step.path] = None
        waiting += (replace(step, definition=heir) for heir in heirs.get(step.definition, ()))
        above = step.above | {step.definition}
        for name, setting in classes.get(step.definition).settings.items():
            for child, many in setting.children:
                if child not in above:
                    waiting.append(_Step(child, step.path.to(f"{name}[]" if many else name), above))
    return Ownership(classes, {definition: tuple(found) for definition, found in paths.items()}, bool(waiting))
