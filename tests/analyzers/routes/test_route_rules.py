"""RTE001 to RTE104, case by case. tests/gates/test_every_rule_can_fail.py has the plain case of each."""

from __future__ import annotations

from typing import Any

import pytest
from route_trees import Judge

RECORD = """from dataclasses import dataclass

@dataclass(frozen=True)
class Route:
    name: str
    stage: str = "any"
    codecs: tuple = ()
    align: int = 1
    built: bool = True
    fallback: object = None

"""
TABLE: dict[str, Any] = {"name": "t", "symbol": "m.ROUTES", "stage": "stage"}
CONDITIONS = [
    {"field": "stage", "test": "one-of", "wildcard": "any"},
    {"field": "codecs", "test": "one-of"},
    {"field": "align", "test": "multiple-of"},
    {"field": "built", "test": "required"},
]


def found(judge: Judge, routes: str, files: dict[str, str] | None = None, **table: Any) -> list[tuple[str, int, str]]:
    findings = judge({"m.py": f"{RECORD}ROUTES = (\n{routes}\n)\n", **(files or {})}, tables=[{**TABLE, **table}])
    return [(finding.rule, finding.line - 12, finding.message) for finding in findings]


def rules(judge: Judge, routes: str, files: dict[str, str] | None = None, **table: Any) -> list[str]:
    return [rule for rule, _, _ in found(judge, routes, files, **table)]


def test_a_symbol_that_stands_twice_is_told_once(judge: Judge) -> None:
    text = f"{RECORD}A = Route('a')\nROUTES = (A, A)\n"
    (finding,) = judge({"m.py": text}, tables=[TABLE])

    assert (finding.rule, finding.message) == ("RTE003", "`A` stands twice in the table t")


def test_a_key_that_stands_twice(judge: Judge) -> None:
    table = {"name": "t", "symbol": "m.ROUTES", "shape": "mapping", "keys": ["a", "b"], "columns": ["v"]}
    (finding,) = judge({"m.py": "ROUTES = {'x': {'y': 1},\n ('x', 'y'): 2}\n"}, tables=[table])

    assert (finding.rule, finding.line, finding.message) == (
        "RTE003",
        2,
        "the route `x/y` is declared twice in the table t; first in line 1",
    )


def test_the_same_options_twice_in_a_row(judge: Judge) -> None:
    text = f"{RECORD}ROUTES = (('a', 'x', {{'align': 1, 'aling': 2, 'align': 3}}),)\n"
    findings = judge({"m.py": text}, tables=[{**TABLE, "shape": "rows", "record": "m.Route"}])

    assert [(finding.rule, finding.subject, finding.hint) for finding in findings] == [
        ("RTE002", "Route: unknown aling", "Did you mean `align`?"),
        ("RTE002", "Route: doubled align", "It has name, stage, codecs, align, built, fallback."),
    ]


USES = {"m2.py": "def f(flag, name):\n    take('a' if flag else 'bb')\n", "run.py": "KERNELS = {'a': run, 'b': run}\n"}


def test_routes_that_code_names(judge: Judge) -> None:
    routes = "Route('a'),\nRoute('b'),"

    assert found(judge, routes, USES, calls={"take": 0}, executors=["run.KERNELS"]) == [
        ("RTE004", -10, "`take` names the route `bb`, which t does not declare")
    ]


def test_routes_that_nothing_runs(judge: Judge) -> None:
    routes = "Route('a'),\nRoute('b'),\nRoute('c'),\nRoute('d', built=False),"

    told = found(judge, routes, USES, executors=["run.KERNELS"], conditions=CONDITIONS[3:], ordered=False)

    assert told == [("RTE005", 3, "nothing runs the route `c` of t")]


def test_what_could_not_be_read_is_not_missing(judge: Judge) -> None:
    routes = "Route('a', 'x'),\nmake('b'),"

    assert rules(judge, routes, USES, executors=["run.KERNELS"], conditions=CONDITIONS) == ["RTE001"]


def test_an_unknown_name_at_some_call_excuses_what_seems_unused(judge: Judge) -> None:
    files = {"m2.py": "take('a')\ntake(name)\n"}

    assert rules(judge, "Route('a'),\nRoute('b'),", {"m2.py": "take('a')\n"}, calls={"take": 0}) == ["RTE005"]
    assert rules(judge, "Route('a'),\nRoute('b'),", files, calls={"take": 0}) == []


@pytest.mark.parametrize(
    "vocabulary",
    ["('fp16', 'bf16')", "{'fp16': 1, 'bf16': 2}", "frozenset(('fp16',)) | {'bf16'}", "(C('fp16'), C('bf16'))"],
)
def test_vocabularies(judge: Judge, vocabulary: str) -> None:
    codecs = "from dataclasses import dataclass\n@dataclass\nclass C:\n    name: str\n"
    files = {"codecs.py": f"{codecs}CODECS = {vocabulary}\n"}
    routes = "Route('a', codecs=('fp16', 'bf61')),\nRoute('b'),"

    assert found(judge, routes, files, vocabularies={"codecs": "codecs.CODECS"}) == [
        ("RTE006", 1, "`a` has `bf61` in `codecs`, which codecs.CODECS does not declare")
    ]


@pytest.mark.parametrize(
    ("routes", "messages"),
    [
        ("Route('a', 'x', fallback='b'),\nRoute('b'),", []),
        ("Route('a', 'x', fallback='b'),\nRoute('b', 'x'),", []),
        ("Route('a', 'x', fallback='b'),\nRoute('b', 'y'),", ["`a` serves x, and its fallback `b` does not"]),
        (
            "Route('a', fallback='b'),\nRoute('b', fallback='a'),",
            ["the fallbacks of `a` go in a circle: a -> b -> a", "the fallbacks of `b` go in a circle: b -> a -> b"],
        ),
        ("Route('a', fallback='c'),\nRoute('b'),", ["`a` falls back to `c`, which t does not declare"]),
        (
            "Route('a', 'x', ('fp16',)),\nRoute('b', 'y'),",
            ["the stage `x` of t has no route that takes every call: `codecs` of `a` can refuse one"],
        ),
        ("Route('a', 'x'),\nRoute('b', built=False),", []),
        (
            "Route('a', 'x', built=False),",
            ["the stage `x` of t has no route that takes every call: `built` of `a` can refuse one"],
        ),
    ],
)
def test_fallbacks_that_name_a_route(judge: Judge, routes: str, messages: list[str]) -> None:
    told = found(judge, routes, fallback="fallback", conditions=CONDITIONS)

    assert [message for rule, _, message in told if rule != "RTE008"] == messages


def test_a_name_that_two_stages_have_leaves_both_of_them_judged(judge: Judge) -> None:
    routes = "Route('a', 'x', ('fp16',)),\nRoute('a', 'y'),"

    assert rules(judge, routes, fallback="fallback", conditions=CONDITIONS) == ["RTE003", "RTE007"]


def test_a_fallback_may_list_all_that_is_declared(judge: Judge) -> None:
    files = {"codecs.py": "CODECS = ('fp16', 'fp8')\n"}
    settings = {"vocabularies": {"codecs": "codecs.CODECS"}, "fallback": "fallback", "conditions": CONDITIONS}

    assert rules(judge, "Route('a', 'x', ('fp8', 'fp16')),", files, **settings) == []
    assert rules(judge, "Route('a', 'x', ('fp8',)),", files, **settings) == ["RTE007"]


@pytest.mark.parametrize(
    ("routes", "broken"),
    [
        ("Route('a', 'x', fallback=True),\nRoute('b', 'y'),", ["y"]),
        ("Route('a', 'x'),\nRoute('b', 'y'),\nRoute('c', fallback=True),", []),
        ("Route('a', 'x', fallback=False),", ["x"]),
    ],
)
def test_fallbacks_that_are_marked(judge: Judge, routes: str, broken: list[str]) -> None:
    told = found(judge, routes, fallback="fallback", conditions=CONDITIONS[:1])

    assert [message for rule, _, message in told if rule == "RTE007"] == [
        f"the stage `{stage}` of t has no route in which `fallback` is true" for stage in broken
    ]


@pytest.mark.parametrize(
    ("routes", "shadowed"),
    [
        ("Route('a'),\nRoute('b', 'x'),", ["b"]),
        ("Route('a', 'x'),\nRoute('b'),", []),
        ("Route('a', codecs=('p', 'q')),\nRoute('b', codecs=('q',)),", ["b"]),
        ("Route('a', codecs=('p', 'q')),\nRoute('b', codecs=('q', 'r')),", []),
        ("Route('a', align=8),\nRoute('b', align=16),", ["b"]),
        ("Route('a', align=16),\nRoute('b', align=8),", []),
        ("Route('a', built=False),\nRoute('b', 'x'),", []),
        ("Route('a'),\nRoute('b', 'x', built=False),", ["b"]),
        ("Route('a', 'x'),\nRoute('b', 'y'),", []),
    ],
)
def test_routes_that_never_run(judge: Judge, routes: str, shadowed: list[str]) -> None:
    told = found(judge, routes, conditions=CONDITIONS)

    assert [message.split("`")[1] for rule, _, message in told if rule == "RTE008"] == shadowed
    assert "RTE008" not in rules(judge, routes, conditions=CONDITIONS, ordered=False)


NATIVE = {
    "ops.cpp": 'TORCH_LIBRARY(v, m) {\n  m.def("a() -> ()");\n  m.def("b() -> ()");\n'
    '  m.impl("a", torch::kCUDA, &run);\n}\n',
    "ops.py": "import torch\n@torch.library.register_fake('v::a')\ndef f(): ...\nok = hasattr(torch.ops.v, 'a')\n",
}
BOUND = {"name": "t", "symbol": "m.ROUTES", "shape": "mapping", "keys": ["stage"], "columns": ["binding"]}


def test_operators_that_routes_bind(judge: Judge) -> None:
    files = {**NATIVE, "m.py": "ROUTES = {'x': 'a', 'y': 'b', 'z': 'c', 'none': None}\n"}
    findings = judge(files, tables=[{**BOUND, "operators": ["v::{binding}"]}])

    assert [(finding.rule, finding.path, finding.line, finding.message) for finding in findings] == [
        ("RTE101", "m.py", 1, "`z` binds `v::c`, which nothing registers"),
        ("RTE102", "ops.cpp", 3, "the operator `v::b` has no fake implementation"),
        ("RTE103", "ops.cpp", 3, "nothing asks whether the operator `v::b` is there"),
    ]


def test_operators_that_nobody_binds_are_nobody_s_business(judge: Judge) -> None:
    assert judge({**NATIVE, "use.py": "import torch\ntorch.ops.v.gone()\n"}) == []


def test_operators_of_the_tree_s_own_namespaces(judge: Judge) -> None:
    files = {**NATIVE, "use.py": "import torch\ndef f():\n    torch.ops.v.aa()\n    torch.ops.w.aa()\n"}
    findings = judge(files, native={"namespaces": ["v"], "probes": ["has"]})

    assert [(finding.rule, finding.symbol, finding.subject) for finding in findings] == [
        ("RTE101", "f", "v::aa"),
        ("RTE102", "", "v::b"),
        ("RTE103", "", "v::b"),
    ]


def test_a_probe_of_the_tree_s_own(judge: Judge) -> None:
    files = {**NATIVE, "use.py": "ok = native.has('b')\n"}

    assert "RTE103" not in [finding.rule for finding in judge(files, native={"namespaces": ["v"], "probes": ["has"]})]


def test_one_function_under_two_names(judge: Judge) -> None:
    block = 'TORCH_LIBRARY_IMPL(v, {key}, m) {{\n  m.impl("b", &run);\n  m.impl("a", &run);\n}}\n'
    twice = {**NATIVE, "more.cpp": block.format(key="CUDA")}

    def told(files: dict[str, str]) -> list[str]:
        findings = judge(files, native={"namespaces": ["v"]})
        return [finding.message for finding in findings if finding.rule == "RTE104"]

    assert told(twice) == ["`run` implements `v::b`, and `v::a` as well"]
    assert told({**NATIVE, "more.cpp": block.format(key="CPU").replace('"a"', '"b"')}) == []


def test_a_file_that_may_say_something_and_does_not_parse(judge: Judge) -> None:
    findings = judge({"m.py": "torch.ops.v.a(\n"})

    assert [(finding.rule, finding.path) for finding in findings] == [("RTE001", "m.py")]


def test_fields_and_errors_are_told_once_where_two_tables_share_a_record(judge: Judge) -> None:
    text = f"{RECORD}A = Route('a', nme=1)\nB = Route('b', codecs=f())\nROUTES = (A, B)\nMORE = (A, B)\n"
    findings = judge({"m.py": text}, tables=[TABLE, {**TABLE, "name": "u", "symbol": "m.MORE"}])

    assert [finding.rule for finding in findings] == ["RTE002", "RTE001"]
