from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from analyzers.cache import Fact, FactCache, FileState, decoded, default_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "facts.sqlite"


def test_a_second_process_finds_what_the_first_stored(file: Path) -> None:
    first = FactCache(file)
    first.store([Fact("d1", "imports@1", "[1]"), Fact("d2", "imports@1", "[2]"), Fact("d1", "links@1", "[3]")])
    first.close()

    assert FactCache(file).lookup("imports@1", ["d1", "d2", "absent"]) == {"d1": "[1]", "d2": "[2]"}


def test_kinds_do_not_mix(file: Path) -> None:
    cache = FactCache(file)
    cache.store([Fact("d1", "imports@1", "[1]")])

    assert cache.lookup("imports@2", ["d1"]) == {}


def test_states_are_kept_for_each_root(file: Path) -> None:
    cache = FactCache(file)
    cache.remember("/one", [FileState("a.py", "10:1", "d1")])

    assert cache.states("/one") == {"a.py": FileState("a.py", "10:1", "d1")}
    assert cache.states("/two") == {}


def test_a_file_that_is_no_database_is_begun_anew(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    cache = FactCache(file)

    assert cache.lookup("imports@1", ["d1"]) == {}
    cache.store([Fact("d1", "imports@1", "[1]")])
    assert FactCache(file).lookup("imports@1", ["d1"]) == {"d1": "[1]"}


def test_damage_in_the_middle_costs_only_the_cache(file: Path) -> None:
    cache = FactCache(file)
    cache.store([Fact(f"d{n}", "imports@1", "x" * 500) for n in range(2000)])
    cache.close()
    content = bytearray(file.read_bytes())
    content[8192 : len(content) - 4096] = b"\xff" * (len(content) - 4096 - 8192)
    file.write_bytes(content)

    damaged = FactCache(file)
    damaged.lookup("imports@1", [f"d{n}" for n in range(2000)])
    damaged.store([Fact("new", "imports@1", "[1]")])


def test_tables_of_another_shape_are_no_reason_to_fail(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE facts (other INTEGER)")
    cache = FactCache(file)

    cache.store([Fact("d1", "imports@1", "[1]")])
    assert cache.lookup("imports@1", ["d1"]) == {}


def test_a_home_that_cannot_be_written_means_no_cache(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    cache = FactCache(tmp_path / "home" / "voltgate" / "facts.sqlite")

    cache.store([Fact("d1", "imports@1", "[1]")])
    assert cache.lookup("imports@1", ["d1"]) == {}


def test_a_folder_in_the_place_of_the_file_means_no_cache(file: Path) -> None:
    file.mkdir(parents=True)

    assert FactCache(file).lookup("imports@1", ["d1"]) == {}


def test_clear_deletes_the_file_and_says_how_much(file: Path) -> None:
    cache = FactCache(file)
    cache.store([Fact("d1", "imports@1", "[1]")])
    cache.close()

    assert cache.clear() > 0
    assert not file.exists()
    assert cache.clear() == 0


_WRITER = """
import sys
from pathlib import Path
from analyzers.cache import Fact, FactCache
cache = FactCache(Path(sys.argv[1]))
for n in range(40):
    cache.store([Fact(f"{sys.argv[2]}-{n}-{m}", "imports@1", "[]") for m in range(25)])
"""


def test_concurrent_writers_lose_nothing(file: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(file), name]) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0] * 4

    expected = [f"{name}-{n}-{m}" for name in "abcd" for n in range(40) for m in range(25)]
    assert len(FactCache(file).lookup("imports@1", expected)) == len(expected)


def test_the_default_file_follows_the_xdg_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert default_file().is_relative_to(tmp_path)


@pytest.mark.parametrize(
    "value", ["\ud800", "\U0001f600\0", float("inf"), 10**400, -0.0, 1e-320, [{"a": [None, True, ""]}, {}], 2**64]
)
def test_what_was_stored_is_what_comes_back(value: object) -> None:
    assert decoded([json.dumps(value), json.dumps([value])]) == [value, [value]]
