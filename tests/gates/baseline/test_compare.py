from collections import Counter

from hypothesis import given
from violations import GATE, TODAY, baselines, holding, repeatable, site, waiver

from gates.baseline.compare import Change, diff, verify
from gates.baseline.entries import Baseline


def totals(entries):
    return Counter((entry.rule, entry.subject) for entry in entries)


@repeatable
@given(baselines, baselines)
def test_a_difference_leads_from_one_state_to_the_other(old, new):
    found = diff(old, new)
    gone = {*found.removed, *(move.old for move in found.moved)}
    come = {*found.added, *(move.new for move in found.moved)}
    assert (set(old.entries) - gone) | come == set(new.entries)


@repeatable
@given(baselines)
def test_a_state_does_not_differ_from_itself(baseline):
    assert diff(baseline, baseline) == diff(Baseline(GATE), Baseline(GATE))


def test_changes_are_counted_by_rule_and_by_file():
    old = holding(site("a.py"), site("b.py", "triton"), site("b.py", rule="LAY101"))
    new = holding(site("c.py"), site("d.py", "numpy"))
    found = diff(old, new)
    assert found.changes(lambda entry: entry.rule) == {
        "LAY003": Change(added=1, removed=1, moved=1),
        "LAY101": Change(removed=1),
    }
    assert found.changes(lambda entry: entry.path) == {
        "b.py": Change(removed=2),
        "c.py": Change(moved=1),
        "d.py": Change(added=1),
    }


@repeatable
@given(baselines, baselines)
def test_verify_finds_exactly_the_totals_that_grew(base, current):
    verification = verify(base, current, [], TODAY)
    assert totals(verification.grown) == totals(current.entries) - totals(base.entries)


@repeatable
@given(baselines, baselines)
def test_what_a_waiver_does_not_cover_cannot_grow_beside_it(base, current):
    excuse = waiver("LAY003", "a.py")
    grown = verify(base, current, [excuse], TODAY).grown
    uncovered = [entry for entry in current.entries if not (entry.rule == "LAY003" and entry.path == "a.py")]
    held = [entry for entry in base.entries if entry in current.entries and entry not in uncovered]
    room = totals(base.entries) - totals(held)
    assert totals(grown) == totals(uncovered) - room


def test_an_entry_under_a_waiver_in_force_may_come():
    verification = verify(holding(), holding(site("a.py")), [waiver()], TODAY)
    assert verification.grown == ()
    assert verification.waived == holding(site("a.py")).entries


def test_an_entry_under_an_expired_waiver_may_not():
    assert verify(holding(), holding(site("a.py")), [waiver(days=-1)], TODAY).grown


def test_a_waived_entry_does_not_use_up_the_room_of_a_move():
    base, current = holding(site("b.py")), holding(site("a.py"), site("c.py"))
    verification = verify(base, current, [waiver(scope="a.py")], TODAY)
    assert verification.grown == ()
    assert [move.new.path for move in verification.moved] == ["c.py"]


def test_a_first_baseline_has_not_grown():
    verification = verify(None, holding(site("a.py")), [], TODAY)
    assert verification.adopted
    assert verification.grown == ()


def test_a_baseline_that_was_empty_at_the_base_has_grown():
    verification = verify(Baseline(GATE), holding(site("a.py")), [], TODAY)
    assert not verification.adopted
    assert verification.grown
