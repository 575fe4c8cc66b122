"""Rule pages: what a terminal shows and what docs/rules/ holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.finding import Rule
from gates import explain

LAYER = Rule(
    code="LAY001",
    name="upward-import",
    what="Finds imports that go up, such as `a | b`. More follows.",
    why="Layers keep a tree readable.",
    bad="```python\nimport upper\n```",
    good="```python\nimport lower\n```",
    fix="Move the code.",
)
LINK = Rule("DOC001", "missing-target", "Finds dead links.", "Readers get lost.", "bad", "good", "Rename it.")
RULES = (LAYER, LINK)


def test_a_page_tells_everything_about_its_rule_in_order() -> None:
    text = explain.page(LAYER)
    told = [LAYER.code, LAYER.name, LAYER.what, LAYER.why, LAYER.bad, LAYER.good, LAYER.fix]
    positions = [text.index(part) for part in told]
    assert positions == sorted(positions)
    assert text.startswith("# LAY001: upward-import\n")
    assert text.endswith("Move the code.\n")


@pytest.mark.parametrize("asked", ["LAY001", "lay001", " upward-import "])
def test_a_rule_is_found_by_code_or_name(asked: str) -> None:
    assert explain.find(RULES, asked) is LAYER


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("LAY010", "there is no rule 'LAY010'; did you mean LAY001?"),
        ("mising-target", "there is no rule 'mising-target'; did you mean DOC001?"),
        ("zzz", "there is no rule 'zzz'; `gates list` names them all."),
    ],
)
def test_an_unknown_rule_names_the_nearest(asked: str, said: str) -> None:
    with pytest.raises(explain.UnknownRuleError) as caught:
        explain.find(RULES, asked)
    assert str(caught.value) == said


def test_the_index_lists_rules_by_code_with_their_first_sentence() -> None:
    rows = [line for line in explain.index(RULES).splitlines() if line.startswith("| [")]
    assert rows == [
        "| [DOC001](DOC001.md) | missing-target | Finds dead links. |",
        "| [LAY001](LAY001.md) | upward-import | Finds imports that go up, such as `a \\| b`. |",
    ]


def test_written_pages_are_not_stale(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "rules"
    assert explain.stale_pages(RULES, folder) == ["DOC001.md", "LAY001.md", "README.md"]
    explain.write_pages(RULES, folder)
    assert explain.stale_pages(RULES, folder) == []


def test_changed_missing_and_left_over_pages_are_stale(tmp_path: Path) -> None:
    explain.write_pages(RULES, tmp_path)
    (tmp_path / "LAY001.md").write_text("edited")
    (tmp_path / "DOC001.md").unlink()
    (tmp_path / "OLD001.md").write_text("a rule of the past")
    (tmp_path / "notes.md").write_text("not a page")
    assert explain.stale_pages(RULES, tmp_path) == ["DOC001.md", "LAY001.md", "OLD001.md"]
    explain.write_pages(RULES, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["DOC001.md", "LAY001.md", "README.md", "notes.md"]
