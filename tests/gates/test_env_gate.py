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
    assert "no registry of the settings" in done.stderr


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
