"""What a change changes: two trees, compared subject by subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from analyzers.evidence.surface import Subject

_LONGEST = 60
"""Characters of a value that are told."""


class Change(NamedTuple):
    """One subject that is not what it was."""

    was: Subject | None
    """None where it is new."""
    now: Subject | None
    """None where it is gone."""
    parts: tuple[str, ...] = ()
    """What differs, in words, where it is neither and that can be told."""

    @property
    def subject(self) -> Subject:
        """As it is, or as it was."""
        found = self.now or self.was
        assert found is not None
        return found

    @property
    def words(self) -> str:
        """What became of it, such as `head_dims: 64 -> 64, 128`."""
        if self.was is None:
            return "added"
        return "; ".join(self.parts or ("altered",)) if self.now else "removed"

    def is_named(self, words: Iterable[str]) -> bool:
        """Whether one of some words names the subject, or what it lies below.

        A route is named with its table or without it, a file also by a folder above it, a setting by an owner above.
        """
        subject = self.subject
        if subject.sort == "route":
            return not {subject.name, subject.name.removeprefix(f"{subject.table}/")}.isdisjoint(words)
        separator = "." if subject.sort == "setting" else "/"
        return any(f"{subject.name}{separator}".startswith(f"{word.rstrip(separator)}{separator}") for word in words)


def changes_between(was: Iterable[Subject], now: Iterable[Subject]) -> list[Change]:
    """Every subject that is new, gone or not as it was, in the order of the trees."""
    before = {(subject.sort, subject.name): subject for subject in was}
    after = {(subject.sort, subject.name): subject for subject in now}
    kept = {subject.name for key, subject in after.items() if key in before}
    found = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        parts = tuple(_differences(old, new, kept)) if old and new else ()
        if parts or not (old and new):
            found.append(Change(old, new, parts))
    return found


def _differences(was: Subject, now: Subject, kept: set[str]) -> Iterator[str]:
    for field in dict.fromkeys((*was.facts, *now.facts)):
        old, new = (_short(facts.get(field, "")) for facts in (was.facts, now.facts))
        if was.facts.get(field, "") != now.facts.get(field, ""):
            yield f"{field}: {old} -> {new}"
    if was.calls != now.calls:
        yield f"the static plan gives it {counted(now.calls - was.calls)} more and {len(was.calls - now.calls)} fewer"
    if _common(was.earlier, kept) != _common(now.earlier, kept):
        yield "other routes are asked before it"


def counted(calls: frozenset[str]) -> str:
    """The number of calls of a plan, in words."""
    return f"{len(calls)} call" if len(calls) == 1 else f"{len(calls)} calls"


def _common(earlier: tuple[str, ...], kept: set[str]) -> list[str]:
    return sorted(name for name in earlier if name in kept)


def _short(value: str) -> str:
    return value[:_LONGEST] + "..." * (len(value) > _LONGEST) or "unset"
