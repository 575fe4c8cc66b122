"""The environment gate as a user meets it: its page, its stubs, settings that do not fit, a tree of vLLM's shape."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest
from sample_project import commit, write

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "vllm.toml"
SETTINGS = '[env]\nprefixes = ["X_"]\n\n[[env.registries]]\nfiles = ["envs.py"]\nsymbol = "R"\naccessor = "envs"\n'
FILES = {
    "gates.toml": SETTINGS,
    "envs.py": "import os\n\nR = {\n    'X_PORT': lambda: os.getenv('X_PORT', '80'),  # the port\n}\n",
    "user.py": "import envs\n\nenvs.X_PORT\n",
}


def gates(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "gates", *arguments, "--root", str(root))
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def found(root: Path, *arguments: str) -> list[tuple[str, str, int]]:
    done = gates(root, "env", "--no-cache", "--format", "json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return [(f["rule"], f["path"], f["line"]) for f in json.loads(done.stdout)["findings"]]


def test_the_page_is_written_and_then_watched(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    page = tmp_path / "docs/reference/environment.md"
    assert found(tmp_path) == [("ENV015", "docs/reference/environment.md", 0)]
    assert gates(tmp_path, "env", "--write").returncode == 0
    first = page.read_bytes()
    assert b"`X_PORT`" in first
    assert gates(tmp_path, "env", "--write").returncode == 0
    assert page.read_bytes() == first
    write(tmp_path, {"envs.py": FILES["envs.py"].replace("80", "81")})
    assert found(tmp_path) == [("ENV015", "docs/reference/environment.md", 11)]


def test_the_page_shows_what_is_registered_and_no_markup(tmp_path: Path) -> None:
    registry = "R = (V('X_A', default='a|b', description='<b>*x*</b> | y\\n[z](q)'), V('X_B', deprecation='old'))\n"
    write(tmp_path, {**FILES, "envs.py": registry, "user.py": "'X_A', 'X_B'\n"})
    gates(tmp_path, "env", "--write")
    rows = (tmp_path / "docs/reference/environment.md").read_text().splitlines()[-2:]
    assert rows == [
        '| `X_A` | `"a\\|b"` | \\<b>\\*x\\*\\</b> \\| y \\[z\\](q) |  |',
        "| `X_B` |  |  | old |",
    ]


def test_stubs_are_added_for_what_is_missing(tmp_path: Path) -> None:
    read = "import os\nimport envs\n\nenvs.X_PORT, envs.X_HOST\nos.environ['X_MODE']\nos.environ['HOME']\n"
    write(tmp_path, {**FILES, "gates.toml": SETTINGS.replace('["X_"]', '["X_"]\nreference = ""'), "user.py": read})
    assert found(tmp_path) == [("ENV001", "user.py", 4), ("ENV001", "user.py", 5)]
    done = gates(tmp_path, "env", "--fix")
    assert (done.returncode, done.stderr) == (0, "envs.py: added a stub for X_HOST, X_MODE\n")
    assert (tmp_path / "envs.py").read_text() == FILES["envs.py"].replace(
        "# the port\n",
        '# the port\n    "X_HOST": lambda: os.getenv("X_HOST"),\n    "X_MODE": lambda: os.getenv("X_MODE"),\n',
    )
    assert gates(tmp_path, "env", "--fix").stderr == ""


def test_a_registry_that_takes_no_stub_is_told(tmp_path: Path) -> None:
    settings = '[env]\nprefixes = ["X_"]\n\n[[env.registries]]\nfiles = ["envs.py"]\ndecorator = "register"\n'
    registry = "import os\n@register('X_PORT')\ndef port():\n    return os.getenv('X_PORT')\n"
    write(
        tmp_path,
        {"gates.toml": settings, "envs.py": registry, "a.py": "import os\nos.getenv('X_PORT')\nos.getenv('X_Q')\n"},
    )
    done = gates(tmp_path, "env", "--fix")
    assert (done.returncode, done.stdout) == (2, "")
    told = "error: no registry of the settings takes a stub for X_Q, add it by hand: envs.py: what `register` marks"
    assert done.stderr.startswith(told)


NO_PAGE = SETTINGS.replace('["X_"]', '["X_"]\nreference = ""')
BY_DECORATOR = '[env]\nprefixes = ["X_"]\nreference = ""\n\n[[env.registries]]\nfiles = ["."]\ndecorator = "register"\n'


@pytest.mark.parametrize(
    ("settings", "registry"),
    [
        (NO_PAGE, "R = {}\n"),
        (NO_PAGE, "R: dict = dict()\n"),
        (NO_PAGE, "class R:\n    pass\n"),
        (BY_DECORATOR, "from elsewhere import register\n"),
    ],
)
def test_an_empty_registry_holds_nothing(tmp_path: Path, settings: str, registry: str) -> None:
    write(tmp_path, {"gates.toml": settings, "envs.py": registry, "user.py": "import os\nos.getenv('X_HOST')\n"})
    assert found(tmp_path) == [("ENV001", "user.py", 2)]


CONFLICT = b"import os\n\nR = {\n<<<<<<< HEAD\n    'X_PORT': lambda: os.getenv('X_PORT'),\n}\n"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (CONFLICT, ("SRC002", "envs.py", 4)),
        (FILES["envs.py"].encode() + b"def (\n", ("SRC002", "envs.py", 6)),
        ("# \u00fc\n".encode("latin-1") + FILES["envs.py"].encode(), ("SRC003", "envs.py", 1)),
    ],
)
def test_a_registry_that_cannot_be_read_is_the_only_fault(
    tmp_path: Path, data: bytes, problem: tuple[str, str, int]
) -> None:
    """What a registry does not hold cannot be told before its file can be read."""
    settings = SETTINGS.replace("\n\n", '\ndocuments = ["a.md"]\n\n', 1) + '\n[docs]\nmaintained = ["a.md"]\n'
    user = "import os\nimport envs\nenvs.X_PORT, envs.X_HOST\nos.getenv('X_PROT')\n"
    write(tmp_path, {"gates.toml": settings, "user.py": user, "a.md": "`X_PORT`, `X_MODE`, [gone](b.md)\n"})
    (tmp_path / "envs.py").write_bytes(data)
    # That nobody documents or reads what can be seen of the registry may still be told.
    assert found(tmp_path) == [problem]
    done = gates(tmp_path, "check", "--no-cache", "--format", "json")
    assert [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == ["DOC001", problem[0]]
    for option in ("--fix", "--write"):
        done = gates(tmp_path, "env", option)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: envs.py: cannot be read as a whole")
    assert (tmp_path / "envs.py").read_bytes() == data


def test_nothing_is_called_unread_while_a_file_may_read_it(tmp_path: Path) -> None:
    settings = NO_PAGE.replace("\n\n", '\ndocuments = ["a.md"]\n\n', 1)
    write(tmp_path, {**FILES, "gates.toml": settings, "a.md": "`X_PORT`\n"})
    assert found(tmp_path) == []
    for path in ("user.py", "a.md"):
        text = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(text + b"# \xff\n")
        assert found(tmp_path) == [("SRC003", path, text.count(b"\n") + 1)]
        (tmp_path / path).write_bytes(text)


def test_a_broken_file_beside_the_registry_hides_nothing(tmp_path: Path) -> None:
    settings = NO_PAGE.replace('"envs.py"', '"."')
    write(tmp_path, {**FILES, "gates.toml": settings, "user.py": "import envs\nenvs.X_PORT, envs.X_Q\ndef (\n"})
    assert found(tmp_path) == [("ENV001", "user.py", 2), ("SRC002", "user.py", 3)]


def test_a_decorator_that_no_file_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"gates.toml": BY_DECORATOR, "envs.py": "registered = 1\n"})
    done = gates(tmp_path, "env")
    assert (done.returncode, done.stdout) == (2, "")
    told = "env.registries[0].decorator: 'register': no file of the registry has it; did you mean `registered`?"
    assert told in done.stderr


def test_a_stub_keeps_the_encoding_of_the_file(tmp_path: Path) -> None:
    registry = (
        "# -*- coding: latin-1 -*-\nimport os\n\nR = {'X_PORT': lambda: os.getenv('X_PORT', 'Gr\u00fc\u00dfe')}\n"
    )
    write(tmp_path, {**FILES, "gates.toml": NO_PAGE, "user.py": "import envs\nenvs.X_PORT, envs.X_HOST\n"})
    (tmp_path / "envs.py").write_bytes(registry.encode("latin-1"))
    assert gates(tmp_path, "env", "--fix").stderr == "envs.py: added a stub for X_HOST\n"
    expected = registry.replace(")}", '), "X_HOST": lambda: os.getenv("X_HOST")}')
    assert (tmp_path / "envs.py").read_bytes() == expected.encode("latin-1")


def test_a_misspelt_name_is_not_registered(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "gates.toml": NO_PAGE, "user.py": "import envs\nenvs.X_PORT, envs.X_PROT\n"})
    done = gates(tmp_path, "env", "--fix")
    assert (done.returncode, done.stderr) == (1, "")
    assert "ENV013" in done.stdout
    assert (tmp_path / "envs.py").read_text() == FILES["envs.py"]


def test_a_wrapper_of_another_file_reads_where_it_is_called(tmp_path: Path) -> None:
    wrapper = "import os\n\n\ndef get_bool(name):\n    return os.getenv(name) == '1'\n"
    settings = SETTINGS.replace('["X_"]', '["X_"]\nreference = ""\nwrappers = ["get_bool"]')
    for toml in (settings, settings.replace('wrappers = ["get_bool"]', "")):
        write(
            tmp_path,
            {**FILES, "gates.toml": toml, "tools.py": wrapper, "user.py": "get_bool('X_PORT')\nget_bool('X_QQ')\n"},
        )
        assert ("ENV001", "user.py", 2) in found(tmp_path)
        assert ("ENV014" in [rule for rule, *_ in found(tmp_path)]) is ("wrappers" not in toml)


@pytest.mark.parametrize("declared", ["", 'wrappers = ["flag"]\n'])
@pytest.mark.parametrize("caller", ["user.py", "tools.py"])
def test_a_call_of_a_wrapper_over_several_lines_is_one_read(tmp_path: Path, declared: str, caller: str) -> None:
    toml = SETTINGS.replace("\n\n", f'\nreference = ""\n{declared}\n', 1)
    wrapper = "import os\nimport envs\nenvs.X_PORT\ndef flag(name):\n    return os.getenv(name)\n"
    call = "flag(\n    'X_QQ',\n)\n"
    texts = {"tools.py": wrapper, "user.py": "from tools import flag\n"}
    write(tmp_path, {**FILES, "gates.toml": toml, **texts, caller: texts[caller] + call})
    assert [place for place in found(tmp_path) if place[0] == "ENV001"] == [("ENV001", caller, ANY)]


HELPERS = (
    "import os, sys\n\nR = {\n    'X_PORT': lambda: os.getenv('X_PORT'),\n"
    "    'X_LOCAL': lambda: os.getenv('X_LOCAL', {}),\n}\n\ndef is_set(name):\n    return name in os.environ\n"
)


def test_a_function_beside_the_registry_is_a_part_of_it(tmp_path: Path) -> None:
    settings = NO_PAGE.replace("\n\n", "\ninitialisation = []\n\n", 1)
    user = "import os\nimport envs\nenvs.is_set('X_PORT'), envs.is_set('X_HOST'), envs.X_LOCAL\nos.getenv('X_PORT')\n"
    write(tmp_path, {"gates.toml": settings, "envs.py": HELPERS.replace("{}", "None"), "user.py": user})
    assert found(tmp_path) == [("ENV001", "user.py", 3), ("ENV010", "user.py", 4)]


@pytest.mark.parametrize(
    ("other", "unread"),
    [("sys.modules[__name__].X_PORT", False), ("os.getenv('X_PORT')", False), ("'80'", True)],
)
def test_another_getter_may_read_a_variable(tmp_path: Path, other: str, unread: bool) -> None:
    write(
        tmp_path,
        {"gates.toml": NO_PAGE, "envs.py": HELPERS.replace("{}", other), "user.py": "import envs\nenvs.X_LOCAL\n"},
    )
    assert found(tmp_path) == ([("ENV002", "envs.py", 4)] if unread else [])


def test_the_known_part_of_a_computed_name_is_told(tmp_path: Path) -> None:
    registry = "R = {}\nfor n in names():\n    R[f'X_{n}'] = n\n"
    write(tmp_path, {"gates.toml": NO_PAGE, "envs.py": registry})
    assert "envs.py:3:7 ENV014 registers a variable of which only `X_*` is known" in gates(tmp_path, "env").stdout


def test_a_registered_variable_of_another_program_may_be_read_by_that(tmp_path: Path) -> None:
    registry = "import os\n\nR = {\n    'X_PORT': V(),\n    'OTHER_HOME': V(),\n}\n"
    write(tmp_path, {**FILES, "gates.toml": SETTINGS.replace("\n\n", '\nreference = ""\n\n', 1), "envs.py": registry})
    assert found(tmp_path) == []
    write(tmp_path, {"user.py": ""})
    assert found(tmp_path) == [("ENV002", "envs.py", 4)]


def test_documents_need_not_name_the_variables_of_another_program(tmp_path: Path) -> None:
    settings = SETTINGS.replace("\n\n", '\nreference = ""\ndocuments = ["a.md"]\n\n', 1)
    registry = "import os\n\nR = {\n    'X_PORT': V(),\n    'OTHER_HOME': V(),\n}\n"
    write(tmp_path, {**FILES, "gates.toml": settings, "envs.py": registry, "a.md": ""})
    assert found(tmp_path) == [("ENV011", "envs.py", 4)]


def test_native_sources_count(tmp_path: Path) -> None:
    settings = SETTINGS.replace('["X_"]', '["X_"]\nreference = ""')
    native = '// getenv("X_A")\nauto a = getenv("X_PORT");\nauto b = getenv("X_OTHER");\n'
    write(tmp_path, {**FILES, "gates.toml": settings, "user.py": "", "a.cu": native})
    assert found(tmp_path) == [("ENV001", "a.cu", 3)]


def test_a_revision_is_read_without_a_checkout(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "gates.toml": SETTINGS.replace('["X_"]', '["X_"]\nreference = ""')})
    (tmp_path / "envs.py").rename(tmp_path / "old.py")
    commit(tmp_path, "before the registry", init=True)
    (tmp_path / "old.py").rename(tmp_path / "envs.py")
    assert found(tmp_path) == []
    assert [rule for rule, *_ in found(tmp_path, "--ref", "HEAD")] == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ('symbol = "R"', 'symbol = "RR"'),
            "env.registries[0].symbol: 'RR': no file of the registry binds it to a mapping",
        ),
        (('"envs.py"', '"env.py"'), "env.registries[0].files: env.py: no Python file matches; did you mean `envs.py`?"),
        (('symbol = "R"', ""), "env.registries[0]: a registry is found by its `symbol` or by its `decorator`"),
        (('["X_"]', "[]"), "env.prefixes: needs at least 1 item, but has 0"),
        (('["X_"]', '[""]'), "env.prefixes[0]: must not be empty"),
        (('["X_"]', '["X_"]\ndocument = []'), "env.document: unknown key; did you mean `documents`?"),
        (('["X_"]', '["X_"]\nfiles = ["src"]'), "env.files: src: no file matches"),
        (('["X_"]', '["X_"]\nreference = "../a.md"'), "env.reference: the path must not lead out of the root"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    write(tmp_path, {**FILES, "gates.toml": SETTINGS.replace(*change)})
    done = gates(tmp_path, "env")
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_without_a_table_there_is_nothing_to_check(tmp_path: Path) -> None:
    write(tmp_path, {"gates.toml": '[docs]\nmaintained = ["a.md"]\n'})
    done = gates(tmp_path, "env")
    assert done.returncode == 2
    assert "nothing to check" in done.stderr


def test_facts_list_the_uses_of_a_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "gates.toml": SETTINGS,
            "a.py": "import os\nos.getenv('A')\nos.environ['B'] = '1'\n",
            "b.cpp": 'auto c = getenv("C");\n',
        },
    )
    done = gates(tmp_path, "facts", "--json", str(tmp_path / "a.py"), str(tmp_path / "b.cpp"))
    assert [record["env"] for record in json.loads(done.stdout)] == [
        [{"name": "A", "access": "read", "line": 2}, {"name": "B", "access": "write", "line": 3}],
        [{"name": "C", "access": "read", "line": 1}],
    ]


VLLM = {
    "vllm/__init__.py": "",
    "vllm/envs.py": """import os
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    VLLM_HOST_IP: str = ""
    VLLM_PP_LAYERS: int = 4

environment_variables: dict[str, Callable[[], Any]] = {
    # The address of this node.
    "VLLM_HOST_IP": lambda: os.getenv("VLLM_HOST_IP", ""),
    "VLLM_PP_LAYERS": lambda: int(os.getenv("VLLM_PP_LAYERS", "8")),
    "VLLM_TARGET_DEVICE": lambda: os.getenv("VLLM_TARGET_DEVCE", "cuda").lower(),
    "VLLM_UNUSED": lambda: bool(int(os.getenv("VLLM_UNUSED", "0"))),
    "CUDA_HOME": lambda: os.environ.get("CUDA_HOME", None),
}


def __getattr__(name: str) -> Any:
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)


def is_set(name: str) -> bool:
    return name in os.environ
""",
    "vllm/worker.py": """import os

import vllm.envs as envs
from vllm.envs import VLLM_PP_LAYERS


def start():
    print(envs.VLLM_HOST_IP, envs.VLLM_TARGET_DEVICE, envs.CUDA_HOME, envs.VLLM_GONE)
    os.environ.get("VLLM_PP_LAYER", os.getenv("LOCAL_RANK"))
    os.environ["VLLM_PP_LAYERS"]
""",
    "csrc/ops.cu": 'static bool debug = getenv("VLLM_KERNEL_DEBUG") != nullptr;\n',
}


def test_the_recipe_fits_a_tree_of_the_shape_of_vllm(tmp_path: Path) -> None:
    write(tmp_path, {**VLLM, "gates.toml": RECIPE.read_text("utf-8")})
    assert found(tmp_path) == [
        ("ENV001", "csrc/ops.cu", 1),
        ("ENV008", "vllm/envs.py", 11),
        ("ENV004", "vllm/envs.py", 12),
        ("ENV002", "vllm/envs.py", 13),
        ("ENV001", "vllm/worker.py", 8),
        ("ENV013", "vllm/worker.py", 9),
        ("ENV010", "vllm/worker.py", 10),
    ]
