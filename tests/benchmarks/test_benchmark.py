"""The benchmark measures what it says: the generated documents, the edits, the memory, the written table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from benchmarks import trees
from benchmarks.contenders import write_settings_of_every_gate
from benchmarks.page import Bar, write_between_markers
from benchmarks.timing import Command, CommandError, Peak
from gates.registry import configured
from gates.settings.load import load

LINK = re.compile(r"\]\((\.\./[^)#]+)#section-(\d+)\)")
MIB = 1024 * 1024


def python(code: str, **settings: tuple[int, ...]) -> Command:
    return Command([sys.executable, "-c", code], Path.cwd(), {}, **settings)


def test_the_documents_hold_as_many_links_and_broken_ones_as_promised(tmp_path: Path) -> None:
    trees.write_documents(tmp_path)
    documents = {path: path.read_text() for path in tmp_path.rglob("*.md")}
    links = [
        ((path.parent / target).resolve(), f"## Section {section}\n")
        for path, text in documents.items()
        for target, section in LINK.findall(text)
    ]

    broken = [link for link in links if link[0] not in documents or link[1] not in documents[link[0]]]

    assert (len(documents), len(links), len(broken)) == (trees.DOCUMENTS, trees.LINKS, trees.BROKEN)


def test_the_documents_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        trees.write_documents(tmp_path / name)
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.md")}
        for name in ("one", "two")
    )

    assert one == two


def test_an_edit_differs_each_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_bytes(b"x = 1\r\n")
    seen = set()
    for stamp in range(3):
        with trees.edited([file], stamp):
            seen.add(file.read_bytes())

    assert len(seen) == 3
    assert file.read_bytes() == b"x = 1\r\n"


def test_the_files_to_edit_are_spread_over_the_longer_half(tmp_path: Path) -> None:
    for index in range(100):
        (tmp_path / f"m{index:03}.py").write_text("x\n" * (index % 2))

    chosen = trees.spread_out(trees.python_files(tmp_path), 10)

    assert [file.name for file in chosen] == [f"m{index:03}.py" for index in range(1, 100, 10)]


def test_a_command_that_did_not_do_its_work_is_an_error() -> None:
    with pytest.raises(CommandError, match="status 2\nno such thing"):
        python("import sys; sys.exit(print('no such thing', file=sys.stderr) or 2)", statuses=(0, 1)).seconds()


def test_a_finding_is_no_error() -> None:
    assert python("raise SystemExit(1)", statuses=(0, 1)).seconds() > 0


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")
def test_memory_is_summed_over_the_process_tree() -> None:
    hold = "import time; held = bytearray(b'x' * (64 << 20)); time.sleep(1.5)"
    start = f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {hold!r}])"

    alone, both = Peak.of(python(hold)), Peak.of(python(f"{start}; {hold}; child.wait()"))

    assert both.tree - alone.tree > 50 * MIB
    assert both.process - alone.process < 10 * MIB


def test_the_result_replaces_what_stands_between_the_markers(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- benchmark:start -->\nold\n<!-- benchmark:end -->\nafter\n")

    write_between_markers(document, "benchmark", "new")

    assert document.read_text() == "before\n<!-- benchmark:start -->\nnew\n<!-- benchmark:end -->\nafter\n"


def test_a_document_without_markers_is_left_alone(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n")

    with pytest.raises(click.ClickException, match="to write between"):
        write_between_markers(document, "benchmark", "new")

    assert document.read_text() == "before\n"


def test_a_promise_that_was_not_kept_says_so() -> None:
    assert "| yes |" in Bar("speed", 2.0, 2.0, "s").row()
    assert "| **no** |" in Bar("speed", 2.1, 2.0, "s").row()


def test_the_settings_of_the_measured_trees_are_valid_and_ask_for_every_gate(tmp_path: Path) -> None:
    write_settings_of_every_gate(tmp_path)
    assert {"layering", "docs", "config", "env", "routes"} <= {*configured(load(tmp_path).settings)}

    transformers = Path(__file__).parents[2] / "benchmarks/transformers"
    assert {"layering", "config", "env", "routes"} <= {*configured(load(transformers).settings)}
