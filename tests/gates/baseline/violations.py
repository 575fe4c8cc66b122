"""Builders and strategies for the tests of baselines: few names, so that violations often agree."""

from __future__ import annotations

import datetime
import operator
from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st

from analyzers.finding import Finding, identify
from gates.baseline.entries import Baseline, Entry
from gates.settings.model import Waiver

GATE = "layering"
TODAY = datetime.date(2026, 3, 10)

repeatable = settings(derandomize=True, deadline=None, max_examples=50)


def site(path="a.py", subject="torch", *, rule="LAY003", symbol="", line=1, amount=0):
    return Finding(rule, path, line, 1, symbol, subject, f"imports {subject}", amount=amount)


def long_function(path="a.py", symbol="f", *, line=1, amount=80):
    return site(path, symbol, rule="LAY201", symbol=symbol, line=line, amount=amount)


def found(*sites):
    return tuple(identify(sites))


def holding(*sites):
    return Baseline.of(GATE, map(Entry.of, found(*sites)))


def waiver(rule="LAY003", scope="a.py", *, days=30, owner="ana", reason="until the release"):
    expires = TODAY + datetime.timedelta(days=days)
    return Waiver(rule=rule, scope=scope, owner=owner, reason=reason, expires=expires)


paths = st.sampled_from(["a.py", "lib/a.py", "b.py"])
lines = st.integers(1, 50)
unsized = st.builds(
    site,
    paths,
    st.sampled_from(["torch", "triton"]),
    rule=st.sampled_from(["LAY003", "LAY101"]),
    symbol=st.sampled_from(["", "f", "g"]),
    line=lines,
)
sized = st.builds(long_function, paths, st.sampled_from(["f", "g"]), line=lines, amount=st.integers(1, 4))
sites = unsized | sized
site_lists = st.lists(sites, max_size=12)
baselines = site_lists.map(lambda chosen: holding(*chosen))
distinct_lists = st.builds(
    operator.add,
    st.lists(unsized, max_size=8),
    st.lists(sized, max_size=6, unique_by=lambda finding: (finding.path, finding.symbol)),
)
"""In no file have two long functions the same name."""
distinct_baselines = distinct_lists.map(lambda chosen: holding(*chosen))
unsized_lists = st.lists(unsized, max_size=12)
unsized_baselines = unsized_lists.map(lambda chosen: holding(*chosen))


def grew(before, after):
    """Does any rule and subject hold more violations, or a larger one in its place, the largest compared first?"""
    old, new = _sizes(before), _sizes(after)
    return any(len(sizes) > len(old[key]) or any(map(operator.gt, sizes, old[key])) for key, sizes in new.items())


def _sizes(violations):
    sizes = defaultdict(list)
    for violation in sorted(violations, key=lambda violation: -violation.amount):
        sizes[violation.rule, violation.subject].append(violation.amount)
    return sizes


@st.composite
def parts(draw, baseline):
    """A baseline that holds some of the entries."""
    kept = [entry for entry in baseline.entries if draw(st.booleans())]
    return Baseline.of(baseline.gate, kept)
