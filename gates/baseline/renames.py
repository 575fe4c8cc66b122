"""Findings of an older tree under today's names, so that a renamed file is no change of its violations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from analyzers.finding import Finding

if TYPE_CHECKING:
    from analyzers.layering.modules import Modules

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")


def renamed_modules(files: Mapping[str, str], old: Modules, new: Modules) -> dict[str, str]:
    """The modules, old name -> new, whose files have been renamed."""
    today = dict(zip(new.paths, new.names, strict=True))
    names = zip(old.paths, old.names, strict=True)
    return {name: today[files[path]] for path, name in names if files.get(path) in today}


def under_new_names(findings: Iterable[Finding], files: Mapping[str, str], modules: Mapping[str, str]) -> list[Finding]:
    """The findings with the paths, and the modules in their subjects, that these have now.

    Args:
        findings: those of the older tree, with or without fingerprints; those returned need new ones.
        files: renamed files, old path -> new.
        modules: renamed modules, old name -> new. What a module holds follows it.
    """
    return [
        replace(
            finding,
            path=files.get(finding.path, finding.path),
            subject=_DOTTED.sub(lambda word: _renamed(word[0], modules), finding.subject),
        )
        for finding in findings
    ]


def _renamed(name: str, modules: Mapping[str, str]) -> str:
    """A dotted name after its longest prefix that is a renamed module has got its new name."""
    head, rest = name, ""
    while head and head not in modules:
        head, dot, last = head.rpartition(".")
        rest = dot + last + rest
    return modules[head] + rest if head else name
