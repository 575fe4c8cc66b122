"""What raw HTML says about links and anchors."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser

from msgspec import Struct, field

_URLS = frozenset({"href", "src", "poster"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""")
"""https://html.spec.whatwg.org/multipage/syntax.html#attributes-2"""


class Element(Struct):
    """A start tag that links somewhere or can be linked to. Offsets count characters of the parsed HTML."""

    start: int
    tag: str
    anchors: list[str] = field(default_factory=list)
    """Values of `id` and `name`, once each."""
    urls: list[tuple[str, int]] = field(default_factory=list)
    """Values of `href`, `src`, `poster` and `srcset`, each with its offset; -1 where entities hide it."""
    heading: list[str] | None = None
    """Pieces of the text of a heading that has no id of its own."""


class _Collector(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._heading: Element | None = None
        self._line_starts = [0]
        for line in html.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line, column = self.getpos()
        element = Element(self._line_starts[line - 1] + column, tag)
        for name, value in attrs:
            if not value:
                continue
            if name in ("id", "name"):
                if value not in element.anchors:
                    element.anchors.append(value)
            elif name in _URLS:
                self._add_urls(element, name, [value.strip()])
            elif name == "srcset":
                self._add_urls(element, name, srcset_urls(value))
        if tag in _HEADINGS and not element.anchors:
            element.heading = []
            self._heading = element
        if element.anchors or element.urls or element.heading is not None:
            self.elements.append(element)

    def _add_urls(self, element: Element, name: str, urls: list[str]) -> None:
        """Note the URLs of one attribute, and where in the tag each is written."""
        written = self.get_starttag_text() or ""
        ranges = (match.span(2) for match in _ATTRIBUTE.finditer(written) if match[1].lower() == name)
        cursor, end = next(ranges, (0, 0))
        for url in urls:
            offset = written.find(url, cursor, end)
            if offset >= 0:
                cursor = offset + len(url)
            element.urls.append((url, element.start + offset if offset >= 0 else -1))

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._heading = None

    def handle_data(self, data: str) -> None:
        if self._heading is not None and self._heading.heading is not None:
            self._heading.heading.append(data)


def srcset_urls(value: str) -> list[str]:
    """The image candidates of a `srcset` attribute. One with data URLs, whose commas are ambiguous, gives none."""
    if "data:" in value:
        return []
    return [candidate.split()[0] for candidate in value.split(",") if candidate.strip()]


def elements_of(html: str) -> list[Element]:
    """The elements that matter of a piece of HTML, in order; nothing from comments, scripts and styles."""
    if "<" not in html:
        return []
    collector = _Collector(html)
    # How html.parser refuses a malformed marked section such as `<![x`: what came before it stands.
    with suppress(AssertionError):
        collector.feed(html)
    return collector.elements
