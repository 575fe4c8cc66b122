import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from violations import GATE, baselines, holding, long_function, parts, repeatable, site

from gates.baseline.entries import Baseline
from gates.baseline.format import BaselineError, render
from gates.baseline.merge import merge, merge_files
from gates.baseline.store import load, save

DRIVER = (
    "import sys; from pathlib import Path; from gates.baseline.merge import merge_files;"
    " merge_files(*map(Path, sys.argv[1:4]), sys.argv[4])"
)


@repeatable
@given(baselines, baselines, baselines)
def test_merging_is_commutative(base, ours, theirs):
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@repeatable
@given(baselines, baselines)
def test_merging_is_idempotent(base, side):
    assert merge(base, side, side) == side


@repeatable
@given(baselines, baselines)
def test_a_side_that_did_nothing_takes_the_other(base, side):
    assert merge(base, base, side) == side


@repeatable
@given(baselines.flatmap(lambda base: st.tuples(st.just(base), parts(base), parts(base), parts(base))))
def test_merging_reductions_is_associative(states):
    base, one, two, three = states
    assert merge(base, merge(base, one, two), three) == merge(base, one, merge(base, two, three))


@repeatable
@given(baselines.flatmap(lambda base: st.tuples(st.just(base), parts(base), parts(base))))
def test_merging_reductions_holds_what_both_sides_hold(states):
    base, ours, theirs = states
    left, right = ours.amounts(), theirs.amounts()
    assert merge(base, ours, theirs).amounts() == {
        fingerprint: min(left[fingerprint], right[fingerprint]) for fingerprint in left.keys() & right.keys()
    }


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (80, 80, 70, 70),
        (80, 80, 90, 90),
        (80, 60, 70, 60),
        (80, 70, 90, 70),
        (80, 90, 95, 90),
        (None, 90, 70, 70),
        (80, None, 70, None),
        (80, None, 90, None),
    ],
)
def test_the_change_of_an_amount_wins_and_of_two_the_smaller(base, ours, theirs, merged):
    states = [holding() if amount is None else holding(long_function(amount=amount)) for amount in (base, ours, theirs)]
    assert list(merge(*states).amounts().values()) == [amount for amount in [merged] if amount is not None]


def test_what_either_side_removed_is_gone_and_what_either_added_is_there():
    base = holding(site("a.py"), site("b.py"), site("c.py"))
    ours = holding(site("b.py"), site("c.py"), site("d.py"))
    theirs = holding(site("a.py"), site("c.py"), site("e.py"))
    assert merge(base, ours, theirs) == holding(site("c.py"), site("d.py"), site("e.py"))


@pytest.fixture
def sides(tmp_path):
    base, ours, theirs = (tmp_path / name for name in ("base", "ours", "theirs"))
    save(base, holding(site("a.py"), site("b.py")))
    save(ours, holding(site("b.py")))
    save(theirs, holding(site("a.py")))
    return base, ours, theirs


def test_the_driver_writes_the_result_into_our_side(sides):
    _, ours, theirs = sides
    before = theirs.read_bytes()
    merge_files(*sides, "baselines/layering.json")
    assert load(ours, GATE) == Baseline(GATE)
    assert theirs.read_bytes() == before


def test_an_empty_file_is_no_ancestor(sides):
    base, ours, _ = sides
    base.write_bytes(b"")
    merge_files(*sides, "baselines/layering.json")
    assert load(ours, GATE) == holding(site("a.py"), site("b.py"))


@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize("content", [b"<<<<<<< HEAD\n", render(Baseline("docs"))])
def test_a_side_that_cannot_be_merged_is_named_and_ours_stays(sides, broken, content):
    sides[broken].write_bytes(content)
    before = sides[1].read_bytes()
    with pytest.raises(BaselineError, match=r"^baselines/layering\.json \((ours|theirs|base)\)"):
        merge_files(*sides, "baselines/layering.json")
    assert sides[1].read_bytes() == before


def test_a_missing_side_is_named(sides):
    sides[2].unlink()
    with pytest.raises(BaselineError, match=r"\(theirs\): there is no file"):
        merge_files(*sides, "baselines/layering.json")


def test_git_merges_two_branches_that_each_removed_a_neighbouring_entry(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    file = tmp_path / "layering.json"

    def commit(*sites):
        save(file, holding(*sites))
        git("add", ".")
        git("commit", "-m", "state")

    git("init", "-b", "main")
    (tmp_path / ".gitattributes").write_text("*.json merge=gates-baseline\n")
    git("config", "merge.gates-baseline.driver", f"'{sys.executable}' -c '{DRIVER}' %O %A %B %P")
    commit(site("a.py"), site("b.py"), site("c.py"))
    git("checkout", "-b", "topic")
    commit(site("a.py"), site("c.py"))
    git("checkout", "main")
    commit(site("a.py"), site("b.py"))
    git("merge", "topic")
    assert load(file, GATE) == holding(site("a.py"))
