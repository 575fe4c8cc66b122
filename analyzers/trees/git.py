"""The one place that runs git. It reads only: no command here touches the work tree or the index."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Self

from msgspec import Struct

from analyzers.trees.tree import TreeError


def run_git(root: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """The standard output of one git command in `root`.

    Raises:
        TreeError: git is missing, or it refused.
    """
    with start_git(root, *arguments, reads=stdin is not None) as running:
        return running.output(stdin)


class RunningGit(Struct, frozen=True):
    """A git command at work. Leaving the block ends one whose output nobody waited for."""

    process: subprocess.Popen[bytes]
    root: Path
    name: str

    def output(self, stdin: bytes | None = None) -> bytes:
        """Its standard output, once it is done.

        Raises:
            TreeError: it refused.
        """
        output, complaint = self.process.communicate(stdin)
        if self.process.returncode:
            reason = complaint.decode("utf-8", "replace").strip()
            if "not a git repository" in reason and repository_of(self.root) is None:
                remedy = "judge the files as they are, or commit them to one"
                raise TreeError(f"{self.root} is in no git repository, so it has no revisions and no index: {remedy}")
            raise TreeError(f"git {self.name}: {reason or f'exit status {self.process.returncode}'}")
        return output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()


def start_git(root: Path, *arguments: str, reads: bool = False) -> RunningGit:
    """Let git work in `root` while the caller does something else. It `reads` if it is to be given an input.

    Raises:
        TreeError: git is missing, or cannot be run.
    """
    try:
        process = subprocess.Popen(
            ("git", "-C", str(root), *arguments),
            stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise TreeError("git is not installed, or not on PATH") from None
    except OSError as error:
        raise TreeError(f"git cannot be run in {root}: {error.strerror}") from None
    return RunningGit(process, root, arguments[0])


def repository_of(root: Path) -> Path | None:
    """The top folder of the repository that a folder lies in, by the `.git` in it."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)


class GitListing:
    """The files that git tracks below a folder or would add there. Git is at work while the caller goes on.

    The listing, by far the slowest of the three commands, runs while the others ask whether it may be used.
    """

    def __init__(self, root: Path) -> None:
        self._failure: TreeError | None = None
        self._begun: list[RunningGit] = []
        commands = (
            ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"),
            ("rev-parse", "--is-inside-work-tree"),
            ("check-ignore", "-q", "."),
        )
        if repository_of(root) is None:
            return
        try:
            self._begun = [start_git(root, *command) for command in commands]
        except TreeError as error:
            self._failure = error

    @cached_property
    def files(self) -> list[str] | None:
        """The files, by paths relative to the folder; None where git does not look after it.

        An entry that ends in a slash is a repository of its own.

        Raises:
            TreeError: git is missing, or refuses to look at a repository that is there.
        """
        if self._failure is not None:
            raise self._failure
        if not self._begun:
            return None
        listing, inside, ignoring = self._begun
        with listing, inside, ignoring:
            if inside.output().strip() != b"true":
                return None
            try:
                ignoring.output()
            except TreeError:
                return split_paths(listing.output())
        return None


def split_paths(listing: bytes) -> list[str]:
    """The entries of a NUL-separated listing."""
    return [os.fsdecode(entry) for entry in listing.split(b"\0") if entry]


def read_blobs(root: Path, oids: Iterable[str]) -> Iterator[bytes]:
    """The content of each object, in order, through one `git cat-file --batch`."""
    wanted = list(oids)
    if not wanted:
        return
    output = memoryview(run_git(root, "cat-file", "--batch", stdin="\n".join(wanted).encode() + b"\n"))
    offset = 0
    for oid in wanted:
        end = bytes(output[offset : offset + 200]).index(b"\n") + offset
        header = bytes(output[offset:end]).split()
        if len(header) != 3:
            raise TreeError(f"git cat-file: object {oid} is missing from the repository")
        size = int(header[2])
        yield bytes(output[end + 1 : end + 1 + size])
        offset = end + 1 + size + 1


def commit_of(root: Path, revision: str) -> str:
    """The id of the commit that a revision names.

    Raises:
        TreeError: there is no git, no repository, or no such revision.
    """
    run_git(root, "rev-parse", "--git-dir")
    try:
        return run_git(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    except TreeError:
        raise TreeError(f"{revision!r} is no revision of the repository at {root}; in CI, fetch it first") from None


def merge_base(root: Path, revision: str, head: str = "HEAD") -> str:
    """The commit where the history of `head` left that of `revision`.

    Raises:
        TreeError: there is no such revision, or the two have nothing in common.
    """
    commit = commit_of(root, revision)
    try:
        return run_git(root, "merge-base", commit_of(root, head), commit).decode().strip()
    except TreeError:
        raise TreeError(f"{head} and {revision} have no common ancestor; in CI, fetch the whole history") from None


def renamed_files(root: Path, commit: str, *, ref: str | None = None, staged: bool = False) -> dict[str, str]:
    """The files below `root` that git sees as renamed since a commit, old path -> new.

    It looks at the work tree, of which it knows only the files that it tracks, at the index if `staged`, or at `ref`.
    """
    options = ["--relative", "--find-renames", "--diff-filter=R", "--name-status", "--no-ext-diff", "-z"]
    revisions = [commit] if ref is None else [commit, commit_of(root, ref)]
    fields = split_paths(run_git(root, "diff", *options, *(["--cached"] if staged else []), *revisions))
    return dict(zip(fields[1::3], fields[2::3], strict=True))


def changed_files(root: Path, commit: str) -> list[str]:
    """The files below `root` that are not in the work tree as they are in a commit; untracked ones are among them."""
    differing = run_git(root, "diff", "--relative", "--no-renames", "--name-only", "--no-ext-diff", "-z", commit)
    untracked = run_git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted({*split_paths(differing), *split_paths(untracked)})


def file_at(root: Path, revision: str, path: str) -> bytes | None:
    """The content of a file (relative to `root`) at a revision; None where it does not exist there."""
    commit = commit_of(root, revision)
    if not run_git(root, "ls-tree", "-z", commit, "--", path):
        return None
    return run_git(root, "show", f"{commit}:./{path}")


def user_name(root: Path) -> str:
    """Who would commit in the repository at `root`; empty where git does not know."""
    try:
        return run_git(root, "config", "user.name").decode("utf-8", "replace").strip()
    except TreeError:
        return ""
