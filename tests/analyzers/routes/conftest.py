"""Small trees, read and judged as the gate does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import convert
from route_trees import Judge, ReadTable, reader_of

from analyzers.finding import Finding
from analyzers.native.extractor import NativeExtractor
from analyzers.native.facts import NativeFacts
from analyzers.native.vocabulary import Vocabulary
from analyzers.routes.analyse import analyse
from analyzers.routes.policy import RoutesPolicy
from analyzers.routes.tables import TableReading, read_table
from analyzers.source import Source


@pytest.fixture
def read() -> ReadTable:
    """One table of one module `m`, read under settings."""

    def run(text: str, **settings: Any) -> TableReading:
        policy = convert({"tables": [{"name": "t", "symbol": "m.ROUTES", **settings}]}, RoutesPolicy)
        return read_table(reader_of({"m.py": text}), policy.tables[0])

    return run


@pytest.fixture
def judge() -> Judge:
    """From files (path -> text) and settings to findings."""

    def run(files: Mapping[str, str], **settings: Any) -> list[Finding]:
        policy = convert(settings, RoutesPolicy)
        reader = reader_of(files)
        readings = [read_table(reader, table) for table in policy.tables]
        calls = tuple(pair for table in policy.tables for pair in table.calls.items())
        extractor = NativeExtractor(Vocabulary(probes=policy.native.probes, routes=calls))
        native = {path: NativeFacts.from_json(extractor.extract(Source(path, text))) for path, text in files.items()}
        return analyse(policy, readings, reader.problems, native)

    return run
