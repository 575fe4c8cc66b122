from hypothesis import given
from hypothesis import strategies as st
from violations import GATE, baselines, found, holding, repeatable, site, site_lists

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


def test_the_title_leaves_out_an_empty_symbol():
    (entry,) = holding(site("a.py", "torch")).entries
    assert entry.title == "LAY003 a.py torch"
