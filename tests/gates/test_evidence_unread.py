"""`gates evidence` where files cannot be read: it says so, and calls nothing removed that may be there."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_project import HEAD, PROJECT, ROUTES, run, verdict
from sample_project import commit, write

CONFLICT = "<<<<<<< ours\n{}=======\n>>>>>>> theirs\n"
DECLARING = ["app/routes.py", "app/config.py", "app/envs.py"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path, PROJECT)
    commit(tmp_path, "first", init=True)
    return tmp_path


@pytest.mark.parametrize("path", DECLARING)
@pytest.mark.parametrize("at_base", [False, True], ids=["now", "at the base"])
def test_a_conflict_removes_and_adds_nothing(repository: Path, path: str, at_base: bool) -> None:
    write(repository, {path: CONFLICT.format(PROJECT[path])})
    if at_base:
        commit(repository, "a conflict, committed")
        write(repository, {path: PROJECT[path]})

    done = run(repository, "--body", "-", text=HEAD + "| `app` | none | none | none | static plan | none | none |\n")

    assert done.return_value == 3, done.stdout
    assert f"note: {path}:1: " in done.stdout
    assert "a person must decide whether this changed" in done.stdout
    assert "EVD" not in done.stdout


@pytest.mark.parametrize("path", DECLARING)
def test_a_draft_invents_no_rows_for_a_conflict_and_says_why(repository: Path, path: str) -> None:
    write(repository, {path: CONFLICT.format(PROJECT[path]), "app/kernels/decode.cu": "// 2\n"})

    done = run(repository, "--draft")

    assert done.return_value == 3
    assert "removed" not in done.stdout
    assert "app/kernels/decode.cu" in done.stdout
    assert f"note: {path}:1: " in done.stderr


def test_a_file_that_is_no_text_any_more_is_named(repository: Path) -> None:
    (repository / "app/config.py").write_bytes(b"# \xff\n")

    assert "note: app/config.py:1: " in run(repository, "--draft").stderr


def test_what_was_broken_before_and_is_left_alone_hides_no_change(repository: Path) -> None:
    write(repository, {"app/old.py": "def (\n"})
    commit(repository, "broken")
    write(repository, {"app/config.py": PROJECT["app/config.py"].replace("16", "32")})

    assert verdict(repository, HEAD + "| `x` | none | none | none | static plan | none | none |\n") == ["EVD003"]


def test_of_a_table_that_was_read_in_full_before_no_route_is_called_removed(repository: Path) -> None:
    write(repository, {"app/routes.py": f"{ROUTES}ROUTES += tuple(more())\n", "app/kernels/decode.cu": "// 2\n"})

    done = run(repository, "--draft")

    assert done.return_value == 3
    assert "flash" not in done.stdout
    assert "note: app/routes.py:" in done.stderr
