"""Syntax errors, as ruff reports them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import ruff

from analyzers.python.syntax import SyntaxCheckerError, check_syntax, checking_syntax
from analyzers.source import Problem

VALID = {
    "PEP 695": "type X = int\ndef f[T](x: T) -> T: return x\n",
    "PEP 701": 'f"{x["#"]}"\n',
    "PEP 750": 't"{x}"\n',
    "empty": "",
    "no syntax error, though no good code": "import os, sys\nreturn 1\nl = undefined\n",
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID.keys())
def test_valid_file_has_no_problem(text: str) -> None:
    assert check_syntax({"a.py": text}) == {}


def test_first_error_of_a_file_is_reported() -> None:
    problem = check_syntax({"a.py": "x = 1\né = 'é' + )\ndef f(:\n"})["a.py"]
    assert problem[:3] == ("SRC002", 2, 11)


def test_each_key_has_its_own_problem() -> None:
    found = check_syntax({"a.py": "x\n", "b/../c d.py": "x = (\n", "": "  y\n"})
    assert sorted(found) == ["", "b/../c d.py"]


def test_names_may_be_longer_than_a_command_line(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 3000:
        folder /= "long" * 50
    folder.mkdir(parents=True)
    files = [folder / f"{number} 'é' \"$x\" @#.py " for number in range(1000)]
    for file in files:
        file.write_text("x = (\n")
    assert check_syntax({file.name: file for file in files}).keys() == {file.name for file in files}


SILENCERS = ["# ruff: noqa\n", "# flake8: noqa\n", "#!/usr/bin/env python\n# type: ignore\n"]


@pytest.mark.parametrize("silencer", SILENCERS)
def test_no_comment_hides_an_error(silencer: str) -> None:
    assert "a.py" in check_syntax({"a.py": f"{silencer}x = = 1  # noqa\n"})


def test_no_settings_around_the_folder_hide_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "ruff.toml").write_text('exclude = ["*"]\n[lint.per-file-ignores]\n"*" = ["ALL"]\n')
    build = tmp_path / "build" / ".venv"
    build.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(build))
    monkeypatch.chdir(tmp_path)
    assert "a.py" in check_syntax({"a.py": "x = (\n"})


def test_a_file_that_brings_the_checker_down_is_one_problem_beside_those_of_others() -> None:
    sources = {f"{number}.py": "x = (\n" if number % 2 else "x\n" for number in range(9)}
    deep = {"sum.py": f"x = {' + '.join(['a'] * 50_000)}\n", "calls.py": f"x = a{'()' * 50_000}\n"}

    found = check_syntax({**sources, **deep})

    assert found.keys() == {"1.py", "3.py", "5.py", "7.py", *deep}
    assert all(found[path][:3] == ("SRC002", 0, 0) for path in deep)


def test_no_files_need_no_ruff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruff, "find_ruff_bin", lambda: "/nonexistent/ruff")
    assert check_syntax({}) == {}


def test_missing_ruff_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruff, "find_ruff_bin", lambda: "/nonexistent/ruff")
    with pytest.raises(SyntaxCheckerError, match="ruff"):
        check_syntax({"a.py": "x\n"})


@pytest.fixture
def ruff_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has a shell script take the place of ruff."""

    def replace(script: str) -> None:
        program = tmp_path / "ruff"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(ruff, "find_ruff_bin", lambda: str(program))

    return replace


@pytest.mark.parametrize("answer", ["", "not json", "[{}]", "[1]"])
def test_answer_that_cannot_be_read_is_one_error(ruff_that: Callable[[str], None], answer: str) -> None:
    ruff_that(f"cat > /dev/null; echo '{answer}'")
    with pytest.raises(SyntaxCheckerError):
        check_syntax({"a.py": "x\n"})


def test_ruff_that_refuses_is_quoted(ruff_that: Callable[[str], None]) -> None:
    ruff_that("echo 'no such rule' >&2; exit 2")
    with pytest.raises(SyntaxCheckerError, match="no such rule"):
        check_syntax({f"{number}.py": Path(f"{number}.py") for number in range(9999)})  # more names than a pipe holds


def test_what_nobody_waits_for_is_ended(ruff_that: Callable[[str], None], tmp_path: Path) -> None:
    ruff_that(f"echo $$ > {tmp_path}/number; exec cat {tmp_path}/never")
    os.mkfifo(tmp_path / "never")
    with checking_syntax({"a.py": "x\n"}):
        while not (number := tmp_path / "number").exists() or not number.read_text().strip():
            time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_problem_is_a_plain_record() -> None:
    assert isinstance(check_syntax({"a.py": "("})["a.py"], Problem)


def test_a_file_that_cannot_be_read_has_no_error(tmp_path: Path) -> None:
    names = ("gone.py", "gone\n.py", "folder.py")
    (tmp_path / "folder.py").mkdir()
    assert check_syntax({name: tmp_path / name for name in names}) == {}
