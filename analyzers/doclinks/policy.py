"""Settings of the documentation analyser: `[tool.gates.docs]`."""

from __future__ import annotations

from typing import Literal

from analyzers.policy import Glob, Table

Dialect = Literal["github", "mkdocs"]


class FolderPolicy(Table):
    """What differs for the documents below one folder."""

    dialect: Dialect


class DocsPolicy(Table):
    maintained: tuple[Glob, ...] = ("README.md", "docs/**/*.md")
    dialect: Dialect = "github"
    folders: dict[str, FolderPolicy] = {}
    """Folder (POSIX, relative to the root) -> its own settings; the longest matching folder wins."""
