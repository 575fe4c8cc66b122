"""Hash, pickle, JSON and report: what leaves the process, and what a worker makes of it."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys

import pytest
from config_strategies import ONLY_VALUE, explicit, valid
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from runtime.config import (
    FIELDS,
    Defaults,
    RuntimeConfig,
    compute_hash,
    from_json,
    resolve,
    runtime_policy_report,
    to_json,
)
from runtime.config.fields import assemble, flatten
from runtime.errors import ConfigError

seeded = settings(derandomize=True, deadline=None, max_examples=60)


@pytest.mark.parametrize("path", FIELDS)
def test_a_setting_changes_the_hash_unless_it_is_diagnostic(path: str) -> None:
    @settings(derandomize=True, deadline=None, max_examples=10, database=None)
    @given(st.integers(2, 9) if path in ONLY_VALUE else valid(FIELDS[path]))
    def changing(value: object) -> None:
        before = RuntimeConfig()
        values = flatten(before)
        assume(values[path] != value)
        after = assemble(RuntimeConfig, values | {path: value})
        assert (compute_hash(before) == compute_hash(after)) is FIELDS[path].diagnostic

    changing()


def test_only_observability_is_diagnostic() -> None:
    assert {path.split(".")[0] for path, spec in FIELDS.items() if spec.diagnostic} == {"observability"}


def test_how_a_value_came_about_does_not_change_the_hash() -> None:
    by_user = resolve({"dtype": "half", "codec": "fp16"}, {}).config
    by_platform = resolve({}, {}, platform=Defaults("card", {"model.dtype": ("float16", "fast")})).config
    assert compute_hash(by_user) == compute_hash(by_platform)


@seeded
@given(explicit())
def test_pickle_and_json_round_trip(stated: dict[str, object]) -> None:
    resolved = resolve(stated, {})
    assert pickle.loads(pickle.dumps(resolved)) == resolved
    assert from_json(to_json(resolved.config)) == resolved.config


WORKER = """
import base64, json, os, pickle, sys

class Poisoned(dict):
    def _refuse(self, *arguments):
        raise SystemExit("the worker read the environment")
    __getitem__ = __contains__ = __iter__ = get = items = keys = values = copy = _refuse

import runtime.config
os.environ = Poisoned()
os.getenv = Poisoned()._refuse
message = json.load(sys.stdin)
resolved = pickle.loads(base64.b64decode(message["pickle"]))
config = runtime.config.from_json(message["json"])
assert config == resolved.config
print(json.dumps([runtime.config.compute_hash(config), runtime.config.runtime_policy_report(resolved)]))
"""


def test_a_worker_gets_the_same_configuration_without_reading_the_environment() -> None:
    resolved = resolve({"block_size": 64}, {"V100_KV_CODEC": "fp8", "V100_LOG_STATS": "1"})
    message = {"pickle": base64.b64encode(pickle.dumps(resolved)).decode(), "json": to_json(resolved.config)}
    environment = {"V100_BLOCK_SIZE": "8", "V100_KV_CODEC": "fp16", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WORKER], input=json.dumps(message), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [compute_hash(resolved.config), runtime_policy_report(resolved)]


def test_changing_the_environment_afterwards_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"V100_BLOCK_SIZE": "32"}
    resolved = resolve({}, environ)
    identity = compute_hash(resolved.config)
    environ["V100_BLOCK_SIZE"] = "64"
    monkeypatch.setenv("V100_BLOCK_SIZE", "64")
    assert resolved.config.cache.block_size == 32
    assert compute_hash(resolved.config) == identity


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document["cache"].pop("codec"), r"missing cache\.codec"),
        (lambda document: document["cache"].update(size=1), r"unknown cache\.size"),
        (lambda document: document.update(extra=1), r"unknown extra"),
        (lambda document: document["cache"].update(block_size="16"), r"cache\.block_size: '16' is not valid"),
        (lambda document: document["cache"].update(block_size=24), r"24 is not a power of two"),
        (lambda document: document["cache"].update(k_scale=float("nan")), r"k_scale: nan is not valid"),
        (lambda document: document["cache"].update(block_size={}), r"block_size: \{\} is not valid"),
    ],
)
def test_json_that_is_not_a_configuration_is_refused(change: object, message: str) -> None:
    document = json.loads(to_json(RuntimeConfig()))
    change(document)  # type: ignore[operator]
    with pytest.raises(ConfigError, match=message):
        from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, "{}"])
def test_text_that_is_no_object_of_settings_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^configuration: "):
        from_json(text)


def test_the_report_explains_every_setting_as_json() -> None:
    platform = Defaults("card", {"model.dtype": ("float16", "fast here")})
    resolved = resolve({"batch_sizes": (1, 2)}, {"V100_DTYPE": "fp32"}, platform=platform)
    report = runtime_policy_report(resolved)
    assert json.loads(json.dumps(report)) == report
    settings_report = report["settings"]
    assert isinstance(settings_report, dict)
    assert list(settings_report) == list(FIELDS)
    dtype = settings_report["model.dtype"]
    assert (dtype["value"], dtype["source"], dtype["origin"]) == ("float32", "environment", "V100_DTYPE")
    assert [(item["value"], item["reason"]) for item in dtype["overridden"]] == [
        ("float16", "fast here"),
        ("auto", "declared default"),
    ]
