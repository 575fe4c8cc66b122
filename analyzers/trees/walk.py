"""Finding files without git: a walk that respects .gitignore files and stays out of what nobody wrote."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_NEVER = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules"})


class Walk(NamedTuple):
    """POSIX paths, relative to the root."""

    files: list[str]
    unlisted: dict[str, str]
    """Folders that could not be listed, each with the reason."""


def walk(root: Path) -> Walk:
    """Every file below `root`.

    Left out are version-control folders, `__pycache__`, `node_modules`, virtual environments (a folder with a
    `pyvenv.cfg`), and what the .gitignore files of the tree exclude.
    """
    found = Walk([], {})
    _walk_folder(root, "", (), found)
    return found


def _walk_folder(root: Path, folder: str, specs: tuple[tuple[str, GitIgnoreSpec], ...], found: Walk) -> None:
    try:
        with os.scandir(root / folder) as entries:
            names = {entry.name: entry for entry in entries}
    except OSError as error:
        found.unlisted[folder or "."] = error.strerror or str(error)
        return
    if "pyvenv.cfg" in names and folder:
        return
    if ".gitignore" in names:
        specs = (*specs, (folder, _gitignore(root / folder / ".gitignore")))
    for name in sorted(names):
        path = f"{folder}/{name}" if folder else name
        is_folder = names[name].is_dir(follow_symlinks=False)
        if name in _NEVER or _ignored(path, is_folder, specs):
            continue
        if is_folder:
            _walk_folder(root, path, specs, found)
        else:
            found.files.append(path)


def _gitignore(file: Path) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(file.read_text("utf-8", "replace").splitlines())
    except OSError:
        return GitIgnoreSpec([])


def _ignored(path: str, is_folder: bool, specs: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    """The deepest .gitignore with an opinion decides, as in git."""
    for folder, spec in reversed(specs):
        inner = path[len(folder) + 1 :] if folder else path
        verdict = spec.check_file(f"{inner}/" if is_folder else inner).include
        if verdict is not None:
            return verdict
    return False
