from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from violations import (
    GATE,
    TODAY,
    baselines,
    grew,
    holding,
    long_function,
    repeatable,
    site,
    unsized_baselines,
    waiver,
)

from analyzers.finding import identity_of
from gates.baseline.compare import Change, diff, verify
from gates.baseline.entries import Baseline


def totals(entries):
    return Counter((entry.rule, entry.subject) for entry in entries)


@repeatable
@given(baselines, baselines)
def test_a_difference_leads_from_one_state_to_the_other(old, new):
    found = diff(old, new)
    gone = {*found.removed, *(change.old for change in (*found.moved, *found.resized))}
    come = {*found.added, *(change.new for change in (*found.moved, *found.resized))}
    assert (set(old.entries) - gone) | come == set(new.entries)


@repeatable
@given(baselines)
def test_a_state_does_not_differ_from_itself(baseline):
    assert diff(baseline, baseline) == diff(Baseline(GATE), Baseline(GATE))


def test_changes_are_counted_by_rule_and_by_file():
    old = holding(site("a.py"), site("b.py", "triton"), site("b.py", rule="LAY101"), long_function("e.py", amount=9))
    new = holding(site("c.py"), site("d.py", "numpy"), long_function("e.py", amount=8))
    found = diff(old, new)
    assert found.changes(lambda entry: entry.rule) == {
        "LAY003": Change(added=1, removed=1, moved=1),
        "LAY101": Change(removed=1),
        "LAY201": Change(resized=1),
    }
    assert found.changes(lambda entry: entry.path) == {
        "b.py": Change(removed=2),
        "c.py": Change(moved=1),
        "d.py": Change(added=1),
        "e.py": Change(resized=1),
    }


def test_a_raised_amount_is_told_from_a_lowered_one():
    small, large = holding(long_function(amount=80)), holding(long_function(amount=90))
    assert [change.grown for change in diff(small, large).resized] == [True]
    assert [change.grown for change in diff(large, small).resized] == [False]


@repeatable
@given(unsized_baselines, unsized_baselines)
def test_verify_finds_exactly_the_totals_that_grew(base, current):
    verification = verify(base, current, [], TODAY)
    assert totals(verification.grown) == totals(current.entries) - totals(base.entries)


@repeatable
@given(baselines, baselines)
def test_what_verify_lets_pass_has_not_grown(base, current):
    assert verify(base, current, [], TODAY).grown or not grew(base.entries, current.entries)


@repeatable
@given(baselines, baselines, st.data())
def test_an_amount_raised_by_hand_is_found_whatever_else_changed(base, other, data):
    if base.entries:
        raised = data.draw(st.sampled_from(base.entries))
        rest = (entry for entry in other.entries if identity_of(entry) != identity_of(raised))
        more = replace(raised, amount=raised.amount + data.draw(st.integers(1, 4)))
        same = (entry for entry in base.entries if identity_of(entry) == identity_of(raised) and entry != raised)
        assert verify(base, Baseline.of(GATE, (*rest, *same, more)), [], TODAY).grown


@repeatable
@given(baselines, st.data())
def test_lowered_amounts_are_no_growth(base, data):
    lowered = [replace(entry, amount=data.draw(st.integers(0, entry.amount))) for entry in base.entries]
    assert verify(base, Baseline.of(GATE, lowered), [], TODAY).grown == ()


def test_an_amount_may_be_raised_under_a_waiver_in_force():
    base, current = holding(long_function(amount=80)), holding(long_function(amount=90))
    verification = verify(base, current, [waiver("LAY201")], TODAY)
    assert verification.grown == ()
    assert verification.waived == current.entries


@repeatable
@given(unsized_baselines, unsized_baselines)
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
