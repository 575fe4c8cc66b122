"""What `gates init` sees of registries, configuration and routes; only what it has tried out is switched on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from sample_project import Gates, write

from gates.init import Detected, detect, starting_settings
from gates.settings.load import load

PROPOSAL = re.compile(r"^#(?! \S)", re.MULTILINE)
NAMES = [f"FORK_{letter}" for letter in "ABCDEF"]

MAPPING = (
    "import os\n\nvariables: dict[str, object] = {\n"
    + "".join(f'    "{name}": lambda: os.getenv("{name}"),\n    # a comment\n' for name in NAMES)
    + "}\n\n\ndef __getattr__(name: str) -> object:\n    return variables[name]()\n"
)
CLASS = (
    "import os\n\n\nclass Envs:\n"
    + "".join(f"    {name} = EnvStr('')\n\n" for name in NAMES)
    + "\nenvs = Envs()\nprint(os.environ)\n"
)
CONFIG = {
    "fork/config/__init__.py": "from fork.config.root import ForkConfig\n",
    "fork/config/root.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass ForkConfig:\n    model: ModelConfig\n"
        "    cache: 'CacheConfig | None' = None\n    size: int = 1\n"
    ),
    "fork/config/model.py": "class ModelConfig:\n    rope: list[RopeConfig]\n\n\nclass RopeConfig:\n    base: float\n",
    "fork/config/cache.py": "class CacheConfig:\n    blocks: int\n",
}


def look(tree: Mapping[str, str]) -> Detected:
    return detect(tree, lambda path: tree[path].encode())


def registries(text: str, path: str = "fork/envs.py") -> list[tuple[str, str, str, int]]:
    reads = "import os\n" + "os.environ['FORK_X']\n" * 60
    found = look({"fork/__init__.py": "", "fork/a.py": reads, path: text}).registries
    return [(registry.symbol, registry.accessor, registry.prefix, registry.variables) for registry in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(MAPPING, ("variables", "envs", "FORK_", 6)), (CLASS, ("Envs", "envs", "FORK_", 6))],
    ids=["mapping", "class"],
)
def test_a_registry_is_found_with_the_name_that_code_reads_it_by(
    text: str, expected: tuple[str, str, str, int]
) -> None:
    assert registries(text) == [expected]
    assert registries("\ufeff" + text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        MAPPING.partition("def __getattr__")[0],
        CLASS.replace("envs = Envs()", ""),
        MAPPING.replace("FORK_", "CUDA_"),
        MAPPING.replace('"FORK_A"', '"HOME"').replace('"FORK_B"', '"PATH"'),
        MAPPING.replace("import os", "").replace("os.getenv", "read"),
    ],
    ids=["no accessor", "no instance", "not its own prefix", "mixed names", "reads no environment"],
)
def test_what_is_not_surely_a_registry_is_left_alone(text: str) -> None:
    assert registries(text) == []


def test_registries_of_tests_do_not_count() -> None:
    assert registries(MAPPING, "tests/envs.py") == []


def test_the_environment_gate_is_on_where_there_is_a_registry(gates: Gates, tmp_path: Path) -> None:
    root = tmp_path / "fork-tree"
    user = 'import os\nfrom fork import envs\n\nenvs.FORK_A\nos.environ["FORK_UNKNOWN"]\n'
    write(root, {"fork/__init__.py": "", "fork/envs.py": MAPPING, "fork/user.py": user})
    done = gates("init", "--root", str(root))
    assert done.returncode == 0, done.stderr
    assert "ENV001 unregistered-read" in done.stdout
    assert gates("check", "--root", str(root)).returncode == 0
    write(root, {"fork/late.py": 'import os\n\nos.environ["FORK_LATER"]\n'})
    assert gates("env", "--root", str(root)).returncode == 1


def test_who_asks_a_registry_does_not_read_the_environment(gates: Gates, tmp_path: Path) -> None:
    root = tmp_path / "fork-tree"
    tree = {"fork/__init__.py": "", "fork/environ.py": CLASS, "fork/user.py": ""}
    write(root, tree)
    assert gates("init", "--root", str(root)).returncode == 0
    write(root, {"fork/user.py": "from fork.environ import envs\n\nenvs.FORK_A\n"})
    assert gates("check", "--root", str(root)).returncode == 0
    write(root, {"fork/user.py": "from os import environ\n\nenviron['HOME']\n"})
    assert "LAY101" in gates("check", "--root", str(root)).stdout


def test_without_a_registry_the_environment_is_a_proposal(tmp_path: Path) -> None:
    reads = "import os\n" + "".join(f"os.environ['{name}']\n" for name in NAMES)
    text = starting_settings(look({"fork/__init__.py": "", "fork/a.py": reads}))
    assert "env" not in tomllib.loads(text)
    assert tomllib.loads(PROPOSAL.sub("", text))["env"]["prefixes"] == ["FORK_"]


def test_the_owner_is_the_class_that_leads_to_the_most_others() -> None:
    owner = look({"fork/__init__.py": "", **CONFIG}).owner
    assert owner is not None
    assert (owner.name, owner.package, owner.reached) == ("fork.config.root.ForkConfig", "fork.config", 3)


def test_of_two_classes_of_one_name_none_is_the_owner() -> None:
    assert look({**CONFIG, "fork/other.py": CONFIG["fork/config/root.py"]}).owner is None


def test_a_class_that_leads_to_a_small_part_of_the_configuration_is_no_owner() -> None:
    models = {f"fork/models/m{number}.py": f"class M{number}Config:\n    size: int\n" for number in range(60)}
    assert look({**CONFIG, **models}).owner is None


def test_a_module_that_is_not_in_a_configuration_package_stands_for_itself() -> None:
    tree = {path.replace("config/", "core/"): text for path, text in CONFIG.items()}
    owner = look({"fork/__init__.py": "", **tree}).owner
    assert owner is not None
    assert (owner.name, owner.package) == ("fork.core.root.ForkConfig", "fork.core.root")


def test_tables_of_routes_and_namespaces_of_operators_are_proposed() -> None:
    tree = {
        "fork/__init__.py": "",
        "fork/declarations.py": "ROUTE_SPECS: tuple[Spec, ...] = (\n)\nMOE_ROUTES = {}\nROUTE = 1\n",
        "csrc/ops.cpp": "TORCH_LIBRARY(fork, m) {}\nTORCH_LIBRARY_FRAGMENT(_C, m) {}\nTORCH_LIBRARY(EXTENSION, m) {}\n",
        "tests/test_a.py": "ROUTES = ()\n",
    }
    detected = look(tree)
    assert detected.tables == ("fork.declarations.ROUTE_SPECS", "fork.declarations.MOE_ROUTES")
    assert detected.namespaces == ("_C", "fork")


def test_every_proposal_loads_when_it_is_switched_on(tmp_path: Path) -> None:
    native = {"csrc/ops.cu": "TORCH_LIBRARY(fork, m) {}\n"}
    tree = {"fork/__init__.py": "", "fork/envs.py": MAPPING, "fork/routes.py": "ROUTES = (1,)\n", **CONFIG, **native}
    text = PROPOSAL.sub("", starting_settings(look(tree)))
    (tmp_path / "gates.toml").write_text(text, encoding="utf-8")
    settings = load(tmp_path).settings
    assert settings.config is not None
    assert settings.config.roots == ("fork.config.root.ForkConfig",)
    assert settings.routes is not None
    assert settings.routes.native.namespaces == ("fork",)
    assert settings.routes.tables[0].symbol == "fork.routes.ROUTES"
    assert settings.env is not None
    assert settings.env.documents == ()


def test_the_proposed_configuration_gate_finds_what_nothing_reads(gates: Gates, tmp_path: Path) -> None:
    root = tmp_path / "fork-tree"
    write(root, {"fork/__init__.py": "", **CONFIG})
    text = starting_settings(look({"fork/__init__.py": "", **CONFIG}))
    write(root, {"gates.toml": re.sub(r"^#(?=\[config\]|roots|packages|classes)", "", text, flags=re.MULTILINE)})
    done = gates("config", "--root", str(root))
    assert done.returncode == 1, done.stderr
    assert "nothing reads ForkConfig.model" in done.stdout
