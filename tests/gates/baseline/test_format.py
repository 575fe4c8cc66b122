import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from violations import GATE, baselines, found, holding, long_function, repeatable, site

from gates.baseline.entries import Baseline, Entry
from gates.baseline.format import FIRST_ENTRY_LINE, BaselineError, parse, render

EXAMPLE = holding(site("a.py"), site("b.py"), site("b.py", line=9))
any_text = st.text(st.characters(exclude_categories=["Cs"]))
any_site = st.builds(site, any_text, any_text, rule=any_text, symbol=any_text, amount=st.integers(0))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(Entry.__struct_fields__), inner),
    max_leaves=8,
)
documents = values | st.fixed_dictionaries(
    {"version": st.just(1) | values, "gate": st.just(GATE) | values, "entries": st.lists(values) | values}
)


def changed(**changes):
    return json.dumps(json.loads(render(EXAMPLE)) | changes).encode()


def with_first_entry(**changes):
    rows = [asdict(entry) for entry in EXAMPLE.entries]
    return changed(entries=[rows[0] | changes, *rows[1:]])


def complaint(content, gate=GATE):
    with pytest.raises(BaselineError) as caught:
        parse(content, "baselines/layering.json", gate)
    return str(caught.value)


@repeatable
@given(st.lists(any_site, max_size=5))
def test_what_is_written_is_read_back(sites):
    baseline = holding(*sites)
    assert parse(render(baseline), "x") == baseline


def test_a_path_that_is_not_utf8_is_written_and_read_back():
    baseline = holding(site("caf\udce9.py"))
    assert parse(render(baseline), "x") == baseline


@repeatable
@given(baselines)
def test_every_entry_has_a_line_of_its_own(baseline):
    lines = render(baseline).decode().split("\n")[FIRST_ENTRY_LINE - 1 :]
    read = [json.loads(line.rstrip(",")) for line in lines[: len(baseline.entries)]]
    assert [Entry(**row) for row in read] == list(baseline.entries)


def test_the_file_is_exactly_this():
    digest = found(site("ä.py", 'a"b'))[0].fingerprint
    assert render(holding(site("ä.py", 'a"b'))).decode() == (
        "{\n"
        '  "version": 1,\n'
        '  "gate": "layering",\n'
        '  "entries": [\n'
        '    {"rule": "LAY003", "path": "ä.py", "symbol": "", "subject": "a\\"b",'
        f' "fingerprint": "{digest}"}}\n'
        "  ]\n"
        "}\n"
    )


def test_an_amount_stands_at_the_end_of_its_line():
    assert b'", "amount": 80}\n' in render(holding(long_function(amount=80)))


def test_an_empty_baseline_is_exactly_this():
    assert render(Baseline("docs")) == b'{\n  "version": 1,\n  "gate": "docs",\n  "entries": []\n}\n'


def test_layout_order_and_a_byte_order_mark_do_not_matter():
    rows = [asdict(entry) for entry in reversed(EXAMPLE.entries)]
    content = b"\xef\xbb\xbf" + changed(entries=rows).replace(b", ", b",\r\n")
    assert parse(content, "x", GATE) == EXAMPLE


def test_a_line_deleted_by_hand_leaves_a_baseline_that_is_one_site_smaller():
    sites = [site(line=line) for line in range(1, 4)]
    whole = holding(*sites)
    for gone in whole.entries:
        rows = [asdict(entry) for entry in whole.entries if entry != gone]
        assert parse(changed(entries=rows), "x") == holding(*sites[:2])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ":1: not JSON"),
        (b'{\n  "version": 1,\n}', ":3: not JSON"),
        (b'{\n  "version": "\xff"}', ":2: not UTF-8"),
        (b"[" * 100_000, ": not a baseline"),
        (b'{"version": ' + b"1" * 5_000 + b"}", ": not a baseline"),
        (b"[]", ": not a baseline"),
        (changed(total=3), ": not a baseline"),
        (changed(version=2), "version 2"),
        (changed(version=True), "version true"),
        (changed(version=1.0), "version 1.0"),
        (changed(gate=None), "`gate` is not a string"),
        (changed(gate="docs"), "the gate 'docs', not of 'layering'"),
        (changed(entries={}), "`entries` is not a list"),
        (changed(entries=[None]), "entry 1 is not"),
        (with_first_entry(path=None), "entry 1 is not"),
        (with_first_entry(line=4), "entry 1 is not"),
        (with_first_entry(amount=-1), "the amount of entry 1 is -1"),
        (with_first_entry(amount=True), "the amount of entry 1 is true"),
        (with_first_entry(amount=8.5), "the amount of entry 1 is 8.5"),
        (with_first_entry(amount="8"), 'the amount of entry 1 is "8"'),
        (changed(entries=[asdict(EXAMPLE.entries[0]), {"rule": "LAY001"}]), "entry 2 is not"),
    ],
)
def test_a_file_that_is_no_baseline_is_named_with_its_fault(content, expected):
    said = complaint(content)
    assert said.startswith("baselines/layering.json")
    assert expected in said


def test_a_conflict_is_found_at_its_first_marker():
    lines = render(EXAMPLE).decode().splitlines(keepends=True)
    lines[5:5] = ["<<<<<<< HEAD\n", "=======\n", ">>>>>>> topic\n"]
    said = complaint("".join(lines).encode())
    assert said.startswith("baselines/layering.json:6: an unresolved merge conflict.")
    assert "gates baseline merge" in said


def test_an_entry_that_stands_twice_is_named_with_the_line_of_its_last_copy():
    lines = render(EXAMPLE).decode().splitlines(keepends=True)
    lines.insert(FIRST_ENTRY_LINE, lines[FIRST_ENTRY_LINE - 1])
    said = complaint("".join(lines).encode())
    assert f":{FIRST_ENTRY_LINE + 1}: the entry LAY003 a.py torch stands there 2 times" in said


def test_an_entry_that_stands_twice_is_named_although_its_amounts_differ():
    row = asdict(holding(long_function(amount=80)).entries[0])
    assert "stands there 2 times" in complaint(changed(entries=[row, row | {"amount": 90}]))


@pytest.mark.parametrize("field", ["rule", "path", "symbol", "subject", "fingerprint"])
def test_an_entry_changed_by_hand_no_longer_has_its_fingerprint(field):
    assert "is not one of" in complaint(with_first_entry(**{field: "0123456789abcdef"}))


def test_a_foreign_fingerprint_is_named_with_its_line():
    second = EXAMPLE.entries[1]
    said = complaint(render(EXAMPLE).replace(second.fingerprint.encode(), b"0123456789abcdef"))
    assert f":{FIRST_ENTRY_LINE + 1}: the fingerprint '0123456789abcdef' is not one of {second.title}" in said


@repeatable
@given(st.binary() | documents.map(lambda document: json.dumps(document).encode()))
def test_any_bytes_are_a_baseline_or_one_clear_error(content):
    with contextlib.suppress(BaselineError):
        assert isinstance(parse(content, "x"), Baseline)
