"""`gates config` from the command line: the check, the inventory, revisions, settings that do not fit, vLLM's shape."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sample_project import commit, write

RECIPE = Path(__file__).parents[2] / "docs/recipes/vllm.toml"

SETTINGS = """
[config]
roots = ["app.config.AppConfig"]
field-constructors = ["app.fields.setting"]

[[config.aliases]]
table = "app.variables.VARIABLES"
"""
FILES = {
    "gates.toml": SETTINGS,
    "app/__init__.py": "",
    "app/config/__init__.py": "from app.config.schema import AppConfig, CacheConfig\n",
    "app/config/schema.py": '''"""Settings."""
from __future__ import annotations
from dataclasses import dataclass, field
from typing import ClassVar
from app.fields import setting


class Hashed:
    def compute_hash(self) -> str:
        return digest(self)


@dataclass(frozen=True)
class CacheConfig(Hashed):
    block_size: int = setting(16, help="tokens in a block", above=0)
    scale: float | None = None
    LIMIT: ClassVar[int] = 3

    def __post_init__(self) -> None:
        assert self.block_size


@dataclass
class AppConfig:
    cache: CacheConfig = field(default_factory=CacheConfig)
    spare: list[CacheConfig] = field(default_factory=lambda: [])
    name: str
''',
    "app/variables.py": 'VARIABLES = (Variable(name="APP_BLOCK", owner="cache.block_size", parser="integer"),)\n',
    "app/engine.py": """from app.config import AppConfig


class Engine:
    def __init__(self, config: AppConfig) -> None:
        self.size = config.cache.block_size
        self.scales = [cache.scale for cache in config.spare]
        self.name = getattr(config, "name")

    def dump(self, config: AppConfig):
        return vars(config)


def options(parser):
    parser.add_argument("--block-size", type=int)
""",
}


def gates(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "gates", "config", "--no-cache", "--root", str(root), *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def inventory(root: Path, *arguments: str) -> dict[str, Any]:
    done = gates(root, "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def broken(root: Path, *arguments: str) -> list[tuple[str, str]]:
    found = json.loads(gates(root, "--format", "json", *arguments).stdout)["findings"]
    return [(finding["rule"], finding["symbol"]) for finding in found]


def test_a_clean_tree_and_a_broken_one(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert gates(tmp_path).returncode == 0
    write(tmp_path, {"app/config/more.py": "@dataclass\nclass MoreConfig:\n    x: int = 1\n"})
    assert gates(tmp_path).returncode == 1
    assert broken(tmp_path) == [("CFG001", "MoreConfig")]


def test_a_call_of_a_declared_wrapper_reads_the_environment(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "app/worker.py": "from app.flags import flag\nsize = flag('APP_BLOCK')\n"})
    assert broken(tmp_path) == []
    write(tmp_path, {"gates.toml": f'{SETTINGS}\n[env]\nprefixes = ["APP_"]\nwrappers = ["flag"]\n'})
    assert broken(tmp_path) == [("CFG005", "")]


def test_together_the_gates_say_what_each_says_alone(tmp_path: Path) -> None:
    """They share facts, though not files: one asks for every module, the other for its own ones, in C++ too."""
    settings = f'{SETTINGS}\n[env]\nprefixes = ["APP_"]\nfiles = ["app/worker.py", "csrc"]\ninitialisation = []\n'
    read = "import os\nsize = os.getenv('APP_BLOCK')\n"
    native = 'int size() { return atoi(getenv("APP_BLOCK")); }\n'
    write(
        tmp_path, {**FILES, "gates.toml": settings, "app/worker.py": read, "app/other.py": read, "csrc/a.cpp": native}
    )

    def places(gate: str) -> set[tuple[str, str]]:
        command = (sys.executable, "-m", "gates", gate, "--no-cache", "--root", str(tmp_path), "--format", "json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return {(finding["rule"], finding["path"]) for finding in json.loads(done.stdout)["findings"]}

    assert places("config") == {("CFG005", "app/worker.py"), ("CFG005", "app/other.py")}
    assert places("env") == {("ENV010", "app/worker.py"), ("ENV010", "csrc/a.cpp")}
    assert places("check") == places("config") | places("env")


def test_the_inventory_of_a_class(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    root, cache = inventory(tmp_path)["classes"]
    assert (root["name"], root["owner_paths"]) == ("AppConfig", [{"root": "AppConfig", "path": ""}])
    assert [path["path"] for path in cache["owner_paths"]] == ["cache", "spare[]"]
    assert cache["frozen"]
    assert cache["lifecycle"] == [
        {"name": "__post_init__", "path": "app/config/schema.py", "line": 19, "inherited_from": None}
    ]
    assert cache["hash"] == [
        {"name": "compute_hash", "path": "app/config/schema.py", "line": 9, "inherited_from": "Hashed"}
    ]


def test_the_inventory_of_a_parameter(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    parameters = {row["name"]: row for row in inventory(tmp_path)["parameters"]}
    assert list(parameters) == ["cache", "spare", "name", "block_size", "scale"]
    size = parameters["block_size"]
    assert [path["path"] for path in size["owner_paths"]] == ["cache.block_size", "spare[].block_size"]
    assert (size["annotation"], size["default"], size["diagnostic"]) == ("int", "16", False)
    assert size["metadata"] == {"help": "tokens in a block", "above": 0}
    assert [(alias["variable"], alias["path"], alias["parser"]) for alias in size["aliases"]] == [
        ("APP_BLOCK", "app/variables.py", "integer")
    ]
    assert [parser["expression"] for parser in size["parsers"]] == ["parser.add_argument('--block-size', type=int)"]
    readers = [(use["path"], use["line"], use["scope"], use["kind"]) for use in size["consumers"]]
    assert readers == [
        ("app/config/schema.py", 20, "CacheConfig.__post_init__", "read"),
        ("app/engine.py", 6, "Engine.__init__", "read"),
    ]
    assert [use["kind"] for use in parameters["name"]["consumers"]] == ["getattr"]
    assert [use["line"] for use in parameters["scale"]["consumers"]] == [7]
    assert (parameters["cache"]["default"], parameters["spare"]["default"]) == ("CacheConfig()", "[]")
    assert parameters["name"]["default"] is None


def test_dynamic_readers_are_listed(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    found = inventory(tmp_path)["dynamic"]
    assert [(row["kind"], row["owner"], row["scope"], row["line"]) for row in found] == [
        ("vars", "AppConfig", "Engine.dump", 11)
    ]


def test_the_inventory_of_a_revision(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    commit(tmp_path, "first", init=True)
    before = inventory(tmp_path)
    write(tmp_path, {"app/config/schema.py": "class AppConfig:\n    other: int\n", "app/engine.py": "x = y.other\n"})
    write(tmp_path, {"gates.toml": '[config]\nroots = ["app.config.AppConfig"]\n'})
    assert [row["name"] for row in inventory(tmp_path)["parameters"]] == ["other"]
    write(tmp_path, {"gates.toml": SETTINGS})
    assert inventory(tmp_path, "--ref", "HEAD") == before


def test_a_revision_may_lack_what_the_settings_name(tmp_path: Path) -> None:
    write(tmp_path, {"gates.toml": SETTINGS, "app/__init__.py": ""})
    commit(tmp_path, "before there was any configuration", init=True)
    write(tmp_path, FILES)
    assert broken(tmp_path, "--ref", "HEAD") == []
    assert inventory(tmp_path, "--ref", "HEAD")["parameters"] == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("[config]\n", "config.roots: is required"),
        ("[config]\nroots = []\n", "config.roots: needs at least 1 item"),
        (
            '[config]\nroots = ["app.config.AppConfg"]\n',
            "gates.toml:2: config.roots[0]: there is no class 'app.config.AppConfg'; did you mean"
            " `app.config.schema.AppConfig`?",
        ),
        ('[config]\nroots = ["app.engine"]\n', "config.roots[0]: there is no class 'app.engine'"),
        (
            '[config]\nroots = ["app.engine.Engine"]\n',
            "config.roots[0]: the class 'app.engine.Engine' declares no field",
        ),
        ('[config]\nroots = ["nowhere.Config"]\n', "config.roots[0]: there is no class 'nowhere.Config'"),
        (
            '[config]\nroots = ["app.config.AppConfig"]\npackages = ["app.confg"]\n',
            "gates.toml:3: config.packages[0]: no module is called 'app.confg'; did you mean `app.config`?",
        ),
        (
            '[config]\nroots = ["app.config.AppConfig"]\n[[config.aliases]]\ntable = "app.variables.VARIABLE"\n',
            "gates.toml:4: config.aliases[0].table: there is no table 'app.variables.VARIABLE'; did you mean"
            " `app.variables.VARIABLES`?",
        ),
        (
            '[config]\nroots = ["app.config.AppConfig"]\ndiagnostic = ["cache.scael"]\n',
            "gates.toml:3: config.diagnostic[0]: no field is called 'cache.scael'; did you mean `cache.scale`?",
        ),
        (
            '[config]\nroots = ["app.config.AppConfig"]\nresources = [{ name = "x", fields = "x", owner = "nam" }]\n',
            "gates.toml:3: config.resources[0].owner: no field is called 'nam'; did you mean `name`?",
        ),
        ('[config]\nroots = ["app.config.AppConfig"]\nclasses = "("\n', "config.classes: the pattern does not compile"),
    ],
)
def test_settings_that_do_not_fit_the_tree_are_refused(tmp_path: Path, settings: str, told: str) -> None:
    write(tmp_path, FILES | {"gates.toml": settings})
    done = gates(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_broken_root_is_a_finding_and_no_mistake_of_the_settings(tmp_path: Path) -> None:
    write(tmp_path, FILES | {"gates.toml": '[config]\nroots = ["app.config.schema.AppConfig"]\n'})
    write(tmp_path, {"app/config/schema.py": "class AppConfig(:\n"})
    assert broken(tmp_path) == [("SRC002", "")]


def test_a_broken_file_behind_a_re_export_is_a_finding_too(tmp_path: Path) -> None:
    write(tmp_path, FILES | {"gates.toml": '[config]\nroots = ["app.config.AppConfig"]\n'})
    (home,) = (path for path, text in FILES.items() if "class AppConfig" in text)
    write(tmp_path, {home: "class AppConfig(:\n"})

    assert ("SRC002", "") in broken(tmp_path)
    assert home in json.loads(gates(tmp_path, "--json").stdout)["unparsed"]


def test_the_inventory_is_json_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    done = gates(tmp_path, "--json", "--format", "sarif")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not as sarif" in done.stderr


@pytest.mark.parametrize("option", ["--update", "--strict", "app"])
def test_the_inventory_takes_no_options_that_judge(tmp_path: Path, option: str) -> None:
    write(tmp_path, FILES)
    done = gates(tmp_path, "--json", option)
    assert done.returncode == 2
    assert "--json prints the whole inventory" in done.stderr


VLLM = {
    "vllm/__init__.py": "",
    "vllm/envs.py": "import os\nenvironment_variables = {'VLLM_X': lambda: os.getenv('VLLM_X')}\n",
    "vllm/config/__init__.py": "from vllm.config.cache import CacheConfig\nfrom vllm.config.vllm import VllmConfig\n",
    "vllm/config/utils.py": "def config(cls):\n    return cls\ndef get_hash_factors(config, ignored):\n    return {}\n",
    "vllm/config/cache.py": """from pydantic import Field
from vllm.config.utils import config
import vllm.envs as envs

@config
class CacheConfig:
    block_size: int | None = Field(default=None, gt=0)
    swap_space: float = Field(default=4, ge=0)

    def compute_hash(self) -> str:
        return hash_factors(get_hash_factors(self, {"swap_space"}))
""",
    "vllm/config/vllm.py": """from typing import TYPE_CHECKING, Any
from pydantic import Field, SkipValidation
from vllm.config.cache import CacheConfig
from vllm.config.utils import config
if TYPE_CHECKING:
    from vllm.config.kv import KVConfig
else:
    KVConfig = Any

_current_vllm_config: "VllmConfig | None" = None

@config
class VllmConfig:
    cache_config: CacheConfig = Field(default_factory=CacheConfig)
    kv_config: SkipValidation["KVConfig"] | None = None

def set_current_vllm_config(config):
    global _current_vllm_config
    _current_vllm_config = config

def get_current_vllm_config() -> VllmConfig:
    return _current_vllm_config
""",
    "vllm/config/kv.py": """from vllm.config.utils import config

@config
class KVConfig:
    role: str
    lost: int = 1
""",
    "vllm/config/spare.py": "from vllm.config.utils import config\n@config\nclass SpareConfig:\n    role: str\n",
    "vllm/worker.py": """from vllm.config import VllmConfig, get_current_vllm_config
from vllm.config.vllm import get_current_vllm_config as current

class Worker:
    def __init__(self, vllm_config: VllmConfig) -> None:
        self.vllm_config = vllm_config
        self.cache_config = vllm_config.cache_config

    def load(self):
        return self.cache_config.block_size, self.vllm_config.cache_config.swap_space

def role():
    return current().kv_config.role
""",
}


def test_the_recipe_for_vllm(tmp_path: Path) -> None:
    recipe = {"config": tomllib.loads(RECIPE.read_text())["config"]}
    write(tmp_path, VLLM | {"gates.toml": _config_table(recipe["config"])})
    assert broken(tmp_path) == [
        ("CFG003", "KVConfig"),
        ("CFG001", "SpareConfig"),
        ("CFG006", ""),
    ]
    parameters = {row["name"]: row for row in inventory(tmp_path)["parameters"]}
    assert [path["path"] for path in parameters["role"]["owner_paths"]] == ["kv_config.role"]
    assert [(use["scope"], use["line"]) for use in parameters["role"]["consumers"]] == [("role", 13)]
    assert [use["scope"] for use in parameters["block_size"]["consumers"]] == ["Worker.load"]


def _config_table(table: dict[str, Any]) -> str:
    return "[config]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
