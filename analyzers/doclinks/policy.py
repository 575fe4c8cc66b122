"""Settings of the documentation analyser: `[tool.gates.docs]`."""

from __future__ import annotations

from msgspec import field

from analyzers.markdown.facts import Dialect as Dialect
from analyzers.policy import Glob, Table

_GUESS = ("README.md", "docs/**/*.md")


class FolderPolicy(Table):
    """What differs for the documents below one folder."""

    dialect: Dialect


class DocsPolicy(Table):
    maintained: tuple[Glob, ...] = _GUESS
    dialect: Dialect = "github"
    folders: dict[str, FolderPolicy] = field(default_factory=dict)
    """Folder (POSIX, relative to the root) -> its own settings; the longest matching folder wins."""

    @property
    def guesses(self) -> bool:
        """Whether no settings say which documents are maintained."""
        return self.maintained is _GUESS


def dialect_of(policy: DocsPolicy, path: str) -> Dialect:
    """The dialect in which a document is written."""
    folder = _folder_of(policy, path)
    return policy.dialect if folder is None else policy.folders[folder].dialect


def site_root(policy: DocsPolicy, path: str) -> str:
    """The folder that `/` means in a document's links: the repository's root on GitHub, the documentation's in
    MkDocs (the configured folder, or `docs`, which is MkDocs's default)."""
    if dialect_of(policy, path) == "github":
        return ""
    folder = _folder_of(policy, path)
    if folder is not None:
        return normal_folder(folder)
    return "docs" if path.startswith("docs/") else ""


def _folder_of(policy: DocsPolicy, path: str) -> str | None:
    """The key of the longest configured folder that holds the path."""
    holding = [key for key in policy.folders if f"{path}/".startswith(f"{normal_folder(key)}/".lstrip("/"))]
    return max(holding, key=lambda key: len(normal_folder(key)), default=None)


def normal_folder(folder: str) -> str:
    """A folder as paths name it; empty for the root."""
    return "" if folder in (".", "./") else folder.removeprefix("./").strip("/")
