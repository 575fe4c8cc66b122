"""A refresh in words: nothing of the tree keeps its power over a terminal or a comment, and lists end."""

from __future__ import annotations

import pytest

from analyzers.finding import Finding
from reports.formats import REFRESH_FORMATS, refresh_renderer
from reports.refresh import SHOWN, GateRefresh, Refresh
from reports.report import Verdict

QUIET = GateRefresh("docs", 2, 2, (), (), (), (), ())


def refresh(*gates: GateRefresh, waivers: tuple[str, ...] = (), verdict: Verdict = Verdict.CLEAN) -> Refresh:
    return Refresh(gates, (), waivers, "gates.toml", True, verdict)


@pytest.mark.parametrize("format_", REFRESH_FORMATS)
def test_no_control_character_gets_through(format_: str) -> None:
    wild = "a\x1b[31m\u202eb\u2028c"
    finding = Finding("DOC001", wild, 1, 1, "", wild, wild)
    gate = GateRefresh("docs", 1, 1, (wild,), (wild,), (wild,), (wild,), (finding,))
    text = refresh_renderer(format_)(refresh(gate, waivers=(f'scope = "{wild}"\n',)))
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("format_", REFRESH_FORMATS)
def test_a_long_list_ends_with_how_many_are_left(format_: str) -> None:
    entries = tuple(f"entry-{number}" for number in range(SHOWN + 7))
    text = refresh_renderer(format_)(refresh(GateRefresh("docs", 17, 0, entries, (), (), (), ())))
    assert text.count("entry-") == SHOWN
    assert "and 7 more" in text


def test_markdown_in_an_entry_is_shown_and_not_obeyed() -> None:
    gate = GateRefresh("docs", 1, 0, ("`x` | @someone <b>",), (), (), (), ())
    assert "* `` `x` \\| @someone <b> ``" in refresh_renderer("markdown")(refresh(gate))


def test_a_gate_without_changes_takes_one_line() -> None:
    text = refresh_renderer("terminal")(refresh(QUIET))
    assert text == "docs: 2 entries, none changed\nNothing stands that its baseline does not accept.\n"
