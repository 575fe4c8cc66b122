"""Where a tree keeps its documentation, and in which dialect."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from glob import escape

from msgspec import Struct

from analyzers.globs import matcher

_DOCS_DIR = re.compile(rb"""^docs_dir[ \t]*:[ \t]*["']?([^"'#\r\n]+)""", re.MULTILINE)
_FOLDER_NAMES = frozenset({"doc", "docs", "documentation"})
_MOST_AT_THE_TOP = 8
"""With more documents than this at the root, one pattern stands for all of them."""


class Documents(Struct, frozen=True):
    patterns: tuple[str, ...]
    """Globs that cover the documents worth keeping."""
    count: int
    """How many documents they cover."""
    mkdocs: tuple[str, ...]
    """Folders that an mkdocs.yml builds a site from."""


def detect_documents(paths: Iterable[str], read: Callable[[str], bytes | None]) -> Documents:
    """The documents at the root, those in documentation folders, and each folder's README."""
    paths = list(paths)
    documents = [path for path in paths if path.endswith(".md")]
    mkdocs = {_docs_dir(path, read) for path in paths if posixpath.basename(path) in ("mkdocs.yml", "mkdocs.yaml")}
    mkdocs = {folder for folder in mkdocs if any(document.startswith(f"{folder}/") for document in documents)}
    folders = mkdocs | {folder for folder in map(_documentation_folder, documents) if folder}
    topmost = {folder for folder in folders if not any(folder.startswith(f"{other}/") for other in folders)}

    top = [escape(path) for path in documents if "/" not in path]
    patterns = top if len(top) <= _MOST_AT_THE_TOP else ["*.md"]
    patterns += [f"{escape(folder)}/**/*.md" for folder in sorted(topmost)]
    covered = matcher(patterns)
    if any(posixpath.basename(path) == "README.md" and not covered(path) for path in documents):
        patterns.append("**/README.md")
    count = sum(map(matcher(patterns), documents))
    return Documents(tuple(patterns), count, tuple(sorted(mkdocs)))


def _docs_dir(path: str, read: Callable[[str], bytes | None]) -> str:
    """The folder, relative to the root, that an mkdocs.yml names; MkDocs' own default is `docs` beside it."""
    found = _DOCS_DIR.search(read(path) or b"")
    name = found[1].decode("utf-8", "replace").strip() if found else "docs"
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _documentation_folder(path: str) -> str:
    """The topmost folder above a document whose name says documentation; empty when there is none."""
    parts = path.split("/")[:-1]
    for depth, part in enumerate(parts, start=1):
        if part.lower() in _FOLDER_NAMES:
            return "/".join(parts[:depth])
    return ""
