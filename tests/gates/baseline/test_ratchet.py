from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from violations import (
    GATE,
    TODAY,
    baselines,
    distinct_baselines,
    distinct_lists,
    found,
    grew,
    holding,
    long_function,
    repeatable,
    site,
    site_lists,
    sites,
    unsized_baselines,
    unsized_lists,
    waiver,
)

from gates.baseline.entries import Baseline
from gates.baseline.ratchet import accept_moves, judge, looks_moved, prune, record_waived, update


def judged(findings, baseline, *waivers):
    return judge(findings, baseline, waivers, TODAY)


def totals(violations):
    return Counter((violation.rule, violation.subject) for violation in violations)


def fingerprints(violations):
    return {violation.fingerprint for violation in violations}


@repeatable
@given(site_lists, baselines, st.data())
def test_moved_lines_change_nothing(before, baseline, data):
    after = [
        replace(finding, line=data.draw(st.integers(1, 99)), column=data.draw(st.integers(0, 9))) for finding in before
    ]
    old, new = judged(found(*before), baseline), judged(found(*after), baseline)
    assert fingerprints(new.new) == fingerprints(old.new)
    assert new.stale == old.stale


@repeatable
@given(site_lists, baselines)
def test_every_finding_and_every_entry_is_told_once(findings, baseline):
    judgement = judged(found(*findings), baseline, waiver())
    told = (*judgement.new, *judgement.accepted, *judgement.waived)
    assert sorted(fingerprints(told)) == sorted(finding.fingerprint for finding in found(*findings))
    assert fingerprints(judgement.stale) == fingerprints(baseline.entries) - fingerprints(told)


@repeatable
@given(st.lists(sites, min_size=1, max_size=8), sites, st.data())
def test_swapping_one_violation_for_another_is_a_new_violation(accepted, other, data):
    index = data.draw(st.integers(0, len(accepted) - 1))
    if Counter(map(_identity, accepted))[_identity(other)] == 0:
        swapped = [*accepted[:index], other, *accepted[index + 1 :]]
        assert judged(found(*swapped), holding(*accepted)).new


def _identity(finding):
    return finding.rule, finding.path, finding.symbol, finding.subject


@repeatable
@given(site_lists, baselines)
def test_update_adds_no_entry_and_raises_no_amount(findings, baseline):
    before = baseline.amounts()
    after = update(judged(found(*findings), baseline, waiver())).amounts()
    assert all(amount <= before.get(fingerprint, -1) for fingerprint, amount in after.items())


@repeatable
@given(site_lists, baselines)
def test_update_leaves_nothing_to_lower_but_what_may_have_moved(findings, baseline):
    before = judged(found(*findings), baseline)
    after = judged(found(*findings), update(before))
    assert len(after.shrunk) <= len(accept_moves(before).moves)


@repeatable
@given(site_lists, baselines)
def test_update_removes_every_stale_entry_that_cannot_have_moved(findings, baseline):
    before = judged(found(*findings), baseline)
    after = judged(found(*findings), update(before))
    assert after.new == before.new
    assert len(after.stale) == len(accept_moves(before).moves)


@repeatable
@given(site_lists, baselines)
def test_while_a_file_is_unread_nothing_is_taken_out_lowered_or_moved(findings, baseline):
    judgement = judge(found(*findings), baseline, (), TODAY, {"unread.py"})
    everything = judged(found(*findings), baseline)
    assert update(judgement) == accept_moves(judgement).baseline == prune(judgement, lambda path: False) == baseline
    assert {*judgement.unsure} == {*everything.stale, *everything.shrunk}
    assert judgement.new == everything.new


@repeatable
@given(distinct_lists, distinct_baselines)
def test_update_leaves_the_decision_about_moves_open(findings, baseline):
    before = judged(found(*findings), baseline)
    after = judged(found(*findings), update(before))
    assert accept_moves(after).baseline == accept_moves(before).baseline
    assert accept_moves(after).left == accept_moves(before).left


@repeatable
@given(site_lists, baselines)
def test_accepting_moves_never_grows_a_total(findings, baseline):
    rehomed = accept_moves(judged(found(*findings), baseline))
    assert not grew(baseline.entries, rehomed.baseline.entries)


@repeatable
@given(unsized_lists, unsized_baselines)
def test_accepting_moves_leaves_only_what_would_grow_a_total(findings, baseline):
    rehomed = accept_moves(judged(found(*findings), baseline))
    assert totals(rehomed.left) == totals(findings) - totals(baseline.entries)


@repeatable
@given(distinct_lists, distinct_baselines)
def test_after_accepting_moves_only_what_was_left_is_new(findings, baseline):
    rehomed = accept_moves(judged(found(*findings), baseline))
    after = judged(found(*findings), rehomed.baseline)
    assert Counter(map(_identity, after.new)) == Counter(map(_identity, rehomed.left))
    assert after.stale == ()


@repeatable
@given(site_lists, baselines)
def test_it_looks_moved_exactly_when_accepting_moves_would_settle_it(findings, baseline):
    judgement = judged(found(*findings), baseline)
    assert looks_moved(judgement) == (judgement.new != () and accept_moves(judgement).left == ())


def judged_sizes(today, accepted, *waivers):
    return judged(found(long_function(amount=today)), holding(long_function(amount=accepted)), *waivers)


def test_what_has_grown_is_new_and_its_entry_stays_as_it_was():
    judgement = judged_sizes(81, 80)
    assert (judgement.accepted, judgement.stale) == ((), ())
    assert update(judgement) == holding(long_function(amount=80))


def test_what_has_shrunk_is_accepted_and_updated_to_its_size():
    judgement = judged_sizes(79, 80)
    assert judgement.new == ()
    assert judgement.shrunk == holding(long_function(amount=80)).entries
    assert update(judgement) == holding(long_function(amount=79))


def test_what_has_grown_takes_no_other_place():
    accepted = holding(long_function("a.py", amount=80), long_function("b.py", amount=200))
    judgement = judged(found(long_function("a.py", amount=90)), accepted)
    assert not looks_moved(judgement)
    assert accept_moves(judgement).baseline == holding(long_function("a.py", amount=80))


def test_what_has_grown_may_be_waived_and_recorded():
    judgement = judged_sizes(90, 80, waiver("LAY201"))
    assert judgement.new == ()
    assert update(judgement) == holding(long_function(amount=80))
    assert record_waived(judgement) == holding(long_function(amount=90))


def test_of_two_functions_of_one_name_either_may_go():
    both = [long_function(line=1, amount=80), long_function(line=99, amount=60)]
    for left in both:
        judgement = judged(found(left), holding(*both))
        assert judgement.new == ()
        assert update(judgement) == holding(left)


def test_a_waived_finding_is_not_new_and_never_updated_into_the_baseline():
    judgement = judged(found(site("a.py"), site("b.py")), Baseline(GATE), waiver(scope="a.py"))
    assert judgement.waived == found(site("a.py"))
    assert judgement.new == found(site("b.py"))
    assert update(judgement) == Baseline(GATE)


def test_recording_waived_findings_takes_them_in_and_new_ones_not():
    judgement = judged(
        found(site("a.py"), site("b.py"), site("c.py")), holding(site("c.py"), site("d.py", "triton")), waiver()
    )
    assert record_waived(judgement) == holding(site("a.py"), site("c.py"))


def test_recorded_findings_are_accepted_and_their_waiver_is_still_in_use():
    findings = found(site("a.py"))
    judgement = judged(findings, record_waived(judged(findings, Baseline(GATE), waiver())), waiver())
    assert judgement.accepted == findings
    assert judgement.unused == ()


def test_an_expired_waiver_covers_nothing():
    judgement = judged(found(site("a.py")), Baseline(GATE), waiver(days=-1))
    assert judgement.expired == (waiver(days=-1),)
    assert judgement.new == found(site("a.py"))
    assert judgement.unused == ()


def test_a_waiver_near_its_end_is_announced():
    near, far = waiver(days=14), waiver(days=15)
    assert judged(found(site("a.py")), Baseline(GATE), near, far).expiring == (near,)


def test_a_waiver_that_covers_nothing_is_unused():
    idle = waiver(scope="gone/**")
    assert judged(found(site("a.py")), Baseline(GATE), idle, waiver()).unused == (idle,)


def test_pruning_drops_only_the_stale_entries_of_files_that_are_gone():
    baseline = holding(site("a.py"), site("a.py", "triton"), site("gone.py"), site("b.py", "triton"))
    judgement = judged(found(site("a.py")), baseline)
    pruned = prune(judgement, {"a.py", "b.py"}.__contains__)
    assert pruned == holding(site("a.py"), site("a.py", "triton"), site("b.py", "triton"))


def test_pruning_leaves_the_decision_about_moves_open():
    judgement = judged(found(site("new.py")), holding(site("gone.py")))
    assert prune(judgement, {"new.py"}.__contains__) == holding(site("gone.py"))


def test_pruning_keeps_an_entry_whose_finding_is_about_a_missing_file():
    baseline = holding(site("gone.md"))
    assert prune(judged(found(site("gone.md")), baseline), lambda path: False) == baseline
