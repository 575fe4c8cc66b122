"""docs/recipes/vllm.toml on a small tree of that shape: nothing to report, and one break after the other is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from vllm_tree import CACHE_CONFIG, ENVS, FILES

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "vllm.toml"
WORKER = FILES["vllm/v1/worker.py"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path, {**FILES, "gates.toml": RECIPE.read_text(encoding="utf-8")})
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def gates(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "gates", *arguments, "--root", str(root))
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def found(root: Path) -> list[tuple[str, str]]:
    done = gates(root, "check", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return [(finding["rule"], finding["path"]) for finding in json.loads(done.stdout)["findings"]]


def test_a_tree_that_keeps_the_rules_has_nothing_to_report(tree: Path) -> None:
    assert found(tree) == []


UNREAD = CACHE_CONFIG.replace("    cache_dtype", "    swap_space: float = 4\n    cache_dtype")
SPARE = "from vllm.config.utils import config\n\n\n@config\nclass SpareConfig:\n    x: int = 1\n"
BREAKS: dict[str, tuple[dict[str, str], *tuple[tuple[str, str], ...]]] = {
    "configuration imports the engine": (
        {"vllm/config/cache.py": CACHE_CONFIG + "\n\ndef late() -> None:\n    from vllm.v1 import worker\n"},
        ("LAY003", "vllm/config/cache.py"),
    ),
    "the engine asks which platform it is": (
        {"vllm/v1/worker.py": WORKER + "\n\ndef f(platform):\n    return platform.is_cuda_alike()\n"},
        ("LAY101", "vllm/v1/worker.py"),
    ),
    "the engine names a model": (
        {"vllm/v1/worker.py": WORKER + "\n\ndef f(kind):\n    return kind == 'DeepseekV3'\n"},
        ("LAY101", "vllm/v1/worker.py"),
    ),
    "a variable is read past the registry": (
        {"vllm/v1/rank.py": "import os\n\nRANK = os.environ['VLLM_RANK']\n"},
        ("ENV001", "vllm/v1/rank.py"),
    ),
    "a getter reads another name": (
        {"vllm/envs.py": ENVS.replace('os.getenv("VLLM_LOG_LEVEL", "INFO")', 'os.getenv("VLLM_LOGGING", "INFO")')},
        ("ENV004", "vllm/envs.py"),
    ),
    "a declared default is another one than the getter's": (
        {"vllm/envs.py": ENVS.replace("VLLM_PORT: int = 8000", "VLLM_PORT: int = 9000")},
        ("ENV008", "vllm/envs.py"),
    ),
    "a variable that nothing reads": (
        {
            "vllm/envs.py": ENVS.replace(
                "}\n\n\ndef __g", '    "VLLM_OLD": lambda: os.getenv("VLLM_OLD"),\n}\n\n\ndef __g'
            )
        },
        ("ENV002", "vllm/envs.py"),
    ),
    "C++ reads a variable that nobody registered": (
        {"csrc/cpu/threads.cpp": 'int threads() { return std::atoi(std::getenv("VLLM_CPU_THREADS")); }\n'},
        ("ENV001", "csrc/cpu/threads.cpp"),
    ),
    "a configuration class without an owner": (
        {"vllm/config/spare.py": SPARE},
        ("CFG001", "vllm/config/spare.py"),
    ),
    "a setting that nothing reads, not even the hash": (
        {"vllm/config/cache.py": UNREAD},
        ("CFG003", "vllm/config/cache.py"),
        ("CFG004", "vllm/config/cache.py"),
    ),
    "a setting that the hash leaves out": (
        {"vllm/config/cache.py": CACHE_CONFIG.replace("self.block_size, self.cache_dtype", "self.block_size")},
        ("CFG004", "vllm/config/cache.py"),
    ),
    "an operator without a fake": (
        {"vllm/_custom_ops.py": FILES["vllm/_custom_ops.py"].replace("@register_fake", "@unused")},
        ("RTE102", "csrc/torch_bindings.cpp"),
    ),
    "an operator that is called without a probe": (
        {"vllm/_custom_ops.py": FILES["vllm/_custom_ops.py"].replace("hasattr(", "print(")},
        ("RTE103", "csrc/torch_bindings.cpp"),
    ),
    "a call of an operator that is not there": (
        {"vllm/v1/attention.py": FILES["vllm/v1/attention.py"].replace("ops.vllm.unified", "ops.vllm.unifed")},
        ("RTE101", "vllm/v1/attention.py"),
    ),
    "an operator of Python without a fake": (
        {"vllm/v1/attention.py": FILES["vllm/v1/attention.py"].replace("    fake_impl=unified_attention_fake,\n", "")},
        ("RTE102", "vllm/v1/attention.py"),
    ),
    "a link to a heading that is not there": (
        {"README.md": "[Ports](docs/settings.md#port)\n"},
        ("DOC002", "README.md"),
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_a_rule_is_seen_and_nothing_else(tree: Path, name: str) -> None:
    files, *expected = BREAKS[name]
    write(tree, files)
    assert found(tree) == expected


def test_every_owner_path_starts_at_the_root(tree: Path) -> None:
    done = gates(tree, "config", "--json")
    assert done.returncode == 0, done.stderr
    paths = {
        (parameter["name"], owner["path"])
        for parameter in json.loads(done.stdout)["parameters"]
        for owner in parameter["owner_paths"]
    }
    assert paths == {
        ("model_config", "model_config"),
        ("cache_config", "cache_config"),
        ("port", "port"),
        ("model", "model_config.model"),
        ("hf_config", "model_config.hf_config"),
        ("block_size", "cache_config.block_size"),
        ("cache_dtype", "cache_config.cache_dtype"),
    }
