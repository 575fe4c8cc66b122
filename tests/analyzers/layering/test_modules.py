"""Names of modules, source roots, patterns."""

from __future__ import annotations

import pytest

from analyzers.layering.modules import Modules, detect_source_roots, pattern_matcher


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        (["a.py"], ("",)),
        (["pkg/__init__.py", "pkg/sub/__init__.py"], ("",)),
        (["lib/pkg/__init__.py"], ("", "lib")),
        (["lib/pkg/__init__.py", "lib/pkg/folder/sub/__init__.py"], ("", "lib")),
        (["src/tool.py", "csrc/python/ext.py"], ("", "src", "csrc/python")),
        (["pkg/__init__.py", "pkg/src/a.py"], ("",)),
        (["src/__init__.py", "src/a.py"], ("",)),
        ([], ("",)),
    ],
)
def test_source_roots_are_detected(paths: list[str], roots: tuple[str, ...]) -> None:
    assert detect_source_roots(paths) == roots


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pkg/__init__.py", "pkg"),
        ("pkg/a.py", "pkg.a"),
        ("pkg/folder/deep/b.py", "pkg.folder.deep.b"),
        ("pkg/__main__.py", "pkg.__main__"),
        ("scripts/run-all.py", "scripts.run-all"),
        ("lib/other/__init__.py", "other"),
        ("lib/other/c.py", "other.c"),
        ("setup.py", "setup"),
    ],
)
def test_a_module_is_named_from_its_source_root(path: str, name: str) -> None:
    modules = Modules({"pkg/__init__.py", "lib/other/__init__.py", path})
    assert modules.names[modules.number[path]] == name


def test_given_roots_replace_the_detected_ones_and_the_longest_names() -> None:
    modules = Modules(["lib/pkg/__init__.py", "lib/pkg/vendor/dep.py"], ["lib/", "./", "lib/pkg/vendor"])
    assert modules.names == ("pkg", "dep")


def test_a_package_beats_a_file_of_the_same_name() -> None:
    modules = Modules(["a.py", "a/__init__.py", "a-b.py"])
    assert modules.at("a") == modules.number["a/__init__.py"]


def test_only_python_files_are_modules() -> None:
    assert Modules(["a.py", "a.pyi", "README.md", "b.pyc"]).paths == ("a.py",)


def test_packages_above_are_nearest_first_and_skip_folders_without_one() -> None:
    modules = Modules(["a/__init__.py", "a/b/c/__init__.py", "a/b/c/d.py"])
    assert [modules.names[n] for n in modules.packages_above[modules.number["a/b/c/d.py"]]] == ["a.b.c", "a"]


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.b.c.d", True),
        ("a.b", "a.bc", False),
        ("a.b", "a", False),
        ("a.*.c", "a.b.c", True),
        ("a.*.c", "a.b.b.c", False),
        ("a.*", "a", False),
        ("*", "a.b", True),
        ("a.b*", "a.bcd", True),
        ("a+b", "a+b", True),
        ("a+b", "aab", False),
    ],
)
def test_patterns_cover_a_name_and_all_below(pattern: str, name: str, covered: bool) -> None:
    assert pattern_matcher([pattern])(name) is covered


def test_no_pattern_covers_nothing() -> None:
    assert not pattern_matcher([])("a")
