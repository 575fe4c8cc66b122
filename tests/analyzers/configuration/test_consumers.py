"""Who reads which field."""

from __future__ import annotations

import pytest
from configuration_trees import CONFIG, Configure

IMPORTS = "import app.config as c\nfrom app.config import Model, Root as R, current\nimport copy, dataclasses\n"


def kinds(configure: Configure, code: str) -> dict[str, list[str]]:
    found = configure({"app/config.py": CONFIG, "app/use.py": IMPORTS + code}).consumers
    return {
        f"{key.owner.name}.{key.name}": [consumer.kind for consumer in consumers if consumer.path == "app/use.py"]
        for key, consumers in found.fields.items()
        if any(consumer.path == "app/use.py" for consumer in consumers)
    }


@pytest.mark.parametrize(
    "code",
    [
        "def f(config: R):\n    return config.model.dtype\n",
        "def f(config: 'R | None'):\n    return config.model.dtype\n",
        "def f(*, config: c.Root):\n    return config.model.dtype\n",
        "def f(config: R):\n    model = config.model\n    return model.dtype\n",
        "def f(config: R):\n    model, n = config.model, 1\n    return model.dtype\n",
        "def f(config: R):\n    return f'{config.model.dtype}'\n",
        "def f(config: R):\n    def g():\n        return config.model.dtype\n    return g\n",
        "def f(config: R):\n    return lambda: config.model.dtype\n",
        "def f(config: R):\n    return (config or R()).model.dtype\n",
        "def f(config: R):\n    return getattr(config, 'model').dtype\n",
        "def f(config: R):\n    return copy.copy(config).model.dtype\n",
        "def f(config):\n    config: R = config\n    return config.model.dtype\n",
        "def f(x):\n    return cast(R, x).model.dtype\n",
        "def f():\n    return current().model.dtype\n",
        "def f():\n    return c.current().model.dtype\n",
        "def f():\n    return R.load().model.dtype\n",
        "config = R()\nprint(config.model.dtype)\n",
        "def f():\n    if (config := current()).seed:\n        pass\n    return config.model.dtype\n",
        "class E:\n    def __init__(self, config: R):\n        self._c = config\n"
        "    def g(self):\n        return self._c.model.dtype\n",
        "class E:\n    def g(self):\n        return self._c.model.dtype\n"
        "    def h(self, config: R):\n        self._c = config\n",
        "class E:\n    config: R\n    def g(self):\n        return self.config.model.dtype\n",
        "class E:\n    def __init__(self):\n        self.m: Model = x()\n        self.r: R\n"
        "    def g(self):\n        self.r.model, self.m.dtype\n",
        "class E:\n    def g(self):\n        return self.r.model.dtype\n"
        "    @property\n    def r(self) -> R:\n        return x()\n",
        "class B:\n    config: R\nclass E(B):\n    def g(self):\n        return self.config.model.dtype\n",
    ],
)
def test_a_chain_is_followed(configure: Configure, code: str) -> None:
    found = kinds(configure, code)
    assert found["Model.dtype"] == ["read"]
    assert "Root.model" in found


@pytest.mark.parametrize(
    "code",
    [
        "def f(config: R):\n    return config.models[0].dtype\n",
        "def f(config: R):\n    for model in config.models:\n        model.dtype\n",
        "def f(config: R):\n    return [model.dtype for model in config.models]\n",
        "def f(config: R):\n    return config.first.dtype\n",
        "def f(models: list[Model]):\n    return models[0].dtype\n",
        "def f(models: dict[str, Model]):\n    return [m.dtype for m in models.values()]\n",
    ],
)
def test_elements_and_properties_are_followed(configure: Configure, code: str) -> None:
    assert kinds(configure, code)["Model.dtype"] == ["read"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("r.seed", ["read"]),
        ("r.seed = 1", ["write"]),
        ("r.seed += 1", ["read", "write"]),
        ("del r.seed", ["delete"]),
        ("getattr(r, 'seed', 0)", ["getattr"]),
        ("hasattr(r, 'seed')", ["hasattr"]),
        ("setattr(r, 'seed', 1)", ["setattr"]),
        ("R(seed=1)", ["argument"]),
        ("dataclasses.replace(r, seed=1)", ["argument"]),
        ("r.seed.bit_length()", ["through"]),
        ("r.seed[0]", ["read"]),
        ("match r:\n        case R(seed=1): pass", ["read"]),
    ],
)
def test_kinds_of_access(configure: Configure, code: str, kind: list[str]) -> None:
    assert kinds(configure, f"def f(r: R):\n    {code}\n")["Root.seed"] == kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("dataclasses.asdict(r)", "asdict"),
        ("dataclasses.fields(r)", "fields"),
        ("dataclasses.replace(r)", "replace"),
        ("vars(r)", "vars"),
        ("r.__dict__", "__dict__"),
        ("r.model_dump()", "model_dump"),
        ("getattr(r, name)", "getattr by a computed name"),
        ("setattr(r, name, 1)", "setattr by a computed name"),
        ("f(**vars(r))", "spread"),
        ("match r:\n        case R(1): pass", "pattern"),
        ("r.sead", "read of no declared field"),
        ("r.sead.x", "through of no declared field"),
    ],
)
def test_what_names_no_field_is_listed(configure: Configure, code: str, kind: str) -> None:
    files = {"app/config.py": CONFIG, "app/use.py": f"{IMPORTS}def f(r: R, name):\n    {code}\n"}
    found = configure(files).consumers.dynamic
    assert kind in [item.consumer.kind for item in found if item.owner is not None and item.consumer.scope == "f"]


@pytest.mark.parametrize(
    ("code", "listed"),
    [
        ("r.models.append(1)", False),
        ("r.models.copy().sort()", False),
        ("for n, model in enumerate(r.models.copy()): model.dtype", False),
        ("by['a'].append(1)", False),
        ("r.__class__.__name__", False),
        ("by['a'].itemz", True),
        ("r.models[0].dtyp", True),
        ("r.model.append(1)", True),
        ("r.items()", True),
    ],
)
def test_what_a_container_does_gets_at_no_fields(configure: Configure, code: str, listed: bool) -> None:
    code = f"{IMPORTS}def f(r: R, by: dict[str, list[Model]]):\n    {code}\n"
    found = configure({"app/config.py": CONFIG, "app/use.py": code}).consumers.dynamic
    assert [item.consumer.scope for item in found if item.consumer.path == "app/use.py"] == ["f"] * listed


def test_a_place_is_listed_once_whatever_leads_there(configure: Configure) -> None:
    code = f"{IMPORTS}def f(one: Model, many: list[Model], which):\n    (one if which else many[0]).dtyp\n"
    found = configure({"app/config.py": CONFIG, "app/use.py": code}).consumers.dynamic
    assert [item.consumer.line for item in found if item.consumer.path == "app/use.py"] == [5]


def test_dynamic_readers_of_unknown_objects_are_listed(configure: Configure) -> None:
    generic = "def flatten(config):\n    return {n: getattr(config, n) for n in fields(config)}\n"
    found = configure({"app/config.py": CONFIG, "app/generic.py": generic}, packages=("app",)).consumers.dynamic
    kinds_found = {item.consumer.kind for item in found if item.consumer.path == "app/generic.py"}
    assert kinds_found == {"fields", "getattr by a computed name"}
    assert all(item.owner is None for item in found if item.consumer.path == "app/generic.py")


def test_a_value_that_was_taken_is_configuration_no_more(configure: Configure) -> None:
    code = "class E:\n    def __init__(self, r: R):\n        self.s = r.seed\n    def f(self):\n        return self.s\n"
    assert kinds(configure, code)["Root.seed"] == ["read"]


def test_other_objects_with_such_attributes_are_no_readers(configure: Configure) -> None:
    code = "class Root:\n    seed = 1\ndef f(r: Root, x, R: int):\n    return r.seed, x.seed, R.seed\n"
    assert kinds(configure, code) == {}


def test_command_line_options_are_found(configure: Configure) -> None:
    code = "def f(parser):\n    parser.add_argument('--seed', type=int)\n    parser.add_argument('-m', dest='model')\n"
    options = configure({"app/config.py": CONFIG, "app/use.py": IMPORTS + code}).consumers.options
    assert {name: [place.option.line for place in places] for name, places in options.items()} == {
        "seed": [5],
        "model": [6],
    }


@pytest.mark.parametrize(
    "code",
    [
        "import app.config\ndef f(it: app.config.Root):\n    return it.seed\n",
        "import app.config as c\ndef f(it: c.Root):\n    return it.seed\n",
        "from app import config as c\ndef f(it: c.Root):\n    return it.seed\n",
        "from app.config import *\ndef f(it: Root):\n    return it.seed\n",
        "from .config import Root as R\ndef f(it: R):\n    return it.seed\n",
        "from app.facade import Root\ndef f(it: Root):\n    return it.seed\n",
        "import app.facade\ndef f(it: app.facade.Root):\n    return it.seed\n",
        "import app.outer\ndef f(it: app.outer.app.facade.Root):\n    return it.seed\n",
        "if True:\n    import app.facade as g\n\ndef f(it: g.Root):\n    return it.seed\n",
        "from app.others import Renamed\ndef f(it: Renamed):\n    return it.seed\n",
        "from lib import Root\ndef f(it: Root):\n    return it.seed\n",
        "from lib.handed import *\ndef f(it: Root):\n    return it.seed\n",
        "from lib import current\ndef f():\n    return current().seed\n",
        "def f():\n    from lib.handed import current\n    return current().seed\n",
    ],
)
def test_every_way_to_import_a_class_makes_a_reader(configure: Configure, code: str) -> None:
    """Each in a file that says no other word of configuration."""
    files = {
        "app/__init__.py": "",
        "app/config.py": CONFIG,
        "app/facade.py": "from app.config import Root\n",
        "app/others.py": "from app.config import Root as Renamed\n",
        "app/outer.py": "import app.facade\n",
        "lib/__init__.py": "from .handed import Root, current\n",
        "lib/handed.py": "from app.config import *\n",
        "app/use.py": code,
    }
    found = configure(files, packages=("app.config", "app.others")).consumers.fields
    assert [key.name for key, by in found.items() if "app/use.py" in [consumer.path for consumer in by]] == ["seed"]
