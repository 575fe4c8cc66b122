"""The numbers behind the report."""

from __future__ import annotations

from typing import Any

from msgspec import convert
from small_trees import read_tree

from analyzers.finding import Finding
from analyzers.layering.debt import Debt, Row, measure_debt
from analyzers.layering.modules import Modules
from analyzers.layering.policy import LayeringPolicy

FILES = {
    "app/__init__.py": "",
    "app/cli.py": "import app.core\nimport app.util",
    "app/core.py": "import app.cli\nimport app.cli",
    "app/side.py": "import app.core",
    "app/util.py": "",
}
LAYERS: dict[str, Any] = {"layers": [{"name": "order", "within": "app", "order": ["cli", "core | side"]}]}


def finding(rule: str, path: str, subject: str = "x") -> Finding:
    return Finding(rule, path, 1, 1, "", subject, "")


NOW = [
    finding("LAY001", "app/core.py"),
    finding("LAY001", "app/core.py", "y"),
    finding("LAY101", "app/util.py", "family: llama"),
    finding("LAY101", "README.md", "family: llama"),
]
BEFORE = [finding("LAY001", "app/core.py"), finding("LAY202", "app/cli.py")]


def measure(base: list[Finding] | None = None, **settings: Any) -> Debt:
    facts = read_tree(FILES)
    return measure_debt(convert(settings, LayeringPolicy), Modules(facts), facts, NOW, base)


def test_tables_are_sorted_largest_first_then_by_name() -> None:
    debt = measure(**LAYERS)
    assert debt.total == Row("total", 4)
    assert debt.by_layer == (Row("app.core", 2), Row("README.md", 1), Row("app.util", 1))
    assert debt.by_kind == (Row("LAY001 layer-order", 2), Row("LAY101 family", 2))
    assert debt.by_file == (Row("app/core.py", 2), Row("README.md", 1), Row("app/util.py", 1))


def test_files_that_cannot_be_read_are_debt_too() -> None:
    facts = read_tree(FILES)
    unreadable = [finding("SRC001", "app/secret.py", "")]
    debt = measure_debt(LayeringPolicy(), Modules(facts), facts, unreadable)
    assert debt.by_kind == (Row("SRC001 unreadable-file", 1),)


def test_the_trend_covers_what_is_gone() -> None:
    debt = measure(BEFORE, **LAYERS)
    assert debt.total.change == 2
    assert {(row.name, row.change) for row in debt.by_kind} == {
        ("LAY001 layer-order", 1),
        ("LAY101 family", 2),
        ("LAY202 long-file", -1),
    }


def test_without_a_base_there_is_no_trend() -> None:
    assert measure().total.change is None


def test_the_matrix_counts_statements_between_layers_and_marks_the_broken() -> None:
    [matrix] = measure(**LAYERS).matrices
    assert matrix.title == "order"
    assert matrix.levels == (("app.cli",), ("app.core", "app.side"))
    assert matrix.imports == ((0, 1, 0), (2, 0, 0), (0, 1, 0))
    assert matrix.broken == ((0, 0, 0), (2, 0, 0), (0, 1, 0))


def test_without_layers_the_matrix_shows_packages_below_what_all_share() -> None:
    [matrix] = measure().matrices
    assert matrix.title == "packages"
    assert matrix.names == ("app", "app.cli", "app.core", "app.side", "app.util")
    assert matrix.imports[1] == (0, 0, 1, 0, 1)
    assert not any(map(any, matrix.broken))
