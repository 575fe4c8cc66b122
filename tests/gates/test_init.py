"""Starting settings for trees that nobody here wrote."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.globs import matcher
from analyzers.layering.modules import Modules
from gates.init import Detected, detect, starting_settings
from gates.init.layers import LayerSurvey
from gates.init.sizes import SizeSurvey
from gates.settings.load import load
from gates.settings.model import Settings

PROPOSAL = re.compile(r"^#(?! \S)", re.MULTILINE)


def look(tree: Mapping[str, str]) -> Detected:
    return detect(tree, lambda path: tree[path].encode())


def settings_of(tree: Mapping[str, str], folder: Path) -> Settings:
    (folder / "gates.toml").write_text(starting_settings(look(tree)), encoding="utf-8")
    return load(folder).settings


FORK: dict[str, str] = {
    "README.md": "# Fork\n",
    "CHANGELOG.md": "# Changes\n",
    "docs/guide/index.md": "# Guide\n",
    "site/mkdocs.yml": "site_name: x\ndocs_dir: 'pages'  # here\n",
    "site/pages/a.md": "# A\n",
    "fork/__init__.py": "",
    "fork/envs.py": "import os\n" + "".join(f"V{i} = os.environ.get('FORK_V{i}')\n" for i in range(5)),
    "fork/cli/__init__.py": "from fork.engine import run\nfrom ..kernels import k\n",
    "fork/cli/main.py": "from fork.engine.core import run\n",
    "fork/engine/__init__.py": "",
    "fork/engine/core.py": "from ..kernels.gemm import g\nfrom fork.kernels import h\nif g:\n    import fork.kernels\n",
    "fork/kernels/__init__.py": "",
    "fork/kernels/gemm.py": "def gemm():\n    from fork.engine.core import run\n    return run\n",
    "fork/kernels/gen_pb2.py": "x = 1\n" * 9000,
    "third_party/lib/__init__.py": "",
    "third_party/lib/README.md": "# Lib\n",
    "tests/test_it.py": "import os\nos.environ['HOME']\n",
}


def test_what_others_wrote_is_left_out() -> None:
    detected = look(FORK)
    assert detected.excluded == ("**/third_party", "**/*_pb2.py")
    assert detected.packages == (("fork", 8),)
    assert detected.sizes.file_lines < 100


def test_documents_are_found_with_their_dialect(tmp_path: Path) -> None:
    documents = look(FORK).documents
    assert documents.patterns == ("README.md", "CHANGELOG.md", "docs/**/*.md", "site/pages/**/*.md")
    assert documents.count == 4
    docs = settings_of(FORK, tmp_path).docs
    assert docs is not None
    assert docs.dialect == "github"
    assert {folder: policy.dialect for folder, policy in docs.folders.items()} == {"site/pages": "mkdocs"}


@pytest.mark.parametrize(
    ("files", "mkdocs"),
    [
        ({"mkdocs.yml": "site_name: x\n", "docs/a.md": ""}, ("docs",)),
        ({"mkdocs.yml": "docs_dir: src/pages\n", "src/pages/a.md": ""}, ("src/pages",)),
        ({"mkdocs.yml": "docs_dir: nowhere\n", "docs/a.md": ""}, ()),
        ({"mkdocs.yml": "docs_dir: ../outside\n", "a.md": ""}, ()),
        ({"a/mkdocs.yaml": "#docs_dir: x\n", "a/docs/a.md": ""}, ("a/docs",)),
    ],
)
def test_mkdocs_folders(files: dict[str, str], mkdocs: tuple[str, ...]) -> None:
    assert look(files).documents.mkdocs == mkdocs


def test_a_folder_below_another_needs_no_pattern_of_its_own() -> None:
    files = {"mkdocs.yml": "docs_dir: docs/site\n", "docs/site/a.md": "", "docs/b.md": ""}
    assert look(files).documents.patterns == ("docs/**/*.md",)


def test_readmes_of_folders_are_documents_and_many_at_the_top_become_one_pattern() -> None:
    files = {f"NOTE{i}.md": "" for i in range(20)} | {"tools/README.md": "", "tools/README.rst": ""}
    assert look(files).documents.patterns == ("*.md", "**/README.md")


@pytest.mark.parametrize(
    "read",
    [
        "os.environ['{}']",
        'os.environ.get("{}", 1)',
        "getenv( '{}')",
        "os.environ.setdefault(\n    '{}', '')",
        "environ.pop(f'{}')",
    ],
)
def test_the_trees_own_prefix_is_the_frequent_one(read: str) -> None:
    own = "\n".join(read.format(f"OWN_{i}") for i in range(40))
    strange = "\n".join(read.format(name) for name in ("CUDA_HOME", "HF_HOME", "HOME", "CUDA_PATH"))
    others = "from pkg.environ import envs\nx = 'environment'\n"
    environment = look({"a.py": own, "b.py": strange, "c.py": others}).environment
    assert environment.prefixes == (("OWN_", 40),)
    assert (environment.reads, environment.files) == (44, 2)


def test_a_prefix_that_spells_the_package_is_own_even_when_rare() -> None:
    rare = "".join(f"os.getenv('PKG_{i}')\n" for i in range(3))
    common = "".join(f"os.getenv('{letter}_X')\n" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for _ in "12")
    assert look({"pkg/a.py": rare + common}).environment.prefixes == (("PKG_", 3),)


def test_the_registry_and_the_tests_own_the_environment(tmp_path: Path) -> None:
    layering = settings_of(FORK, tmp_path).layering
    assert layering is not None
    (coupling,) = layering.coupling
    assert coupling.owners == ("fork/envs.py", "**/tests")


def test_the_layers_guess_follows_the_imports() -> None:
    guess = look(FORK).layers
    assert guess is not None
    assert (guess.within, guess.order) == ("fork", ("cli", "engine", "kernels"))
    assert (guess.upward, guess.imports) == (1, 7)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=14))
def test_no_other_order_has_fewer_imports_that_go_up(pairs: list[tuple[str, str]]) -> None:
    paths = [f"p/{part}/{name}" for part in "abcd" for name in ("__init__.py", "m.py")]
    modules = Modules(["p/__init__.py", *paths])
    survey = LayerSurvey(modules, "p")
    for importer, imported in pairs:
        survey.add(modules.paths.index(f"p/{importer}/m.py"), f"from p.{imported} import m\n".encode())
    between = [pair for pair in pairs if pair[0] != pair[1]]
    guess = survey.guess()
    if guess is None:
        assert not between
        return

    def upward(order: tuple[str, ...]) -> int:
        return sum(order.index(importer) > order.index(imported) for importer, imported in between)

    assert guess.upward == upward(guess.order) == min(map(upward, permutations("abcd")))


def test_functions_are_as_long_as_python_says() -> None:
    text = dedent(
        '''\
        def first(
            a,
            b,
        ) -> None:
            if a:

                def inner():
                    return b

                return inner

            return None


        class Box:
            async def method(self): return 1

            @property
            def other(self):
                return """Text."""

        X = 1
        def last():
            return X
        '''
    )
    survey = SizeSurvey()
    survey.add(text.encode())
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    expected = sorted((node.end_lineno or 0) - node.lineno + 1 for node in functions)
    assert sorted(survey.functions) == expected


TREES: dict[str, dict[str, str]] = {
    "fork": FORK,
    "empty": {},
    "only documents": {"docs/a.md": ""},
    "only tests": {"tests/test_a.py": "x = 1\n"},
    "scripts": {".github/run.py": "x = 1\n", "setup.py": "", "my-tool/do it.py": ""},
    "strange names": {
        'a"b/docs/c[1].md': "",
        "d\\e/docs/f.md": "",
        "[x]/docs/i.md": "",
        "docs\n/g.md": "",
        "h\udcff.md": "",
        "\U0001f600.md": "",
    },
    "src layout": {"src/pkg/__init__.py": "", "src/pkg/a.py": "", "tests/__init__.py": ""},
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_text_loads_as_it_is_and_with_every_proposal_switched_on(tree: dict[str, str], tmp_path: Path) -> None:
    text = starting_settings(look(tree))
    folders = {"as-is": text, "all-on": PROPOSAL.sub("", text)}
    for name, content in folders.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "gates.toml").write_text(content, encoding="utf-8")
        load(tmp_path / name)
    assert len(tomllib.loads(folders["all-on"])) >= len(tomllib.loads(text))
    assert load(tmp_path / "all-on").settings != load(tmp_path / "as-is").settings


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_every_document_pattern_covers_something(tree: dict[str, str]) -> None:
    for pattern in look(tree).documents.patterns:
        assert any(map(matcher([pattern]), tree)), pattern


def test_budgets_stand_a_little_above_nineteen_in_twenty(tmp_path: Path) -> None:
    short, usual, long = ("def f():\n" + "    x = 1\n" * lines + "\n\n" for lines in (5, 96, 5000))
    files = [short * 7] * 10 + [usual * 7] * 9 + [long]
    tree = {f"m{number}.py": text for number, text in enumerate(files)}
    layering = settings_of(tree, tmp_path).layering
    assert layering is not None
    assert layering.shape.max_function_lines == 100
    assert layering.shape.max_file_lines == 700
    assert layering.shape.cycles
    assert layering.shape.private_access


def test_a_tree_of_short_files_gets_no_petty_budgets(tmp_path: Path) -> None:
    layering = settings_of({"a.py": "def f():\n    return 1\n"}, tmp_path).layering
    assert layering is not None
    assert (layering.shape.max_function_lines, layering.shape.max_file_lines) == (60, 400)


def test_a_file_that_cannot_be_read_is_no_obstacle() -> None:
    assert detect(["a.py", "mkdocs.yml", "docs/a.md"], lambda path: None).modules == 1
