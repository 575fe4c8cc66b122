from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from violations import GATE, baselines, found, holding, long_function, repeatable, site, site_lists

from gates.baseline.entries import Baseline, Entry


@repeatable
@given(site_lists, st.randoms(use_true_random=False))
def test_a_baseline_does_not_depend_on_the_order_of_its_entries(sites, random):
    entries = [Entry.of(finding) for finding in found(*sites)]
    shuffled = random.sample(entries, len(entries))
    assert Baseline.of(GATE, shuffled) == Baseline.of(GATE, entries)


@repeatable
@given(site_lists)
def test_entries_of_all_findings_keep_the_fingerprints_of_the_findings(sites):
    assert {entry.fingerprint for entry in holding(*sites).entries} == {f.fingerprint for f in found(*sites)}


@repeatable
@given(baselines)
def test_entries_are_sorted_and_distinct(baseline):
    assert list(baseline.entries) == sorted(set(baseline.entries))


def test_a_gap_in_the_numbering_is_closed():
    first, second, third = (Entry.of(f) for f in found(site(line=1), site(line=2), site(line=3)))
    assert Baseline.of(GATE, [first, third]) == Baseline.of(GATE, [first, second])


def test_of_entries_that_agree_the_largest_comes_first_wherever_it_stands():
    above = found(long_function(line=1, amount=80), long_function(line=99, amount=60))
    below = found(long_function(line=1, amount=60), long_function(line=99, amount=80))
    assert {(f.amount, f.fingerprint) for f in above} == {(f.amount, f.fingerprint) for f in below}


def test_a_gap_is_closed_without_raising_an_amount():
    large, middle, small = (Entry.of(f) for f in found(*(long_function(amount=amount) for amount in (90, 80, 70))))
    assert Baseline.of(GATE, [large, small]) == Baseline.of(GATE, [large, replace(middle, amount=70)])


def test_the_title_leaves_out_an_empty_symbol():
    (entry,) = holding(site("a.py", "torch")).entries
    assert entry.title == "LAY003 a.py torch"
