import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from violations import GATE, found, holding, repeatable, site

from gates.baseline.counts import Fallen, import_counts, parse_counts
from gates.baseline.format import BaselineError

KINDS = ("platform", "family")
couplings = st.builds(
    site,
    st.sampled_from(["a.py", "b.py"]),
    st.sampled_from(["platform:cuda", "platform:rocm", "family:llama"]),
    rule=st.just("LAY101"),
    line=st.integers(1, 9),
)


def kind_of(finding):
    return finding.subject.partition(":")[0]


def coupling(path, subject, line):
    return site(path, subject, rule="LAY101", line=line)


def parsed(value):
    return parse_counts(json.dumps(value).encode(), "counts.json", KINDS)


def complaint(content):
    with pytest.raises(BaselineError) as caught:
        parse_counts(content, "counts.json", KINDS)
    return str(caught.value)


def test_the_first_sites_of_a_file_are_accepted_and_the_others_exceed():
    sites = [coupling("a.py", "platform:rocm", 1), coupling("a.py", "platform:cuda", 2)]
    imported = import_counts({"a.py": {"platform": 1}}, sorted(found(*sites), key=lambda f: f.line), kind_of, GATE)
    assert imported.baseline == holding(sites[0])
    assert [finding.line for finding in imported.exceeding] == [2]
    assert imported.fallen == ()


def test_a_count_that_fell_is_reported():
    imported = import_counts(
        {"a.py": {"platform": 3, "family": 0}, "gone.py": {"family": 2}},
        found(coupling("a.py", "platform:cuda", 1)),
        kind_of,
        GATE,
    )
    assert imported.fallen == (Fallen("a.py", "platform", 3, 1), Fallen("gone.py", "family", 2, 0))


@repeatable
@given(
    st.lists(couplings, max_size=12),
    st.dictionaries(
        st.sampled_from(["a.py", "b.py", "c.py"]),
        st.dictionaries(st.sampled_from(KINDS), st.integers(0, 4)),
    ),
)
def test_of_each_path_and_kind_as_many_are_accepted_as_counts_allow(sites, counts):
    today = Counter((finding.path, kind_of(finding)) for finding in sites)
    recorded = Counter({(path, kind): n for path, row in counts.items() for kind, n in row.items()})
    imported = import_counts(counts, found(*sites), kind_of, GATE)
    assert Counter((entry.path, kind_of(entry)) for entry in imported.baseline.entries) == today & recorded
    assert Counter((finding.path, kind_of(finding)) for finding in imported.exceeding) == today - recorded
    assert {(fell.path, fell.kind): fell.recorded - fell.current for fell in imported.fallen} == recorded - today


def test_counts_are_read():
    assert parsed({"a.py": {"platform": 3}, "b.py": {}}) == {"a.py": {"platform": 3}, "b.py": {}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "not an object of paths"),
        ({"a.py": 3}, "'a.py' is not an object"),
        ({"a.py": {"platform": -1}}, "the count of 'platform' in 'a.py' is -1"),
        ({"a.py": {"platform": True}}, "'a.py' is true"),
        ({"a.py": {"platform": "3"}}, "'a.py' is \"3\""),
        ({"a.py": {"platfrom": 1}}, "Did you mean 'platform'"),
        ({"a.py": {"zzz": 1}}, "Define a coupling pattern"),
    ],
)
def test_another_shape_is_named(value, expected):
    assert expected in complaint(json.dumps(value).encode())


@pytest.mark.parametrize("content", [b"", b"{\n'a': 1}", b"\xff", b"[" * 100_000, b"9" * 5_000])
def test_what_is_no_json_is_named(content):
    assert complaint(content).startswith("counts.json")
