"""Builders and strategies for the tests of baselines: few names, so that violations often agree."""

from __future__ import annotations

import datetime

from hypothesis import settings
from hypothesis import strategies as st

from analyzers.finding import Finding, identify
from gates.baseline.entries import Baseline, Entry
from gates.settings.model import Waiver

GATE = "layering"
TODAY = datetime.date(2026, 3, 10)

repeatable = settings(derandomize=True, deadline=None, max_examples=50)


def site(path="a.py", subject="torch", *, rule="LAY003", symbol="", line=1):
    return Finding(rule, path, line, 1, symbol, subject, f"imports {subject}")


def found(*sites):
    return tuple(identify(sites))


def holding(*sites):
    return Baseline.of(GATE, map(Entry.of, found(*sites)))


def waiver(rule="LAY003", scope="a.py", *, days=30, owner="ana", reason="until the release"):
    expires = TODAY + datetime.timedelta(days=days)
    return Waiver(rule=rule, scope=scope, owner=owner, reason=reason, expires=expires)


sites = st.builds(
    site,
    st.sampled_from(["a.py", "lib/a.py", "b.py"]),
    st.sampled_from(["torch", "triton"]),
    rule=st.sampled_from(["LAY003", "LAY101"]),
    symbol=st.sampled_from(["", "f", "g"]),
    line=st.integers(1, 50),
)
site_lists = st.lists(sites, max_size=12)
baselines = site_lists.map(lambda chosen: holding(*chosen))


@st.composite
def parts(draw, baseline):
    """A baseline that holds some of the entries."""
    kept = [entry for entry in baseline.entries if draw(st.booleans())]
    return Baseline.of(baseline.gate, kept)
