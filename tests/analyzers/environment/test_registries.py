"""What each shape of registry says."""

from __future__ import annotations

import json

import pytest

from analyzers.environment.extractor import RegistryExtractor
from analyzers.environment.registrations import Registration
from analyzers.source import Source


def read(text: str, symbol: str = "REGISTRY", decorator: str = "") -> list[Registration]:
    extractor = RegistryExtractor("" if decorator else symbol, decorator)
    rows = json.loads(json.dumps(extractor.extract(Source("envs.py", text))))
    assert rows is not None
    return [Registration(*row) for row in rows]


def names(text: str, symbol: str = "REGISTRY", decorator: str = "") -> list[str]:
    return [registration.name for registration in read(text, symbol, decorator)]


VLLM = """
import os
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    VLLM_PORT: int = 80
    VLLM_HOST: str = ""


def get_host():
    return os.getenv("VLLM_HOST", "")


def env_with_choices(name, default, choices):
    def get():
        return os.getenv(name, default)
    return get


environment_variables: dict[str, Callable[[], Any]] = {
    # The port.
    "VLLM_PORT": lambda: int(os.getenv("VLLM_PORT", "8080")),
    "VLLM_HOST": get_host,
    "VLLM_MODE": env_with_choices("VLLM_MODE", "a", ["a", "b"]),
    "VLLM_TYPO": lambda: os.getenv("VLLM_TYPPO"),
    "VLLM_OLD": lambda: os.getenv("VLLM_OLD", os.getenv("VLLM_OLDER", "1")),
}
environment_variables["VLLM_LATE"] = lambda: os.environ.get("VLLM_LATE")
"""


def test_a_mapping_of_getters() -> None:
    found = {registration.name: registration for registration in read(VLLM, "environment_variables")}
    assert {name: r.reads for name, r in found.items()} == {
        "VLLM_PORT": ["VLLM_PORT"],
        "VLLM_HOST": ["VLLM_HOST"],
        "VLLM_MODE": ["VLLM_MODE"],
        "VLLM_TYPO": ["VLLM_TYPPO"],
        "VLLM_OLD": ["VLLM_OLD", "VLLM_OLDER"],
        "VLLM_LATE": ["VLLM_LATE"],
    }
    assert (found["VLLM_PORT"].line, found["VLLM_PORT"].column) == (22, 5)
    assert (found["VLLM_PORT"].given, found["VLLM_PORT"].annotated) == ([8080], [80])
    assert (found["VLLM_HOST"].given, found["VLLM_HOST"].annotated) == ([""], [""])
    assert found["VLLM_OLD"].given == ["1"]


def test_a_mapping_of_metadata() -> None:
    text = (
        "class Meta:\n    def __init__(self, default, category='a'): pass\n"
        "REGISTRY = {'X_A': Meta(1 << 3, 'tuning'), 'X_B': Meta(default=f(), category='debug'),\n"
        "            'X_C': {'default': 8 * 1024}, 'X_D': '1'}\n"
    )
    a, b, c, d = read(text)
    assert (a.fields, a.computed) == ({"category": "tuning"}, ["default"])
    assert (b.fields, b.computed) == ({"category": "debug"}, ["default"])
    assert (c.fields, d.fields) == ({"default": 8192}, {"default": "1"})


def test_a_tuple_of_records() -> None:
    text = (
        "@dataclass\nclass Gone:\n    kind: str\n    reason: str\n\n"
        "@dataclass\nclass Var:\n    name: str\n    default: object = None\n    gone: Gone | None = None\n\n"
        "EXTRA = (Var('X_C', 3),)\nB = Var(name='X_B', gone=Gone('alias', reason='r'))\n"
        "REGISTRY: tuple[Var, ...] = (\n    Var('X_A', -1),\n    B,\n    *EXTRA,\n) + (Var(name='X_D'),)\n"
    )
    assert [(r.name, r.fields) for r in read(text)] == [
        ("X_A", {"name": "X_A", "default": -1}),
        ("X_B", {"name": "X_B", "gone": {"kind": "alias", "reason": "r"}}),
        ("X_C", {"name": "X_C", "default": 3}),
        ("X_D", {"name": "X_D"}),
    ]


LOOPS = """
REGISTRY = {}
KINDS = [("A", int), ("B", str)]

def entry(kind, convert):
    name = f"X_{kind}"
    def get():
        return convert(os.getenv(name))
    return name, get

for kind, convert in KINDS:
    key, getter = entry(kind, convert)
    REGISTRY[key] = getter
for kind in ("C",):
    key = f"X_{kind}"
    OTHER[key] = kind
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BASE = {'X_A': 1}\nREGISTRY = {**BASE, 'X_B': 2} | {'X_C': 3}\n", ["X_A", "X_B", "X_C"]),
        ("REGISTRY = dict(X_A=1)\nREGISTRY.update({'X_B': 2})\n", ["X_A", "X_B"]),
        ("REGISTRY = []\nREGISTRY.append(Var('X_A'))\nREGISTRY += [Var('X_B')]\n", ["X_A", "X_B"]),
        ("ALL = (Var('X_A'),)\nREGISTRY = {v.name: v for v in ALL}\n", ["X_A"]),
        ("REGISTRY = MappingProxyType({'X_A': 1})\n", ["X_A"]),
        ("KEY = 'X_A'\nREGISTRY = {KEY: 1}\n", ["X_A"]),
        ("REGISTRY = {'X_A': 1, key(): 2}\n", ["X_A", "*"]),
        ("REGISTRY = frozenset({'X_A', 'X_B'})\n", ["X_A", "X_B"]),
        ("try:\n    REGISTRY = {'X_A': 1}\nexcept Exception:\n    REGISTRY = {'X_B': 1}\n", ["X_A", "X_B"]),
        ("REGISTRY = {}\nfor n in ('A', 'B'):\n    REGISTRY['X_' + n] = get\n", ["X_A", "X_B"]),
        (LOOPS, ["X_A", "X_B"]),
        ("REGISTRY = {f'X_{n}': 1 for n in ('A', 'B')}\n", ["X_A", "X_B"]),
        ("REGISTRY = {}\nREGISTRY.update({f'X_{n}': 1 for n in names()})\n", ["X_*"]),
        ("for n in names():\n    REGISTRY[f'X_{n}'] = 1\nREGISTRY = {}\n", ["X_*"]),
        ("REGISTRY = REGISTRY2 = {}\nREGISTRY = {}\n", []),
    ],
)
def test_collections_that_are_put_together(text: str, expected: list[str]) -> None:
    assert sorted(names(text)) == sorted(expected)


PYDANTIC = """
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_", frozen=True)
    kind: ClassVar[str] = "x"
    port: int = 80
    host: str = Field(default="", description="The host.")
    token: str = Field(None, validation_alias="TOKEN")
    mode: str = Field("a", validation_alias=AliasChoices("APP_MODE", "OLD_MODE"))
    level: Annotated[int, Field(alias="LEVEL")] = 1
    _hidden: int = 0

    def port_of(self): ...
"""


def test_a_pydantic_settings_class() -> None:
    found = read(PYDANTIC, "Settings")
    assert [r.name for r in found] == ["APP_PORT", "APP_HOST", "TOKEN", "APP_MODE", "OLD_MODE", "LEVEL"]
    assert [r.fields.get("default") for r in found] == [80, "", None, "a", "a", 1]
    assert found[1].fields["description"] == "The host."
    assert all(r.by_itself for r in found)


@pytest.mark.parametrize(
    "configuration",
    ['class Config:\n        env_prefix = "APP_"', 'model_config = {"env_prefix": "APP_"}'],
    ids=["class", "dict"],
)
def test_every_way_to_state_the_prefix(configuration: str) -> None:
    text = f"class S(pydantic_settings.BaseSettings):\n    {configuration}\n    port: int = 1\n"
    assert names(text, "S") == ["APP_PORT"]


def test_a_class_as_a_namespace() -> None:
    text = (
        "class Env:\n    def __init__(self, default, secret=False): ...\nclass EnvInt(Env): ...\n"
        "class Envs:\n    X_A = EnvInt(3)\n    X_B = Env(None, secret=True)\n    helper = 1\n    def f(self): ...\n"
        "envs = Envs()\n"
    )
    assert [(r.name, r.fields) for r in read(text, "Envs")] == [
        ("X_A", {"default": 3}),
        ("X_B", {"default": None, "secret": True}),
    ]
    assert names(text, "envs") == ["X_A", "X_B"]


def test_a_decorator() -> None:
    text = (
        "import os\n@env.register('X_A', category='debug')\ndef a():\n    return os.getenv('X_A', '1')\n"
        "@register(name='X_B')\ndef b():\n    return os.getenv('X_BB')\n@other('X_C')\ndef c(): ...\n"
    )
    a, b = read(text, decorator="register")
    assert (a.name, a.fields["category"], a.reads, a.given) == ("X_A", "debug", ["X_A"], ["1"])
    assert (b.name, b.reads) == ("X_B", ["X_BB"])


@pytest.mark.parametrize("text", ["", "OTHER = {}\n", "REGISTRY = 3\n", "def f():\n    REGISTRY = {}\n"])
def test_no_such_registry(text: str) -> None:
    assert RegistryExtractor("REGISTRY").extract(Source("a.py", text)) is None


@pytest.mark.parametrize(
    ("text", "declared"),
    [("env('X_A', 'b')", "b"), ("env('X_A', default='b')", None), ("lambda: env('X_A', 'b')()", "b")],
)
def test_what_a_function_of_the_module_makes_gives_a_default(text: str, declared: str | None) -> None:
    """A default that is named may be what the getter converts, or metadata."""
    made = "def env(name, default):\n    def get():\n        return os.getenv(name, default)\n    return get\n\n"
    (registration,) = read(f"import os\n\n{made}REGISTRY = {{'X_A': {text}}}\n")
    assert list(registration.given) == ([declared] if declared else [])
