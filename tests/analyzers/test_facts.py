from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from analyzers.cache import Fact, FactCache
from analyzers.errors import UserError
from analyzers.facts import FactBase, Need
from analyzers.python.syntax import checking_syntax
from analyzers.source import Problem, Source
from analyzers.trees.tree import blob_digest
from analyzers.trees.working import WorkingTree


@dataclass(frozen=True)
class Length:
    """A fact that is easy to foresee."""

    kind: str = "length@1"

    def extract(self, source: Source) -> Any:
        return [len(source.text)]


def facts_of(root: Path, cache: FactCache | None = None, suffix: str = "") -> FactBase:
    tree = WorkingTree(root)
    base = FactBase(tree, cache)
    base.gather([Need(Length(), [path for path in tree.paths if path.endswith(suffix)])])
    return base


def test_every_readable_file_has_its_fact(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("four")
    (tmp_path / "b.md").write_bytes(b"\xff")
    (tmp_path / "c.py").write_text("def broken(:\n")

    base = facts_of(tmp_path)

    assert base.of(Length()) == {"a.md": [4], "c.py": [13]}
    assert {path: problem.rule for path, problem in base.problems.items()} == {"b.md": "SRC003", "c.py": "SRC002"}


def test_a_known_content_is_not_extracted_again(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("four")
    cache = FactCache(tmp_path / "cache" / "facts.sqlite")
    facts_of(tmp_path, cache, ".md")
    cache.store([Fact(blob_digest(b"four"), "length@1", "[99]")])

    assert facts_of(tmp_path, cache, ".md").of(Length()) == {"a.md": [99]}


def test_what_several_analysers_ask_for_is_extracted_once(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Noted(Length):
        extracted: ClassVar[list[str]] = []

        def extract(self, source: Source) -> Any:
            self.extracted.append(source.path)
            return super().extract(source)

    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("four")

    FactBase(WorkingTree(tmp_path)).gather([Need(Noted(), ["a.md"]), Need(Noted(), ["a.md", "b.md"])])

    assert Noted.extracted == ["a.md", "b.md"]


def test_a_stored_value_that_is_no_json_is_extracted_again(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("four")
    cache = FactCache(tmp_path / "cache" / "facts.sqlite")
    facts_of(tmp_path, cache, ".md")
    cache.store([Fact(blob_digest(b"four"), "length@1", "[9")])

    assert facts_of(tmp_path, cache, ".md").of(Length()) == {"a.md": [4]}


def test_a_problem_is_reported_on_every_run(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("def broken(:\n")
    cache = FactCache(tmp_path / "cache" / "facts.sqlite")

    assert facts_of(tmp_path, cache, ".py").problems == facts_of(tmp_path, cache, ".py").problems != {}


def test_a_file_is_checked_once_in_a_run_and_its_problem_counts_for_what_is_gathered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("def broken(:\n")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\nx = '\xe9' +\n")
    checked: list[str] = []

    def check(sources: Mapping[str, Path | str]) -> AbstractContextManager[Callable[[], dict[str, Problem]]]:
        checked.extend(sources)
        return checking_syntax(sources)

    monkeypatch.setattr("analyzers.python.syntax.checking_syntax", check)
    cache = FactCache(tmp_path / "cache" / "facts.sqlite")
    base = facts_of(tmp_path, cache, ".py")
    first = [*checked]

    base.gather([Need(Length("length@2"), ["broken.py", "latin.py"])])

    assert checked == first
    assert {*checked} == {"broken.py", "latin.py"}
    later = FactBase(WorkingTree(tmp_path), cache)
    later.gather([Need(Length("length@2"), ["broken.py", "latin.py"])])
    assert later.problems == base.problems != {}


def test_a_file_of_which_facts_are_stored_is_not_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    cache = FactCache(tmp_path / "cache" / "facts.sqlite")
    facts_of(tmp_path, cache, ".py")
    monkeypatch.setattr("analyzers.python.syntax.checking_syntax", None)
    base = FactBase(WorkingTree(tmp_path), cache)

    base.gather([Need(Length(), ["a.py"]), Need(Length("length@2"), ["a.py"])])

    assert base.of(Length("length@2")) == {"a.py": [6]}


def test_many_files_are_read_in_parallel_with_the_same_result(tmp_path: Path) -> None:
    for number in range(450):
        (tmp_path / f"m{number}.py").write_text("x = 1\n" * number)
    (tmp_path / "broken.py").write_text("x = (\n")
    seen: list[tuple[int, int]] = []
    tree = WorkingTree(tmp_path)
    base = FactBase(tree)

    base.gather([Need(Length(), tree.paths)], lambda done, total: seen.append((done, total)))

    assert base.of(Length()) == {**{f"m{n}.py": [6 * n] for n in range(450)}, "broken.py": [6]}
    assert base.problems.keys() == {"broken.py"}
    assert seen[-1] == (451, 451)


@pytest.fixture
def many(tmp_path: Path) -> WorkingTree:
    """Enough files for several workers."""
    for number in range(1000):
        (tmp_path / f"m{number}.md").write_text("# x\n")
    return WorkingTree(tmp_path)


def test_an_interrupted_run_leaves_no_worker_behind(many: WorkingTree) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FactBase(many).gather([Need(Length(), many.paths)], interrupt)

    assert multiprocessing.active_children() == []


@dataclass(frozen=True)
class Deadly:
    """Kills the process that reads it, as the kernel does when memory runs out."""

    kind: str = "deadly@1"

    def extract(self, source: Source) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_clear_error(many: WorkingTree) -> None:
    with pytest.raises(UserError, match="a worker process was killed"):
        FactBase(many).gather([Need(Deadly(), many.paths)])

    assert multiprocessing.active_children() == []


@dataclass(frozen=True)
class Process:
    """A fact that says who read it."""

    kind: str = "process@1"

    def extract(self, source: Source) -> Any:
        return os.getpid()


def two_stages(tree: WorkingTree, count: int, second: Length | Process | Deadly) -> FactBase:
    """The first facts show that so many files are needed for a second kind."""
    base = FactBase(tree)
    base.gather([Need(Length(), tree.paths[:count], then=lambda facts: [Need(second, [*facts.of(Length())])])])
    return base


@pytest.mark.parametrize(("count", "in_background"), [(3, False), (50, True)])
def test_what_facts_show_to_be_needed_is_read_meanwhile(many: WorkingTree, count: int, in_background: bool) -> None:
    base = two_stages(many, count, Process())
    base.gather([Need(Process(), many.paths[:count])])

    read_by = base.of(Process())
    assert read_by.keys() == set(many.paths[:count])
    assert (os.getpid() not in read_by.values()) == in_background


def test_what_is_read_meanwhile_is_there_whatever_is_gathered_next(many: WorkingTree) -> None:
    base = two_stages(many, 50, Length("other@1"))
    base.gather([])
    assert len(base.of(Length("other@1"))) == 50


def test_what_is_read_meanwhile_can_be_given_up(many: WorkingTree) -> None:
    two_stages(many, 1000, Process()).stop()
    assert multiprocessing.active_children() == []


def test_a_worker_that_is_killed_meanwhile_is_one_clear_error(many: WorkingTree) -> None:
    base = two_stages(many, 50, Deadly())
    with pytest.raises(UserError, match="a worker process was killed"):
        base.gather([Need(Deadly(), many.paths[:50])])

    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"x = 1\r\ny = 2\r\n", b"x = '" + b"a" * 5_000_000 + b"'\n"])
def test_unusual_but_valid_files_have_no_problem(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)

    base = facts_of(tmp_path)

    assert base.problems == {}
    assert json.dumps(base.of(Length())) == json.dumps(
        {"a.py": [len(content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"))]}
    )


def test_what_is_no_file_is_not_given_to_the_syntax_checker(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")  # reading it would never end
    (tmp_path / "broken.py").write_text("x = (\n")
    problems = facts_of(tmp_path).problems
    assert {path: problem.rule for path, problem in problems.items()} == {"broken.py": "SRC002", "pipe.py": "SRC001"}
