"""Decides which links of the maintained documents lead nowhere."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import takewhile

from msgspec import Struct

from analyzers.doclinks.paths import PathIndex
from analyzers.doclinks.policy import DocsPolicy, dialect_of, site_root
from analyzers.doclinks.targets import (
    Target,
    encoded,
    is_repository_page,
    levels_above,
    line_range,
    local_target,
    within,
)
from analyzers.finding import Finding
from analyzers.globs import matcher
from analyzers.markdown.facts import Link, MarkdownFacts

TextOf = Callable[[str], str | None]
"""The text of a file of the tree; None when it is not text."""

HasElsewhere = Callable[[str], bool | None]
"""Whether the repository has something at a path that is none of the tree's: see `Tree.has_elsewhere`."""

_DEEPEST = 100
"""Folders that may lie between the top of a repository and the root."""

_INDEX_NAMES = ("README.md", "readme.md", "index.md")
_ALWAYS_THERE = ("user-content-fn", "fn-", "fnref-", "fn:", "fnref:", "__", ":~:")
"""Fragments that renderers define on their own: footnotes, Material's tabs and code lines, text fragments."""


class Repair(Struct, frozen=True):
    """The one target that a broken link can have meant, decoded. None: that part stays as it is."""

    path: str | None
    fragment: str | None


class Broken(Struct, frozen=True):
    """A link that breaks a rule."""

    rule: str
    message: str
    hint: str
    repair: Repair | None


def find_broken_links(
    policy: DocsPolicy,
    paths: Iterable[str],
    documents: Mapping[str, MarkdownFacts],
    text_of: TextOf,
    has_elsewhere: HasElsewhere,
) -> list[Finding]:
    """What is wrong with the links of a tree's maintained documents.

    Args:
        policy: the documents to check and how they are rendered.
        paths: every file of the tree, POSIX, relative to the root.
        documents: the facts of the tree's Markdown files, each in its own dialect (`dialect_of`). A file without
            facts may be linked to, but its anchors are not checked.
        text_of: asked only for files that a link selects lines of, and for HTML files that it names an anchor of.
        has_elsewhere: asked for what is not among the paths; what it knows may be linked to, unread.
    """
    checker = LinkChecker(policy, paths, documents, text_of, has_elsewhere)
    findings = list(_missing_documents(policy, checker.index))
    for path in checker.maintained():
        for index, broken in checker.broken_in(path):
            link = documents[path].links[index]
            place = (link.line, link.column, "", link.target)
            findings.append(Finding(broken.rule, path, *place, broken.message, broken.hint))
    return findings


def _missing_documents(policy: DocsPolicy, index: PathIndex) -> Iterator[Finding]:
    """Only patterns that the settings name: the default ones are a guess."""
    if policy.guesses:
        return
    for pattern in policy.maintained:
        if any(map(matcher([pattern]), index.files)):
            continue
        literal = not any(mark in pattern for mark in "*?[")
        message = f'"{pattern}" is listed as maintained, but '
        message += "there is no such document" if literal else "the pattern matches no document"
        likely = (index.spelled_otherwise(pattern) or index.close_to(pattern) or index.near(pattern)) if literal else []
        yield Finding("DOC007", pattern, 0, 0, "", pattern, message, _did_you_mean(likely))


def _did_you_mean(suggestions: Sequence[str]) -> str:
    """A hint that names the one or two likeliest."""
    named = " or ".join(f'"{suggestion}"' for suggestion in suggestions[:2])
    return f"did you mean {named}?" if named else ""


class _Origin(Struct, frozen=True):
    """The document that a link stands in."""

    document: str
    mkdocs: bool
    root: str
    """The folder that a leading slash stands for."""
    folders: list[str]
    """The folders that a relative path may start from, the document's own first."""


class LinkChecker:
    """Judges the links of one tree."""

    def __init__(
        self,
        policy: DocsPolicy,
        paths: Iterable[str],
        documents: Mapping[str, MarkdownFacts],
        text_of: TextOf,
        has_elsewhere: HasElsewhere,
    ) -> None:
        self.index = PathIndex(paths)
        self._policy = policy
        self._documents = documents
        self._anchors_of = cache(self._read_anchors)
        self._line_count = cache(lambda path: _count_lines(text_of(path)))
        self._text_of = text_of
        self._has_elsewhere = cache(has_elsewhere)

    def maintained(self) -> list[str]:
        """The documents to check, in order."""
        return sorted(filter(matcher(self._policy.maintained), self._documents))

    def broken_in(self, path: str) -> Iterator[tuple[int, Broken]]:
        """The broken links of one document, in order, each with its index among all."""
        origin = _origin(self._policy, path)
        for index, link in enumerate(self._documents[path].links):
            broken = self._judge(origin, link)
            if broken is not None:
                yield index, broken

    def _judge(self, origin: _Origin, link: Link) -> Broken | None:
        target = local_target(link.destination)
        if target is None:
            return None
        found = self._resolve(origin, target.path) if target.path else origin.document
        if found is None:
            return None if self._leads_elsewhere(origin, target.path) else self._missing(origin, link, target)
        return self._check_fragment(found, link.target, target) if target.fragment else None

    def _resolve(self, origin: _Origin, path: str) -> str | None:
        """The existing path that a link leads to, or None."""
        for folder in origin.folders:
            full = within(origin.root, folder, path)
            if self.index.has(full, folder=path.endswith("/")):
                return full
            if origin.mkdocs and (page := self._page_shown_at(full)):
                return page
        if origin.mkdocs and path.startswith("/") and path.endswith("/"):
            # The URL of a page of the site, which is often served below a prefix such as /project/latest/.
            _, _, below = path.strip("/").partition("/")
            return self._resolve(origin, f"/{below}/") if below else None
        return None

    def _page_shown_at(self, full: str) -> str | None:
        """The document that MkDocs shows at a URL: guide.md at guide/ or guide.html."""
        pages = (f"{full.removesuffix('.html')}.md", *(f"{full}/{name}" for name in _INDEX_NAMES))
        return next((page for page in pages if page in self.index.files), None)

    def _leads_elsewhere(self, origin: _Origin, path: str) -> bool:
        """Does a link lead to what the repository holds beside this tree: next to the root, or in a submodule?"""
        places = [within(origin.root, folder, path) for folder in origin.folders]
        if path.startswith("/") and not origin.mkdocs:
            places.append("../" * self._depth + places[0])
        return any(map(self._exists_elsewhere, places))

    def _exists_elsewhere(self, full: str) -> bool:
        levels = levels_above(full)
        if levels > self._depth:
            return False
        is_folder_above = levels > 0 and full.endswith("..")
        return is_folder_above or bool(self._has_elsewhere(full))

    @cached_property
    def _depth(self) -> int:
        """How many folders the root lies below the top of its repository; 0 also where there is none."""
        above = ("../" * levels + ".git" for levels in range(1, _DEEPEST))
        return sum(1 for _ in takewhile(lambda path: self._has_elsewhere(path) is not None, above))

    def _missing(self, origin: _Origin, link: Link, target: Target) -> Broken | None:
        folder = origin.folders[0]
        full = within(origin.root, folder, target.path)
        if levels_above(full) > self._depth or target.path[1:2] == ":":
            if is_repository_page(full.removeprefix("../" * self._depth)) and not origin.mkdocs:
                return None
            return Broken("DOC005", f'"{link.target}" leads outside of the repository', "", None)
        slashed = within(origin.root, folder, target.path.replace("\\", "/"))
        if self.index.has(slashed):
            close, rule = [slashed], "DOC001"
            what = "is written with backslashes" if slashed != full else "ends in a slash but leads to a file"
        elif close := self.index.spelled_otherwise(slashed):
            rule, what = "DOC006", "differs in letter case from what exists"
        else:
            thing, rule = ("image", "DOC004") if link.kind == "image" else ("file or folder", "DOC001")
            what = f"leads to no {thing}: there is no {full}"
            close = self.index.close_to(slashed)
        likely = close or self.index.near(slashed)
        written = [self._rewritten(origin, target.path, other) for other in likely]
        certain = len(close) == 1 and not levels_above(full)
        repair = self._repair(written[0], close[0], target) if certain else None
        hint = _did_you_mean([encoded(path, link.target) for path in written])
        return Broken(rule, f'"{link.target}" {what}', hint, repair)

    def _rewritten(self, origin: _Origin, path: str, found: str) -> str:
        """The link path to `found` in the manner of `path`: from the root, from `./`, with a closing slash."""
        if path.startswith("/") and f"{found}/".startswith(f"{origin.root}/".lstrip("/")):
            written = "/" + posixpath.relpath(found or ".", origin.root or ".")
        else:
            written = posixpath.relpath(found or ".", origin.folders[0] or ".")
            if path.startswith("./") and not written.startswith("."):
                written = f"./{written}"
        return f"{written}/" if path.endswith("/") and found in self.index.folders else written

    def _repair(self, path: str, found: str, target: Target) -> Repair:
        """The new path, with a fragment that exists there if one is close."""
        broken = self._check_fragment(found, "", target) if target.fragment else None
        return Repair(path, broken.repair.fragment if broken and broken.repair else None)

    def _check_fragment(self, found: str, written: str, target: Target) -> Broken | None:
        fragment = target.fragment.removeprefix("user-content-")
        if fragment.lower() == "top" or target.fragment.startswith(_ALWAYS_THERE):
            return None
        page = self._page(found)
        anchors = self._anchors_of(page)
        if anchors is not None and (fragment in anchors or target.fragment in anchors):
            return None
        lines = line_range(fragment)
        if lines is not None and page in self.index.files and not _is_html(page):
            return self._check_lines(page, lines, written)
        if anchors is None or (fragment.lower() == "readme" and _is_readme(page)):
            return None
        return self._missing_anchor(page, fragment, list(anchors), written)

    def _check_lines(self, page: str, lines: tuple[int, int], written: str) -> Broken | None:
        count = self._line_count(page)
        first, last = lines
        if count is None or 1 <= first <= last <= count:
            return None
        what = "runs backwards" if last < first else f"selects lines that {page} does not have"
        return Broken("DOC003", f'"{written}" {what}', f"{page} has {count} lines", None)

    def _missing_anchor(self, page: str, fragment: str, anchors: list[str], written: str) -> Broken:
        if close := [anchor for anchor in anchors if anchor.lower() == fragment.lower()]:
            rule, what = "DOC006", f"differs in letter case from an anchor of {page}"
        else:
            rule, what = "DOC002", f"names no heading or id of {page}"
            close = self.index.close_names(fragment, anchors)
        repair = Repair(None, close[0]) if len(close) == 1 else None
        likely = close or self.index.near_names(fragment, anchors)
        hint = _did_you_mean([f"#{encoded(anchor, written)}" for anchor in likely])
        return Broken(rule, f'"{written}" {what}', hint, repair)

    def _page(self, found: str) -> str:
        """The file whose anchors a link to `found` reaches: a folder shows its README or index."""
        if found in self.index.folders:
            for name in _INDEX_NAMES:
                page = posixpath.join(found, name)
                if page in self.index.files:
                    return page
        return found

    def _read_anchors(self, page: str) -> dict[str, None] | None:
        """The anchors of a page, in order; None where they are not known."""
        facts = self._documents.get(page)
        if facts is not None:
            return dict.fromkeys(facts.anchors) if facts.complete else None
        text = self._text_of(page) if _is_html(page) else None
        if text is None:
            return None
        from analyzers.markdown.html import elements_of

        return dict.fromkeys(anchor for element in elements_of(text) for anchor in element.anchors)


def _origin(policy: DocsPolicy, document: str) -> _Origin:
    folder, name = posixpath.split(document)
    mkdocs = dialect_of(policy, document) == "mkdocs"
    folders = [folder]
    if mkdocs and name not in _INDEX_NAMES:
        # MkDocs shows guide.md as guide/ and rewrites links to Markdown files only: a browser resolves the
        # others from there.
        folders.append(posixpath.splitext(document)[0])
    return _Origin(document, mkdocs, site_root(policy, document), folders)


def _is_html(path: str) -> bool:
    return path.lower().endswith((".html", ".htm"))


def _is_readme(path: str) -> bool:
    return posixpath.basename(path).lower().startswith("readme")


def _count_lines(text: str | None) -> int | None:
    return None if text is None else text.count("\n") + (not text.endswith("\n") and text != "")
