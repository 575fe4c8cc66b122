import pytest
from violations import TODAY, found, holding, long_function, site, waiver

from gates.baseline.compare import verify
from gates.baseline.format import render
from gates.baseline.ratchet import judge
from gates.baseline.rules import RULES
from gates.baseline.verdict import Files, failures, growth, notes, verdict_of_update
from reports.report import Verdict

FILES = Files("gates.toml", "baselines/layering.json", lambda waiver: 7)


def judged(findings, accepted, *waivers):
    return judge(found(*findings), holding(*accepted), waivers, TODAY)


ACCEPTED = judged([site("a.py")], [site("a.py")])
NEW = judged([site("a.py"), site("b.py")], [site("a.py")])
MOVED = judged([site("b.py")], [site("a.py")])
STALE = judged([site("a.py")], [site("a.py"), site("b.py"), site("c.py", "triton")])
EXPIRED = judged([], [], waiver(days=-1))
UNUSED = judged([], [], waiver())
EXPIRED_AND_MOVED = judged([site("b.py")], [site("a.py")], waiver(days=-1, scope="z.py"))
OUTGROWN = judged([long_function(amount=90)], [long_function(amount=80)])
SHRUNK = judged([long_function(amount=70)], [long_function(amount=80)])
MOVED_AND_NEW = judged([site("b.py"), site("b.py", "triton")], [site("a.py")])


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (ACCEPTED, Verdict.CLEAN),
        (NEW, Verdict.BROKEN),
        (MOVED, Verdict.UNDECIDED),
        (MOVED_AND_NEW, Verdict.BROKEN),
        (STALE, Verdict.CLEAN),
        (EXPIRED, Verdict.BROKEN),
        (UNUSED, Verdict.CLEAN),
        (OUTGROWN, Verdict.BROKEN),
        (SHRUNK, Verdict.CLEAN),
        (EXPIRED_AND_MOVED, Verdict.BROKEN),
    ],
)
def test_the_verdict_of_an_update(judgement, expected):
    assert verdict_of_update(judgement) is expected


@pytest.mark.parametrize(
    ("judgement", "rules", "rules_if_strict"),
    [
        (ACCEPTED, [], []),
        (NEW, ["LAY003"], ["LAY003"]),
        (MOVED, ["LAY003"], ["LAY003", "BAS002"]),
        (STALE, [], ["BAS002", "BAS002"]),
        (EXPIRED, ["BAS001"], ["BAS001"]),
        (UNUSED, [], ["BAS003"]),
        (OUTGROWN, ["LAY201"], ["LAY201"]),
        (SHRUNK, [], []),
    ],
)
def test_what_fails(judgement, rules, rules_if_strict):
    assert [finding.rule for finding in failures(judgement, FILES)] == rules
    assert [finding.rule for finding in failures(judgement, FILES, strict=True)] == rules_if_strict


def test_what_has_grown_says_how_much_was_accepted():
    (finding,) = failures(OUTGROWN, FILES)
    assert finding.message.endswith("; the baseline accepts 80")


def test_an_expired_waiver_fails_in_the_settings_file_with_all_that_it_says():
    (finding,) = failures(EXPIRED, FILES)
    assert (finding.rule, finding.path, finding.line) == ("BAS001", "gates.toml", 7)
    assert all(part in finding.message for part in ("ana", "until the release", "2026-03-09", "LAY003", "a.py"))


def test_a_stale_entry_fails_on_its_line_of_the_baseline():
    stale = failures(STALE, FILES, strict=True)
    lines = render(STALE.baseline).decode().splitlines()
    assert {finding.rule for finding in stale} == {"BAS002"}
    assert ['"b.py"' in lines[stale[0].line - 1], '"c.py"' in lines[stale[1].line - 1]] == [True, True]


def test_an_unused_waiver_fails_if_strict():
    assert [finding.rule for finding in failures(UNUSED, FILES, strict=True)] == ["BAS003"]


def test_growth_fails_on_the_line_of_the_entry():
    current = holding(site("a.py"), site("b.py"))
    (finding,) = growth(verify(holding(site("a.py")), current, [], TODAY), current, FILES)
    assert (finding.rule, finding.path) == ("BAS004", "baselines/layering.json")
    assert '"b.py"' in render(current).decode().splitlines()[finding.line - 1]


def test_every_failure_has_a_fingerprint_and_a_rule_with_a_page():
    codes = {rule.code for rule in RULES} | {"LAY003"}
    for judgement in (NEW, STALE, EXPIRED, UNUSED):
        for finding in failures(judgement, FILES, strict=True):
            assert finding.fingerprint
            assert finding.rule in codes


@pytest.mark.parametrize(
    ("judgement", "said"),
    [
        (MOVED, "gates check --accept-moves"),
        (STALE, "of 3 entries of baselines/layering.json, 2 match nothing any more. Run"),
        (SHRUNK, "of 1 entries of baselines/layering.json, 1 accept a larger amount than there is. Run"),
        (UNUSED, "covers nothing any more: delete it"),
        (judged([site("a.py")], [], waiver(days=3)), "expires after 2026-03-13"),
    ],
)
def test_notes_say_what_fails_nothing(judgement, said):
    assert any(said in note for note in notes(judgement, FILES))


def test_a_waiver_to_be_deleted_is_not_announced_to_expire():
    assert len(notes(judged([], [], waiver(days=3)), FILES)) == 1


def test_what_may_have_moved_is_not_called_less_debt():
    (note,) = notes(MOVED, FILES)
    assert "--accept-moves" in note


@pytest.mark.parametrize("judgement", [ACCEPTED, NEW, EXPIRED])
def test_there_is_nothing_to_note_where_all_is_said(judgement):
    assert notes(judgement, FILES) == []


@pytest.mark.parametrize("judgement", [STALE, UNUSED])
def test_what_fails_if_strict_is_not_noted_too(judgement):
    assert notes(judgement, FILES, strict=True) == []


def test_less_debt_that_fails_nothing_is_noted_if_strict_too():
    (note,) = notes(SHRUNK, FILES, strict=True)
    assert "--update" in note


def test_rules_are_told_apart_by_code_and_name():
    assert len({rule.code for rule in RULES} | {rule.name for rule in RULES}) == 2 * len(RULES)
