from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzers.cache import FactCache
from analyzers.source import Problem
from analyzers.trees.committed import CommittedTree
from analyzers.trees.tree import Tree, TreeError, blob_digest
from analyzers.trees.working import WorkingTree

Git = Callable[..., str]


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def problem_of(tree: Tree, path: str) -> Problem:
    ((_, data),) = tree.read_many([path])
    assert isinstance(data, Problem)
    return data


def test_git_and_walking_find_the_same_files(tmp_path: Path, git: Git) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n!keep.log\n",
            "a.py": "",
            "x.log": "",
            "keep.log": "",
            "build/b.py": "",
            "pkg/build/c.py": "",
            "pkg/.gitignore": "secret*\n!secret.md\n",
            "pkg/secret.py": "",
            "pkg/secret.md": "",
            "with space/ü.md": "",
        },
    )
    with_git = WorkingTree(tmp_path).paths
    os.rename(tmp_path / ".git", tmp_path / "elsewhere.log")

    assert WorkingTree(tmp_path).paths == with_git
    assert with_git == [
        ".gitignore", "a.py", "keep.log", "pkg/.gitignore", "pkg/build/c.py", "pkg/secret.md", "with space/ü.md",
    ]  # fmt: skip


def test_walking_stays_out_of_virtual_environments(tmp_path: Path) -> None:
    write(tmp_path, {"venv/pyvenv.cfg": "", "venv/lib/a.py": "", "node_modules/b.js": "", "c.py": ""})

    assert WorkingTree(tmp_path).paths == ["c.py"]


def test_a_missing_git_means_walking_and_says_so(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "", "b.log": "", ".gitignore": "*.log\n"})
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))

    tree = WorkingTree(tmp_path)

    assert tree.paths == [".gitignore", "a.py"]
    assert "git is not installed" in tree.notes[0]


def test_a_folder_that_git_ignores_is_walked(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {".gitignore": "cache/\n", "cache/unpacked/a.py": ""})

    assert WorkingTree(tmp_path / "cache" / "unpacked").paths == ["a.py"]


def test_a_deleted_file_is_not_part_of_the_working_tree(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {"a.py": "", "b.py": ""})
    git("add", ".")
    (tmp_path / "a.py").unlink()

    assert WorkingTree(tmp_path).paths == ["b.py"]


def test_a_revision_is_read_without_touching_the_working_tree(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {"a.py": "one\n", "pkg/b.py": "two\n"})
    git("add", ".")
    git("commit", "-qm", "first")
    write(tmp_path, {"a.py": "changed\n", "new.py": ""})
    before = git("status", "--porcelain")

    tree = CommittedTree.at_revision(tmp_path, "HEAD")

    assert tree.paths == ["a.py", "pkg/b.py"]
    assert tree.read("a.py") == b"one\n"
    assert git("status", "--porcelain") == before


def test_the_root_may_be_a_folder_of_the_repository(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {"a.py": "one\n", "pkg/b.py": "two\n"})
    git("add", ".")
    git("commit", "-qm", "first")

    for tree in (
        WorkingTree(tmp_path / "pkg"),
        CommittedTree.at_revision(tmp_path / "pkg", "HEAD"),
        CommittedTree.staged(tmp_path / "pkg"),
    ):
        assert tree.paths == ["b.py"]
        assert tree.read("b.py") == b"two\n"


def test_the_index_is_what_the_next_commit_would_hold(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {"a.py": "staged\n"})
    git("add", ".")
    write(tmp_path, {"a.py": "not staged\n", "untracked.py": ""})

    tree = CommittedTree.staged(tmp_path)

    assert tree.paths == ["a.py"]
    assert tree.read("a.py") == b"staged\n"


def test_a_file_and_its_committed_twin_have_one_digest(tmp_path: Path, git: Git) -> None:
    write(tmp_path, {"a.py": "x = 1\n", "empty.py": ""})
    git("add", ".")
    git("commit", "-qm", "first")

    committed = CommittedTree.at_revision(tmp_path, "HEAD").digests(["a.py", "empty.py"])

    assert WorkingTree(tmp_path).digests(["a.py", "empty.py"]) == committed


@pytest.mark.parametrize("revision", ["nonsense", "--output=x", "HEAD:a.py", ""])
def test_a_revision_that_does_not_exist_is_one_clear_error(tmp_path: Path, git: Git, revision: str) -> None:
    with pytest.raises(TreeError, match="is no revision"):
        CommittedTree.at_revision(tmp_path, revision)


def test_a_revision_without_a_repository_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=f"{tmp_path} is in no git repository, so it has no revisions and no index: "):
        CommittedTree.at_revision(tmp_path, "HEAD")


@pytest.fixture
def links(tmp_path: Path, git: Git) -> Path:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text("secret = 1\n")
    write(tmp_path, {"real.py": "x = 1\n", "folder/inner.py": ""})
    for name, target in {
        "inside.py": "real.py",
        "twice.py": "inside.py",
        "folder/up.py": "../real.py",
        "dangling.py": "gone.py",
        "outside.py": str(outside),
        "loop.py": "loop.py",
        "to_folder": "folder",
    }.items():
        (tmp_path / name).symlink_to(target)
    git("add", ".")
    git("commit", "-qm", "links")
    return tmp_path


@pytest.mark.parametrize("kind", ["working", "committed"])
def test_symbolic_links(links: Path, kind: str) -> None:
    tree = WorkingTree(links) if kind == "working" else CommittedTree.at_revision(links, "HEAD")

    for path in ("inside.py", "twice.py", "folder/up.py"):
        assert tree.read(path) == b"x = 1\n"
    for path in ("dangling.py", "outside.py", "loop.py"):
        assert problem_of(tree, path).rule == "SRC004"
        assert path not in tree.digests([path])


def test_something_that_is_no_file_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")

    assert problem_of(WorkingTree(tmp_path), "pipe.py").rule == "SRC001"


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": ""})
    tree = WorkingTree(tmp_path)
    (tmp_path / "a.py").unlink()

    assert problem_of(tree, "a.py").rule == "SRC001"


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    write(tmp_path, {"tree/a.py": "x = 1\n"})
    file = tmp_path / "tree" / "a.py"
    cache = FactCache(tmp_path / "facts.sqlite")
    os.utime(file, (1, 1))
    WorkingTree(tmp_path / "tree", cache).digests(["a.py"])

    file.write_text("x = 2\n")
    os.utime(file, (1, 1))

    assert WorkingTree(tmp_path / "tree", cache).digests(["a.py"]) == {"a.py": blob_digest(b"x = 2\n")}


def test_a_settled_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"tree/a.py": "x = 1\n"})
    cache = FactCache(tmp_path / "facts.sqlite")
    monkeypatch.setattr("analyzers.trees.working._SETTLED_NS", 0)
    expected = WorkingTree(tmp_path / "tree", cache).digests(["a.py"])

    tree = WorkingTree(tmp_path / "tree", cache)
    (tmp_path / "tree" / "a.py").unlink()

    assert tree.digests(["a.py"]) == expected


@pytest.fixture
def monorepo(tmp_path: Path, git: Git) -> Path:
    """A root inside a repository, with a neighbour beside it and a submodule in it."""
    write(tmp_path, {"LICENSE": "", "other/x.md": "", "part/a.py": "", "part/lib/.git": "gitdir: nowhere\n"})
    write(tmp_path, {"part/lib/b.py": ""})
    git("add", "LICENSE", "other", "part/a.py")
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},part/lib")
    git("commit", "-qm", "first")
    return tmp_path / "part"


@pytest.mark.parametrize("kind", ["working", "revision", "index"])
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("../LICENSE", True),
        ("../other/x.md", True),
        ("../other", True),
        ("../gone.md", False),
        ("../part/a.py", True),
        ("../part", True),
        ("..", True),
        ("lib", True),
        ("lib/b.py", True),
        ("libx", False),
        ("gone.py", False),
        ("../../beyond", None),
    ],
)
def test_what_the_repository_has_elsewhere(monorepo: Path, kind: str, path: str, answer: bool | None) -> None:
    trees = {
        "working": lambda: WorkingTree(monorepo, also=["a.py", "."]),
        "revision": lambda: CommittedTree.at_revision(monorepo, "HEAD"),
        "index": lambda: CommittedTree.staged(monorepo),
    }
    tree = trees[kind]()

    assert tree.paths == ["a.py"]
    assert tree.has_elsewhere(path) is answer


def test_without_a_repository_nothing_is_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": ""})

    assert WorkingTree(tmp_path).has_elsewhere("../x") is None


def test_a_name_that_is_no_text_is_read_on_every_run(tmp_path: Path) -> None:
    cache = FactCache(tmp_path / "facts.sqlite")
    (tmp_path / "tree").mkdir()
    name = os.fsdecode(b"bad\xff.py")
    (tmp_path / "tree" / name).write_text("x = 1\n")
    os.utime(tmp_path / "tree" / name, (1, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzers.trees.working._SETTLED_NS", 0)
        for _ in range(2):
            assert WorkingTree(tmp_path / "tree", cache).digests([name]) == {name: blob_digest(b"x = 1\n")}
