"""The names of the formats, and the module behind each, imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from reports.report import Report

if TYPE_CHECKING:
    from analyzers.layering.debt import Debt
    from reports.refresh import Refresh

FORMATS: Mapping[str, str] = {
    "terminal": "reports.terminal",
    "json": "reports.json_report",
    "sarif": "reports.sarif",
    "github": "reports.github",
    "junit": "reports.junit",
    "markdown": "reports.markdown",
}

DEBT_FORMATS: Mapping[str, str] = {
    "terminal": "reports.debt_terminal",
    "json": "reports.debt_json",
    "markdown": "reports.debt_markdown",
    "html": "reports.debt_html",
}

REFRESH_FORMATS: Mapping[str, str] = {"terminal": "reports.refresh_terminal", "markdown": "reports.refresh_markdown"}


def renderer(name: str) -> Callable[[Report], str]:
    """The renderer of one of `FORMATS`."""
    render: Callable[[Report], str] = import_module(FORMATS[name]).render
    return render


def debt_renderer(name: str) -> Callable[[Debt], str]:
    """The renderer of one of `DEBT_FORMATS`."""
    render: Callable[[Debt], str] = import_module(DEBT_FORMATS[name]).render
    return render


def refresh_renderer(name: str) -> Callable[[Refresh], str]:
    """The renderer of one of `REFRESH_FORMATS`."""
    render: Callable[[Refresh], str] = import_module(REFRESH_FORMATS[name]).render
    return render
