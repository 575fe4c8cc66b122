"""The registry of variables, what it says of itself, and what reading it warns of."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

from runtime import config as config_package
from runtime.config import FIELDS, ConfigWarning, aliases, captured, resolve
from runtime.config.environment import ENVIRONMENT, Deprecation, EnvironmentVariable
from runtime.config.fields import flatten
from runtime.errors import ConfigError
from runtime.platforms import declared
from runtime.platforms.declarations import PLATFORM_SPECS

BY_NAME = {variable.name: variable for variable in ENVIRONMENT}
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing had been warned of yet."""
    monkeypatch.setattr(aliases, "_WARNED", set())


@pytest.mark.parametrize("variable", ENVIRONMENT, ids=lambda variable: variable.name)
def test_a_record_agrees_with_the_setting_that_it_feeds(variable: EnvironmentVariable) -> None:
    spec = FIELDS[variable.owner]
    assert (variable.parser, variable.declared_default) == (spec.kind, spec.default)
    assert variable.name.startswith("V100_")
    assert variable.description.endswith(".")
    assert variable.affected_paths


@pytest.mark.parametrize("variable", ENVIRONMENT, ids=lambda variable: variable.name)
@pytest.mark.parametrize("platform", [spec.name for spec in PLATFORM_SPECS])
def test_the_effective_default_is_what_a_platform_really_gives(variable: EnvironmentVariable, platform: str) -> None:
    where = declared(platform)
    effective = flatten(resolve({}, {}, platform=where.defaults(), safety=where.overrides()).config)[variable.owner]
    assert variable.effective_default.get(platform, variable.declared_default) == effective


@pytest.mark.parametrize("variable", ENVIRONMENT, ids=lambda variable: variable.name)
def test_deprecated_is_a_category_with_its_reasons(variable: EnvironmentVariable) -> None:
    deprecation = variable.deprecation
    assert (variable.category == "deprecated") == (deprecation is not None)
    if deprecation is not None:
        assert deprecation.reason
        assert deprecation.evidence
    if deprecation is not None and deprecation.kind == "alias":
        replacement = BY_NAME[deprecation.replacement]
        assert replacement.owner == variable.owner
        assert ENVIRONMENT.index(replacement) < ENVIRONMENT.index(variable), "the replacement must win"


@pytest.mark.parametrize("path", sorted({path for variable in ENVIRONMENT for path in variable.affected_paths}))
def test_affected_paths_exist(path: str) -> None:
    assert (REPOSITORY / path).is_dir()


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(ENVIRONMENT)


def test_the_registry_is_literal() -> None:
    """A reader that never imports it learns all of it: only constants, tuples, dicts and the two record types."""
    source = Path(config_package.__file__).with_name("environment.py").read_text()
    (table,) = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "ENVIRONMENT"
    ]
    assert table is not None
    allowed = (ast.Constant, ast.Tuple, ast.Dict, ast.Call, ast.Name, ast.keyword, ast.Load)
    assert {type(node) for node in ast.walk(table)} <= set(allowed)
    assert {node.id for node in ast.walk(table) if isinstance(node, ast.Name)} == {"EnvironmentVariable", "Deprecation"}


def test_only_one_module_reads_the_environment() -> None:
    runtime = Path(config_package.__file__).parents[1]
    readers = [
        path.relative_to(runtime).as_posix()
        for folder in ("config", "platforms")
        for path in (runtime / folder).rglob("*.py")
        if any(name in path.read_text() for name in ("environ[", "os.environ", "getenv"))
    ]
    assert readers == ["config/environment.py"]


def test_captured_holds_only_our_variables_and_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("V100_BLOCK_SIZE", "32")
    monkeypatch.setenv("HOME", "/nowhere")
    taken = captured()
    monkeypatch.setenv("V100_BLOCK_SIZE", "64")
    assert taken["V100_BLOCK_SIZE"] == "32"
    assert "HOME" not in taken


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("V100_BLOK_SIZE", "did you mean V100_BLOCK_SIZE"), ("V100_QQQ", "v100 explain --config")],
)
def test_an_unknown_variable_warns_with_the_nearest_name(name: str, remedy: str) -> None:
    with pytest.warns(ConfigWarning, match=f"^{name} is not a variable of this runtime and has no effect; .*{remedy}"):
        resolve({}, {name: "1"})


def test_a_variable_of_somebody_else_is_none_of_our_business() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve({}, {"VLLM_X": "1", "CUDA_VISIBLE_DEVICES": "0", "V100_DTYPE": "fp16"})


def test_a_deprecated_variable_warns_once_a_process_and_works() -> None:
    with pytest.warns(ConfigWarning, match=r"V100_KV_DTYPE is deprecated \(alias\).*use V100_KV_CODEC") as caught:
        codecs = [resolve({}, {"V100_KV_DTYPE": codec}).config.cache.codec for codec in ("fp8", "fp16")]
    assert len(caught) == 1
    assert codecs == ["fp8_e4m3", "fp16"]


def test_a_deprecated_variable_that_is_not_set_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve({}, {"V100_KV_DTYPE": ""})


@pytest.mark.parametrize("kind", ["experiment", "historical"])
def test_a_deprecation_without_replacement_points_at_the_setting(kind: str) -> None:
    variable = EnvironmentVariable(
        name="V100_TRIED",
        owner="cache.block_size",
        parser="integer",
        description="Tried.",
        category="deprecated",
        declared_default=16,
        affected_paths=("runtime/engine",),
        deprecation=Deprecation(kind=kind, reason="it made no difference", evidence="a table"),  # type: ignore[arg-type]
    )
    with pytest.warns(ConfigWarning, match=rf"\({kind}\): it made no difference; set cache\.block_size instead"):
        assert list(aliases.stated_by_environment({"V100_TRIED": "8"}, [variable]))


def test_an_invalid_value_names_the_variable_the_value_and_what_is_admitted() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"model.dtype": "float16"}, {"V100_DTYPE": "int8"})
    assert str(caught.value).startswith("V100_DTYPE: 'int8' is not valid; model.dtype must be one of auto, float32,")
