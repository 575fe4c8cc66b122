"""What breaks a rule, and what does not."""

from __future__ import annotations

import pytest
from configuration_trees import Broken

HEAD = "from __future__ import annotations\nimport os\nfrom dataclasses import dataclass, field\n"
READER = "def f(x):\n    x.a, x.b, x.c\n"


def tree(body: str, **others: str) -> dict[str, str]:
    files = {"app/config.py": HEAD + body, "app/reader.py": READER}
    return files | {f"app/{name}.py": text for name, text in others.items()}


ROOT = "@dataclass\nclass Root:\n    a: int = 1\n"


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("@dataclass\nclass Other:\n    b: int = 1\n", ["Other"]),
        ("class Other(BaseModel):\n    b: int = 1\n", ["Other"]),
        ("class Other:\n    b: int = 1\n", []),
        ("class Other(Enum):\n    B = 1\n", []),
        ("class Other(NamedTuple):\n    b: int = 1\n", []),
        ("@dataclass\nclass Other(Root):\n    b: int = 1\n", []),
    ],
)
def test_unowned_classes(broken: Broken, other: str, found: list[str]) -> None:
    assert broken(tree(ROOT + other)) == [("CFG001", name) for name in found]


def test_an_ancestor_of_an_owned_class_is_owned(broken: Broken) -> None:
    assert (
        broken(tree("@dataclass\nclass Base:\n    b: int = 1\n@dataclass\nclass Root(Base):\n    a: int = 1\n")) == []
    )


def test_classes_are_chosen_by_name(broken: Broken) -> None:
    body = ROOT + "@dataclass\nclass OtherConfig:\n    b: int = 1\n@dataclass\nclass Other:\n    b: int = 1\n"
    assert broken(tree(body), classes=".*Config") == [("CFG001", "OtherConfig")]


@pytest.mark.parametrize(
    "fields",
    [
        'a: int = setting(1, env="X")\n    b: int = setting(2, env="X")',
        'a: int = field(metadata={"env": ("X", "Y")})\n    b: int = field(metadata={"env": "X"})',
        'a: Annotated[int, Field(env="X")] = 1\n    b: int = Field(2, env="X")',
        'a: int = int(os.getenv("X", "1"))\n    b: int = field(default_factory=lambda: os.environ["X"])',
        'a: int = 1\n    b: int = 1\n    def __post_init__(self):\n        self.a = os.getenv("X")\n'
        '        self.b = int(\n            os.environ.get("X"))',
    ],
)
def test_one_variable_for_two_fields(broken: Broken, fields: str) -> None:
    assert broken(tree(f"@dataclass\nclass Root:\n    {fields}\n")) == [
        ("CFG002", "X: Root.a"),
        ("CFG002", "X: Root.b"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        'a: int = setting(1, env="X")\n    b: int = setting(2, env="Y")',
        'a: int = setting(1, env=("X", "Y"))\n    b: int = 1',
        'a: int = setting(1, help="X")\n    b: int = setting(2, help="X")',
    ],
)
def test_a_variable_of_its_own(broken: Broken, fields: str) -> None:
    assert broken(tree(f"@dataclass\nclass Root:\n    {fields}\n")) == []


def test_two_settings_classes_that_read_the_same_variable(broken: Broken) -> None:
    body = (
        'class Part(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix="app_")\n    a: int = 1\n'
        'class Root(BaseSettings):\n    part: Part\n    class Config:\n        env_prefix = "APP_"\n    a: int = 1\n'
    )
    assert broken(tree(body)) == [("CFG002", "APP_A: Part.a"), ("CFG002", "APP_A: Root.a")]


TABLE = 'VARIABLES = (\n    Variable(name="X", owner="a", parser="integer"),\n    Variable(name="X", owner="{}"),\n)\n'


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (TABLE.format("b"), [("CFG002", "X: Root.a"), ("CFG002", "X: Root.b")]),
        (TABLE.format("a"), []),
        (TABLE.format("z"), [("CFG008", "X: z")]),
        ('VARIABLES = {"X": "a", "Y": "Root.b"}\n', []),
        ('VARIABLES: dict[str, str] = {"X": "a", "Y": "y"}\n', [("CFG008", "Y: y")]),
        ('VARIABLES = MappingProxyType({"X": Variable(owner="y")})\n', [("CFG008", "X: y")]),
    ],
)
def test_tables_of_aliases(broken: Broken, table: str, found: list[tuple[str, str]]) -> None:
    files = tree(f"{ROOT}    b: int = 1\n", variables=table)
    assert broken(files, aliases=[{"table": "app.variables.VARIABLES"}]) == found


@pytest.mark.parametrize(
    "use",
    [
        "def f(x):\n    return x.d\n",
        "def f(x):\n    return f'{x.d!r:>{x.e}}'\n",
        "def f(x):\n    return getattr(x, 'd')\n",
        "from operator import attrgetter\nget = attrgetter('d')\n",
        "def f(x):\n    for name in ('c', 'd'):\n        getattr(x, name)\n",
        "from app.config import Root\ndef f(root: Root):\n    return g(**vars(root))\n",
    ],
)
def test_a_field_that_may_be_read(broken: Broken, use: str) -> None:
    assert broken(tree("@dataclass\nclass Root:\n    d: int = 1\n", use=use)) == []


@pytest.mark.parametrize(
    "use",
    [
        "",
        "def f(x):\n    x.d = 1\n",
        "import d.d\nfrom d.d import d\n",
        "import torch as t\nt.d(1)\n",
        "# x.d\n'x.d'\n",
        "from app.config import Root\nfrom dataclasses import asdict\ndef f(root: Root):\n    return asdict(root)\n",
        "from app.config import Root\nRoot(d=1)\n",
    ],
)
def test_a_field_that_nothing_reads(broken: Broken, use: str) -> None:
    assert broken(tree("@dataclass\nclass Root:\n    d: int = 1\n    _e: int = 1\n", use=use)) == [("CFG003", "d")]


@pytest.mark.parametrize(
    "use",
    [
        "def f(root):\n    match root:\n        case Root(d=1):\n            pass\n",
        "def f(root):\n    match root:\n        case [Root(1), *_]:\n            pass\n",
        "def f(root):\n    return '{0.d}'.format(root)\n",
    ],
)
def test_a_pattern_and_a_format_read_fields(broken: Broken, use: str) -> None:
    assert broken(tree("@dataclass\nclass Root:\n    d: int = 1\n", use=f"from app.config import Root\n{use}")) == []


def test_a_tuple_of_named_fields_is_read_by_position_too(broken: Broken) -> None:
    body = "class Pair(NamedTuple):\n    b: int\n@dataclass\nclass Root:\n    a: Pair\n"
    assert broken(tree(body, use="def f(root):\n    (b,) = root.a\n")) == []


def test_only_some_files_count_as_readers(broken: Broken) -> None:
    files = tree("@dataclass\nclass Root:\n    d: int = 1\n") | {"tests/test_d.py": "def test(x):\n    assert x.d\n"}
    assert broken(files) == []
    assert broken(files, readers=("app",)) == [("CFG003", "d")]


def test_an_inherited_field_is_one_field(broken: Broken) -> None:
    body = (
        "@dataclass\nclass Root:\n    a: A\n    b: B\n@dataclass\nclass Base:\n    d: int = 1\n"
        "@dataclass\nclass A(Base):\n    pass\n@dataclass\nclass B(Base):\n    pass\n"
    )
    assert broken(tree(body)) == [("CFG003", "d")]


HASHED = "@dataclass\nclass Root:\n    a: int = 1\n    b: int = 2\n"


@pytest.mark.parametrize(
    ("method", "unhashed"),
    [
        ("return hash((self.a, self.b))", []),
        ("return hash(self.a)", ["b"]),
        ("return digest(asdict(self))", []),
        ("return digest(vars(self))", []),
        ("return digest(self.__dict__)", []),
        ("return digest(self.model_dump())", []),
        ("return digest(factors(self, {'b'}))", []),
        ("return digest([getattr(self, name) for name in names])", []),
        ("return digest([getattr(self, name) for name in ('a',)])", ["b"]),
        ("return digest({name: getattr(self, name) for name in ['a']})", ["b"]),
        ("return digest(vars(self), [getattr(self, name) for name in ('a',)])", []),
        ("return digest({k: v for k, v in asdict(self).items() if k in {'a'}})", ["b"]),
        ("return digest([f.default for f in fields(self) if f.name in ('a',)])", ["b"]),
        ("return digest({k: v for k, v in asdict(self).items() if k not in {'a'}})", []),
        ("return digest({k: v for k, v in asdict(self).items() if k in names})", []),
        ("return digest(self.model_dump_json(include={'a'}))", ["b"]),
        ("return digest(self.model_dump_json(exclude={'a'}))", []),
        ("return digest(self.model_dump_json(include=names))", []),
        ("for name in ('a',):\n            use(getattr(self, name))", ["b"]),
        ("self.b = 3\n        return digest(self.a)", ["b"]),
        ("self.b += self.a\n        return digest(self.b)", []),
        ("self.rest()\n        return digest(self.a)\n    def rest(self):\n        self.b = 4", ["b"]),
        ("return digest(getattr(self, 'a'))", ["b"]),
        ("return digest([self.a, self.rest()])\n    def rest(self):\n        return self.b", []),
        ("return digest(self.a) if isinstance(self, Root) else type(self)", ["b"]),
        ("return 1", ["a", "b"]),
    ],
)
def test_hashes(broken: Broken, method: str, unhashed: list[str]) -> None:
    files = tree(f"{HASHED}    def compute_hash(self):\n        {method}\n")
    assert broken(files) == [("CFG004", name) for name in unhashed]


def test_an_inherited_hash_counts_with_what_it_overrides(broken: Broken) -> None:
    base = "@dataclass\nclass Base:\n    c: int = 1\n    def compute_hash(self):\n        return self.c\n"
    root = "@dataclass\nclass Root(Base):\n    a: int = 1\n    b: int = 1\n"
    assert broken(tree(base + root)) == [("CFG004", "a"), ("CFG004", "b")]
    method = "    def compute_hash(self):\n        return super().compute_hash() + self.a\n"
    assert broken(tree(base + root + method)) == [("CFG004", "b")]


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("b: int = setting(1, diagnostic=True)", {}),
        ('b: int = field(default=1, metadata={"diagnostic": True})', {}),
        ("b: int = setting(1, quiet=True)", {"diagnostic_key": "quiet"}),
        ("b: int = 1", {"diagnostic": ("b",)}),
        ("b: int = 1", {"diagnostic": ("Root.b",)}),
    ],
)
def test_diagnostic_fields_need_no_hash(broken: Broken, field: str, settings: dict[str, object]) -> None:
    body = f"@dataclass\nclass Root:\n    a: int = 1\n    {field}\n    def compute_hash(self):\n        return self.a\n"
    assert broken(tree(body), **settings) == []


def test_other_methods_may_be_the_hash(broken: Broken) -> None:
    files = tree(f"{HASHED}    def __hash__(self):\n        return hash(self.a)\n")
    assert broken(files) == []
    assert broken(files, hash_methods=("__hash__",)) == [("CFG004", "b")]


def test_the_environment_is_read_by_the_owner_only(broken: Broken) -> None:
    body = '@dataclass\nclass Root:\n    a: int = int(os.getenv("X", "1"))\n'
    use = 'import os\ndef f():\n    os.environ["X"] = "1"\n    return os.environ.get("X"), os.getenv("OTHER")\n'
    assert broken(tree(body, use=use)) == [("CFG005", "X")]
    assert broken(tree(body, use=use), environment_owners=("app/use.py",)) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = None\ndef f():\n    global x\n    x = 1\n", ["x"]),
        ("x: Root | None = None\ndef f():\n    global x\n    del x\n", ["x"]),
        ("x = {}\n", ["x"]),
        ("x: set[str] = set()\n", ["x"]),
        ("x = defaultdict(list)\n", ["x"]),
        ("x = [1]\ndef f():\n    x.append(2)\n", ["x"]),
        ("x = {'a': 1}\ndef f():\n    x['b'] = 2\n", ["x"]),
        ("x = {'a': 1}\nclass C:\n    def f(self):\n        del x['a']\n", ["x"]),
        ("x = {'a': 1}\ndef f():\n    return x['a']\n", []),
        ("x = [1]\ndef f():\n    x = []\n    x.append(1)\n", []),
        ("x = [1]\ndef f(x):\n    x.append(1)\n", []),
        ("x = {}\nfor n in range(3):\n    x[n] = n\n", []),
        ("x = []\nx += [1]\n", []),
        ("x = None\ndef f():\n    x = 1\n", []),
        ("__all__ = []\n", []),
        ("x = ()\ny = frozenset()\nz = MappingProxyType({})\n", []),
    ],
)
def test_mutable_globals(broken: Broken, code: str, found: list[str]) -> None:
    assert broken(tree(ROOT + code)) == [("CFG006", name) for name in found]


def test_a_resource_has_one_owner(broken: Broken) -> None:
    body = "@dataclass\nclass Part:\n    a: int = 1\n@dataclass\nclass Root:\n    part: Part\n    a: int\n    b: int\n"
    resource = {"name": "the pool", "fields": "a|b", "owner": "part.a"}
    assert broken(tree(body), resources=[resource]) == [("CFG007", "a"), ("CFG007", "b")]


def test_a_file_that_cannot_be_parsed_is_reported(broken: Broken) -> None:
    deep = "(" * 250 + ")" * 250
    files = tree(ROOT, other=f"x = {deep}\n", use=f"from app.config import Root\ny = {deep}\n")
    assert broken(files, packages=("app.config", "app.other")) == [("CFG009", ""), ("CFG009", "")]
