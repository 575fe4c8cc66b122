"""Renames broken links that can have meant one thing only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from analyzers.doclinks.links import HasElsewhere, LinkChecker, Repair, TextOf
from analyzers.doclinks.policy import DocsPolicy, dialect_of
from analyzers.doclinks.targets import encoded
from analyzers.markdown.facts import MarkdownFacts
from analyzers.markdown.parser import PlacedLink, parse


class Edit(NamedTuple):
    """Replace the characters from `start` to `end` of a file's text."""

    path: str
    start: int
    end: int
    replacement: str


def plan_fixes(
    policy: DocsPolicy,
    paths: Iterable[str],
    documents: Mapping[str, MarkdownFacts],
    text_of: TextOf,
    has_elsewhere: HasElsewhere,
) -> list[Edit]:
    """The edits that put right what can be; in order of path and place, none overlapping another.

    Takes what `find_broken_links` takes, but `text_of` gives the exact text of a file, with its own newlines and
    byte order mark: the edits' offsets count its characters.
    """
    checker = LinkChecker(policy, paths, documents, text_of, has_elsewhere)
    edits: list[Edit] = []
    for path in checker.maintained():
        repairs = {index: broken.repair for index, broken in checker.broken_in(path) if broken.repair}
        text = text_of(path) if repairs else None
        if text is not None:
            links = parse(text, dialect_of(policy, path)).links
            if len(links) == len(documents[path].links):
                edits.extend(_edits(path, text, ((links[index], repair) for index, repair in repairs.items())))
    return edits


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text of one file after the edits; every other character stays."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.replacement + text[edit.end :]
    return text


def _edits(path: str, text: str, repairs: Iterable[tuple[PlacedLink, Repair]]) -> Iterator[Edit]:
    """Leaves links alone whose target holds escapes or entities, or could not be found in the text."""
    for link, repair in repairs:
        written = text[link.target_start : link.target_end]
        if link.target_start >= 0 and written == link.destination:
            yield Edit(path, link.target_start, link.target_end, _renamed(written, repair))


def _renamed(target: str, repair: Repair) -> str:
    """The target with its repaired parts, in the encoding that it already uses."""
    head, mark, fragment = target.partition("#")
    path, query_mark, query = head.partition("?")
    if repair.path is not None:
        path = encoded(repair.path, target)
    if repair.fragment is not None:
        fragment = encoded(repair.fragment, target)
    return f"{path}{query_mark}{query}{mark}{fragment}"
