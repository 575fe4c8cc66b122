"""What a link's destination asks for."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote

from msgspec import Struct

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""RFC 3986, section 3.1, but of two letters or more: `C:` is a drive."""

_PLAIN = frozenset("/-._~+,=@!$;")
"""Characters that mean themselves in a destination wherever it stands: bare, in angle brackets, in HTML."""

_TEMPLATE = ("{{", "{%", "${")
"""A destination that a template engine (Jinja, Liquid, a shell) completes cannot be judged."""

_LINES = re.compile(r"L([0-9]+)(?:C[0-9]+)?(?:-L?([0-9]+)(?:C[0-9]+)?)?")
"""https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/creating-a-permanent-link-to-a-code-snippet"""

# fmt: off
_REPOSITORY_PAGES = frozenset({
    "actions", "blame", "blob", "branches", "commits", "compare", "contributors", "discussions", "graphs",
    "issues", "labels", "milestones", "network", "packages", "projects", "pull", "pulls", "raw", "releases",
    "security", "stargazers", "tags", "tree", "wiki",
})
# fmt: on
"""First path segments of a GitHub repository's own pages, which documents reach as `../../issues`."""


class Target(Struct, frozen=True):
    """A local destination, percent-decoded."""

    path: str
    """As written; empty for the document itself."""
    query: str
    fragment: str


def local_target(destination: str) -> Target | None:
    """The parts of a local destination; None for one that leads elsewhere or that a template completes."""
    if _SCHEME.match(destination) or destination.startswith("//"):
        return None
    if any(mark in destination for mark in _TEMPLATE):
        return None
    rest, _, fragment = destination.partition("#")
    path, _, query = rest.partition("?")
    return Target(unquote(path), query, unquote(fragment))


def encoded(part: str, target: str) -> str:
    """A path or fragment as it can stand in `target`'s place: percent-encoded, but for spaces and letters of any
    script where the target holds them as they are."""
    letters_as_they_are = "%" not in target or not target.isascii()
    return "".join(
        character
        if character in _PLAIN
        or (character.isalnum() and (character.isascii() or letters_as_they_are))
        or (character == " " and " " in target)
        else quote(character, safe="")
        for character in part
    )


def within(root: str, folder: str, path: str) -> str:
    """Where `path`, written in `folder`, leads: relative to the tree's root, starting with `..` when above it.
    `root` is the folder that a leading slash stands for."""
    base = root if path.startswith("/") else folder
    normal = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    return "" if normal == "." else normal


def levels_above(path: str) -> int:
    """How many folders a normalised path climbs above the root."""
    return path.split("/").count("..")


def is_repository_page(path: str) -> bool:
    """Is this, seen from where GitHub shows the repository's files (`blob/BRANCH/`), one of its pages on GitHub?"""
    parts = path.split("/")
    return parts[:2] == ["..", ".."] and (len(parts) == 2 or parts[2] in _REPOSITORY_PAGES)


def line_range(fragment: str) -> tuple[int, int] | None:
    """First and last line that a fragment such as `L10C3-L20C5` selects, or None when it selects none."""
    match = _LINES.fullmatch(fragment)
    if match is None:
        return None
    first = int(match[1][:12])
    return first, int(match[2][:12]) if match[2] else first
