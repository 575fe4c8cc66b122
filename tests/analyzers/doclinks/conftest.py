from collections.abc import Callable

import pytest

from analyzers.doclinks.policy import DocsPolicy, dialect_of
from analyzers.markdown.extractor import MarkdownExtractor, is_markdown
from analyzers.markdown.facts import MarkdownFacts
from analyzers.source import Source

Read = Callable[[DocsPolicy, dict[str, str]], dict[str, MarkdownFacts]]


@pytest.fixture(scope="session")
def read_documents() -> Read:
    """Facts of the Markdown files of a tree (path to exact text), read as the gate reads them."""

    def read(policy: DocsPolicy, files: dict[str, str]) -> dict[str, MarkdownFacts]:
        facts = {}
        for path, text in files.items():
            if is_markdown(path):
                plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
                extractor = MarkdownExtractor(dialect_of(policy, path))
                facts[path] = extractor.extract(Source(path, plain))
        return facts

    return read
