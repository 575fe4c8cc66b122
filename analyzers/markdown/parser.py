"""One Markdown document: its anchors, and its links with the place of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzers.markdown import destinations
from analyzers.markdown.destinations import Written
from analyzers.markdown.facts import Dialect, LinkKind
from analyzers.markdown.html import Element, elements_of
from analyzers.markdown.mkdocs import as_commonmark, attribute_ids, generates_content
from analyzers.markdown.slugs import slugger_for

if TYPE_CHECKING:
    from pyromark.event import Range


class PlacedLink(NamedTuple):
    """A link and where it stands, in characters of the document."""

    target: str
    destination: str
    kind: LinkKind
    start: int
    """Where the link, tag or definition starts."""
    target_start: int
    target_end: int
    """The target's own range; -1 where it could not be told apart, as with entities in HTML."""


class Document(NamedTuple):
    anchors: list[str]
    links: list[PlacedLink]
    """In order of their starts."""
    complete: bool
    """See `MarkdownFacts.complete`."""


class _Anchor(NamedTuple):
    text: str
    origin: str
    """"heading" (the text is its title), "attribute" (an attribute list's id) or "html"."""


def parse(text: str, dialect: Dialect) -> Document:
    """Read a document; any text is one. A byte order mark, if there is one, is not part of it."""
    body = text.removeprefix("\ufeff")
    reader = _Reader(body, dialect)
    reader.read()
    links = sorted(reader.links, key=lambda link: link.start)
    if len(body) != len(reader.source):
        links = _in_characters(reader.source, links)
    shift = len(text) - len(body)
    if shift:
        links = [_moved(link, {at: at + shift for at in link[3:]}) for link in links]
    return Document(_anchors(reader.anchors, dialect), links, reader.complete)


def _anchors(entries: Iterable[_Anchor], dialect: Dialect) -> list[str]:
    entries = list(entries)
    slugger = slugger_for(dialect, (entry.text for entry in entries if entry.origin == "attribute"))
    named = (slugger(entry.text) if entry.origin == "heading" else entry.text for entry in entries)
    return list(dict.fromkeys(anchor for anchor in named if anchor))


def _in_characters(source: bytes, links: list[PlacedLink]) -> list[PlacedLink]:
    """The links with offsets in characters instead of UTF-8 bytes."""
    characters = {-1: -1}
    byte = character = 0
    for offset in sorted({offset for link in links for offset in link[3:] if offset >= 0}):
        character += len(source[byte:offset].decode("utf-8", "replace"))
        byte = offset
        characters[offset] = character
    return [_moved(link, characters) for link in links]


def _moved(link: PlacedLink, offsets: dict[int, int]) -> PlacedLink:
    start, target_start, target_end = link[3:]
    if target_start < 0:
        return link._replace(start=offsets[start])
    return link._replace(start=offsets[start], target_start=offsets[target_start], target_end=offsets[target_end])


def _without_front_matter(source: bytes) -> bytes:
    """The source with a leading YAML block blanked, byte for byte.

    The parser's own option would take any two `---` lines of a document for such a block. One that a blank line
    follows is a rule.
    """
    lines = source.splitlines(keepends=True)
    if len(lines) < 2 or lines[0].rstrip() != b"---" or not lines[1].strip():
        return source
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in (b"---", b"..."):
            blank = (b" " * len(text := row.rstrip(b"\r\n")) + row[len(text) :] for row in lines[: index + 1])
            return b"".join((*blank, *lines[index + 1 :]))
    return source


class _Reader:
    """Walks the parser's events once. Offsets are UTF-8 bytes of the body, as the parser counts them."""

    def __init__(self, body: str, dialect: Dialect) -> None:
        self.source = body.encode("utf-8", "replace")
        self.anchors: list[_Anchor] = []
        self.links: list[PlacedLink] = []
        self.complete = True
        self._mkdocs = dialect == "mkdocs"
        source = self.source
        if source.startswith(b"---"):
            source = _without_front_matter(source)
        self._text = (as_commonmark(source) if self._mkdocs else source).decode()
        self._heading: list[str] | None = None
        self._heading_at = 0
        self._open: list[tuple[dict[str, Any], LinkKind, int]] = []
        self._html: list[tuple[str, int]] = []
        self._in_code = False
        self._content_end = 0

    def read(self) -> None:
        from pyromark import Options, events_with_range, reference_definitions

        options = Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES | Options.ENABLE_STRIKETHROUGH
        options |= Options.ENABLE_TASKLISTS | Options.ENABLE_GFM
        if self._mkdocs:
            options |= Options.ENABLE_HEADING_ATTRIBUTES
        for event, span in events_with_range(self._text, options=options, merge_text=True):
            if isinstance(event, str):
                if self._heading is not None:
                    self._heading.append("\n")
                continue
            [(name, value)] = event.items()
            if name in _STRUCTURE:
                _STRUCTURE[name](self, value, span)
            elif name in _PROSE and (self._mkdocs or self._heading is not None):
                _PROSE[name](self, value)
            self._content_end = span["start" if name == "Start" else "end"]
        if "]:" in self._text:
            for definition in reference_definitions(self._text, options=options).values():
                start, end = definition["span"]["start"], definition["span"]["end"]
                destination = definition["dest"]
                written = destinations.definition(self.source, start, end, destination)
                self._add_link(written, destination, "definition", start)

    def _add_link(self, written: Written, destination: str, kind: LinkKind, start: int) -> None:
        self.links.append(PlacedLink(written.target, destination, kind, start, written.start, written.end))

    def on_start(self, tag: Any, span: Range) -> None:
        if tag.__class__ is str:
            return
        if "Link" in tag:
            self._open.append((tag["Link"], "link", span["start"]))
        elif "Image" in tag:
            self._open.append((tag["Image"], "image", span["start"]))
        elif "Heading" in tag:
            identifier = tag["Heading"]["id"]
            if identifier:
                self.anchors.append(_Anchor(identifier, "attribute"))
            else:
                self._heading = []
                self._heading_at = len(self.anchors)
        elif "CodeBlock" in tag:
            self._in_code = True

    def on_end(self, tag: Any, span: Range) -> None:
        if tag == "Link" or tag == "Image":
            self._close_link(span["end"])
        elif tag == "HtmlBlock":
            self._read_html(self._html)
            self._html = []
        elif tag == "CodeBlock":
            self._in_code = False
        elif tag.__class__ is not str and "Heading" in tag and self._heading is not None:
            self.anchors.insert(self._heading_at, _Anchor("".join(self._heading), "heading"))
            self._heading = None

    def _close_link(self, end: int) -> None:
        link, kind, start = self._open.pop()
        if self._in_image():
            return
        destination, style = link["dest_url"], link["link_type"]
        if style == "Inline":
            written = destinations.inline(self.source, self._content_end, end, destination)
        elif style in ("Autolink", "Email"):
            written = Written(destination, start + 1, end - 1)
            destination = f"mailto:{destination}" if style == "Email" else destination
        else:
            return
        self._add_link(written, destination, kind, start)

    def on_text(self, text: str) -> None:
        if self._in_code:
            return
        if self._heading is not None and not self._in_image():
            self._heading.append(text)
        if self._mkdocs:
            if self.complete and generates_content(text):
                self.complete = False
            if "{" in text:
                self.anchors.extend(_Anchor(identifier, "attribute") for identifier in attribute_ids(text))

    def _in_image(self) -> bool:
        """Between an image's brackets, whose text alone is shown (https://spec.commonmark.org/0.31.2/#images)?"""
        return any(kind == "image" for _, kind, _ in self._open)

    def on_code(self, code: str) -> None:
        if self._heading is not None and not self._in_image():
            self._heading.append(code)

    def on_html(self, html: str, span: Range) -> None:
        self._html.append((html, span["start"]))

    def on_inline_html(self, html: str, span: Range) -> None:
        if not self._in_image():
            self._read_html([(html, span["start"])])

    def _read_html(self, pieces: list[tuple[str, int]]) -> None:
        """Read one run of raw HTML; each piece comes with its offset, because a quote's markers lie between."""
        html = "".join(piece for piece, _ in pieces)
        elements = elements_of(html)
        if elements:
            place = _Places(pieces)
            for element in elements:
                self._add_element(element, place)

    def _add_element(self, element: Element, place: _Places) -> None:
        start = place.byte(element.start)
        self.anchors.extend(_Anchor(anchor, "html") for anchor in element.anchors)
        if element.heading is not None and not self._mkdocs:
            self.anchors.append(_Anchor("".join(element.heading), "heading"))
        kind: LinkKind = "image" if element.tag == "img" else "html"
        for url, offset in element.urls:
            written = Written(url, -1, -1)
            if offset >= 0:
                at = place.byte(offset)
                end = at + len(url.encode())
                if self.source[at:end] == url.encode():
                    written = Written(url, at, end)
            self._add_link(written, url, kind, start)


class _Places:
    """From an offset in joined pieces of HTML, in characters, to the byte of the source."""

    def __init__(self, pieces: list[tuple[str, int]]) -> None:
        self._pieces = pieces
        self._starts = [0]
        for piece, _ in pieces[:-1]:
            self._starts.append(self._starts[-1] + len(piece))

    def byte(self, offset: int) -> int:
        index = bisect_right(self._starts, offset) - 1
        piece, start = self._pieces[index]
        return start + len(piece[: offset - self._starts[index]].encode())


_STRUCTURE: dict[str, Callable[[_Reader, Any, Range], None]] = {
    "Start": _Reader.on_start,
    "End": _Reader.on_end,
    "Html": _Reader.on_html,
    "InlineHtml": _Reader.on_inline_html,
}
_PROSE: dict[str, Callable[[_Reader, Any], None]] = {"Text": _Reader.on_text, "Code": _Reader.on_code}
