"""The debt as one self-contained HTML file: no network, no fonts, no libraries."""

from __future__ import annotations

import json
from importlib.resources import files

from analyzers.layering.debt import Debt
from reports.debt_json import document

PLACEHOLDER = "{{debt}}"


def render(debt: Debt) -> str:
    """The page of `templates/debt.html` around the debt's JSON; its script builds everything from that."""
    template = files("reports").joinpath("templates/debt.html").read_text("utf-8")
    return template.replace(PLACEHOLDER, _inert(json.dumps(document(debt), separators=(",", ":"))))


def _inert(text: str) -> str:
    """JSON that an HTML parser sees no markup in, whatever its strings hold (HTML standard, 4.12.1.3)."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
