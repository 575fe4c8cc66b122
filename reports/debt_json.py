"""The debt as one JSON object, for machines; `reports/schemas/debt-v1.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from analyzers.layering.debt import Debt, Matrix, Row
from reports.escaping import encodable

VERSION = 1
"""Version of the format. New fields may join; a change that breaks a reader raises it."""


def render(debt: Debt) -> str:
    """The debt on one line of pure ASCII, which no encoding of a pipe can spoil."""
    return json.dumps(document(debt)) + "\n"


def debt_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every rendered debt satisfies."""
    schema: dict[str, Any] = json.loads(files("reports").joinpath("schemas/debt-v1.json").read_text("utf-8"))
    return schema


def document(debt: Debt) -> dict[str, Any]:
    """The object that `render` writes."""
    return {
        "version": VERSION,
        "total": _row(debt.total),
        "by_layer": _rows(debt.by_layer),
        "by_kind": _rows(debt.by_kind),
        "by_file": _rows(debt.by_file),
        "matrices": [_matrix(matrix) for matrix in debt.matrices],
    }


def _rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_row(row) for row in rows]


def _row(row: Row) -> dict[str, Any]:
    return {"name": encodable(row.name), "count": row.count, "before": row.before}


def _matrix(matrix: Matrix) -> dict[str, Any]:
    return {
        "title": encodable(matrix.title),
        "levels": [[encodable(name) for name in level] for level in matrix.levels],
        "imports": matrix.imports,
        "broken": matrix.broken,
    }
