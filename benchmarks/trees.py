"""The trees that are measured: a large package that nobody here wrote, and a generated set of documents."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).parent / ".cache"

_PACKAGE = "sglang==0.5.23"
_PLATFORM = ("--platform=manylinux_2_34_x86_64", "--python-version=3.11", "--implementation=cp")
"""Fixed, so that every machine measures the same files; nothing of the wheel is ever run."""

_GIT_SETTINGS = {
    "user.name": "benchmark",
    "user.email": "benchmark@localhost",
    "commit.gpgsign": "false",
    # No housekeeping in the background while something is measured.
    "gc.auto": "0",
    "maintenance.auto": "false",
}

DOCUMENTS = 1_000
LINKS = 20_000
BROKEN = 100
_SECTIONS = 12
_SEED = 70


def fetch() -> Path:
    """The unpacked wheel, downloaded on the first call."""
    tree = CACHE / "tree"
    if tree.is_dir():
        return tree
    wheels = CACHE / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:", *_PLATFORM,
         f"--dest={wheels}", _PACKAGE],
        check=True,
    )  # fmt: skip
    unpacking = CACHE / "tree.partial"
    shutil.rmtree(unpacking, ignore_errors=True)
    with zipfile.ZipFile(next(wheels.glob("sglang-*.whl"))) as wheel:
        wheel.extractall(unpacking)
    unpacking.rename(tree)
    return tree


def python_files(tree: Path) -> list[Path]:
    return sorted(tree.rglob("*.py"))


def commit(tree: Path) -> None:
    """Make `tree` a git repository with everything committed, as a user's tree is."""
    git = ["git", "-C", str(tree)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for setting, value in _GIT_SETTINGS.items():
        subprocess.run([*git, "config", setting, value], check=True)
    subprocess.run([*git, "add", "--all", "--force"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "as released"], check=True)


def make_every_folder_a_package(tree: Path) -> None:
    """Add the `__init__.py` files that import-linter needs in order to see all modules."""
    for folder, _, names in os.walk(tree / "sglang"):
        if "__init__.py" not in names:
            (Path(folder) / "__init__.py").touch()


@contextmanager
def edited(files: list[Path], stamp: int) -> Iterator[None]:
    """Give each file one more function with an import, different for each `stamp`; restore all on leaving."""
    addition = f"\n\ndef edited_{stamp}():\n    import json\n\n    return json\n".encode()
    originals = [(file, file.read_bytes()) for file in files]
    try:
        for file, content in originals:
            file.write_bytes(content + addition)
        yield
    finally:
        for file, content in originals:
            file.write_bytes(content)


def spread_out(files: list[Path], count: int) -> list[Path]:
    """`count` files at even distances, leaving out the shorter half, where little is to be read."""
    longest = sorted(sorted(files, key=lambda file: file.stat().st_size)[len(files) // 2 :])
    return longest[:: len(longest) // count][:count]


def write_documents(folder: Path) -> None:
    """Write DOCUMENTS documents with LINKS local links between them, BROKEN of which lead nowhere."""
    choose = random.Random(_SEED)
    names = [f"part-{index % 25:02}/guide-{index:04}.md" for index in range(DOCUMENTS)]
    broken = set(choose.sample(range(LINKS), BROKEN))
    each = LINKS // DOCUMENTS
    for index, name in enumerate(names):
        links = [_link(choose, names, place in broken) for place in range(index * each, (index + 1) * each)]
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(choose, index, links), encoding="utf-8")
    settings = folder / "gates.toml"
    settings.write_text('[docs]\nmaintained = ["docs/**/*.md"]\n', encoding="utf-8")


def _link(choose: random.Random, names: list[str], broken: bool) -> str:
    """A Markdown link to a section of another document; a broken one misses the file or the section."""
    target, section = choose.choice(names), choose.randrange(_SECTIONS)
    if not broken:
        return f"[section {section} of {target}](../{target}#section-{section})"
    if choose.random() < 0.5:
        return f"[a lost document](../{target.replace('guide', 'gone')}#section-{section})"
    return f"[a lost section](../{target}#section-{section + _SECTIONS})"


def _document(choose: random.Random, index: int, links: list[str]) -> str:
    """One document of _SECTIONS sections, each with prose, a table or code, and its share of the links."""
    words = ("attention", "cache", "page", "kernel", "route", "table", "batch", "token", "layer", "state")
    parts = [f"# Guide {index}\n"]
    for section in range(_SECTIONS):
        prose = " ".join(choose.choices(words, k=60))
        here = " ".join(links[section::_SECTIONS])
        extra = ("```python\nx = [not](a/link)\n```\n", "| a | b |\n| - | - |\n| 1 | 2 |\n")[section % 2]
        parts.append(f"## Section {section}\n\n{prose}.\n\n{here}\n\n{extra}")
    return "\n".join(parts)
