"""Which uses of a name count, where, and how many."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.finding import identify
from analyzers.layering import coupling, coupling_search
from analyzers.layering.coupling import CouplingExtractor, Match, PatternTimeoutError, observed_files
from analyzers.layering.policy import CouplingPattern
from analyzers.python.lexer import lex
from analyzers.source import Source

TEXT = '''"""A docstring about llama."""
import llama  # llama in a comment
name = "llama" + x.llama_config


def f():
    """llama"""
    return llama
'''


def lines(pattern: str, scope: Any, text: str = TEXT, path: str = "a.py") -> list[int]:
    return [match.line for match in CouplingExtractor(((pattern, scope),)).extract(Source(path, text))]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [("code", [2, 3, 3, 8]), ("comments", [1, 2, 7]), ("text", [1, 2, 2, 3, 3, 7, 8])],
)
def test_a_scope_says_where_a_name_counts(scope: str, expected: list[int]) -> None:
    assert lines("llama", scope) == expected


def test_a_match_knows_its_place() -> None:
    assert CouplingExtractor((("b+", "text"),)).extract(Source("a.md", "a\n  bb b")) == [
        Match(0, 2, 3, "bb"),
        Match(0, 2, 6, "b"),
    ]


def test_other_files_than_python_have_only_text() -> None:
    assert lines("llama", "code", path="a.md") == []
    assert lines("llama", "text", path="a.md") == [1, 2, 2, 3, 3, 7, 8]


@pytest.mark.parametrize("pattern", [r"llama", r"(?i)LLAMA|x\.", r"\bllama\b", r"^\s*\w+", r"l+|a", r"(?m)^.*$"])
@pytest.mark.parametrize("text", [TEXT, "", "llama", "\n\nllama\r\nllama\u2028llama\x0cllama", "x.\n" * 50])
def test_text_counts_what_a_plain_expression_finds(pattern: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(text, newline="")
    plain = file.read_text()
    found = CouplingExtractor(((pattern, "text"),)).extract(Source("a.py", plain))
    assert [match.text for match in found] == [m.group()[:80] for m in re.finditer(pattern, plain) if m.group()]


def test_empty_matches_neither_count_nor_loop() -> None:
    assert lines("z*", "text", "az") == [1]
    assert lines("$|^|\\b", "code") == []


ATOMS = ["llama", "x", ".", r"\b", r"\w", "^", "$", "[a-f]", "l?", "a*", "#", '"', r"\.", r"\s", " ", "[^x]", r"\W"]


@given(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=5), st.sampled_from(["code", "comments"]))
def test_files_that_need_no_lexer_hold_no_match(atoms: list[str], scope: Any) -> None:
    pattern = "".join(atoms)
    masked = lex(TEXT).masked(scope)
    in_scope = CouplingExtractor(((pattern, "text"),)).extract(Source("a.py", masked))
    assert CouplingExtractor(((pattern, scope),)).extract(Source("a.py", TEXT)) == in_scope


@pytest.mark.parametrize("pattern", [r"llama\s+\n", r"llama(?!.*noqa)", r"llama\W+\Z", r"llama[^#]+$"])
def test_a_comment_does_not_hide_what_stands_before_it(pattern: str) -> None:
    assert lines(pattern, "code", "llama  # noqa\n") == [1]


def test_a_file_without_the_name_is_not_lexed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.python.lexer.lex", lambda text: pytest.fail("lexed"))
    assert lines(r"(?i)\bgemma\d?\b|qwen[23]", "code") == []


def test_a_pattern_that_explodes_is_stopped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coupling_search, "TIMEOUT", 0.05)
    with pytest.raises(PatternTimeoutError, match=r"deep/a\.py.*\(x\+x\+\)\+y"):
        lines("(x+x+)+y", "text", "x" * 5000, "deep/a.py")


def test_the_timeout_survives_a_process_boundary() -> None:
    assert str(pickle.loads(pickle.dumps(PatternTimeoutError("a.py: slow")))) == "a.py: slow"


def test_the_extractor_survives_a_process_boundary() -> None:
    extractor = CouplingExtractor((("a", "code"),))
    assert pickle.loads(pickle.dumps(extractor)) == extractor


def test_the_kind_changes_with_patterns_and_scopes_and_nothing_else() -> None:
    kinds = {
        CouplingExtractor(patterns).kind
        for patterns in ((("a", "code"),), (("a", "text"),), (("b", "code"),), (("a", "code"), ("b", "code")))
    }
    assert len(kinds) == 4
    one = CouplingPattern(kind="x", pattern="a", owners=("z",))
    other = CouplingPattern(kind="y", pattern="a", files=("q",))
    assert CouplingExtractor.of([one]).kind == CouplingExtractor.of([other]).kind


def test_facts_may_come_back_as_json() -> None:
    policy = [CouplingPattern(kind="family", pattern="llama")]
    found = CouplingExtractor.of(policy).extract(Source("a.py", TEXT))
    stored = json.loads(json.dumps(found))
    fresh, cached = (list(coupling.check_coupling(policy, {"a.py": rows}, {})) for rows in (found, stored))
    assert fresh == cached


def test_each_pattern_watches_its_own_files(analyse_tree: Any) -> None:
    files = {"m/a.py": "llama, cuda", "b.py": "llama, cuda", "c.pyx": "llama, cuda"}
    patterns = [
        {"kind": "family", "pattern": "llama", "owners": ["m"]},
        {"kind": "platform", "pattern": "cuda", "scope": "text", "files": ["*.pyx", "m/*.py"]},
    ]
    found = {(finding.path, finding.subject) for finding in analyse_tree(files, coupling=patterns)}
    assert found == {("b.py", "family: llama"), ("c.pyx", "platform: cuda"), ("m/a.py", "platform: cuda")}


def test_files_that_no_pattern_watches_are_not_read() -> None:
    policy = [
        CouplingPattern(kind="a", pattern="a", owners=("own",)),
        CouplingPattern(kind="b", pattern="b", files=("*.md",)),
    ]
    assert observed_files(policy, ["x.py", "own/y.py", "z.md", "w.txt"]) == ["x.py", "z.md"]


def test_every_site_is_its_own_finding(analyse_tree: Any) -> None:
    text = "llama\nllama\nclass A:\n    def f(self):\n        return llama\n    llama = 1\n"
    findings = list(identify(analyse_tree({"a.py": text}, coupling=[{"kind": "f", "pattern": "llama"}])))
    assert [finding.symbol for finding in findings] == ["", "", "A.f", "A"]
    assert len({finding.fingerprint for finding in findings}) == 4
