"""The static plan, its snapshots, and that it says of this runtime's routes what their selector does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from route_trees import ReadTable

from analyzers.declarations.modules import DeclaredModule
from analyzers.declarations.outline_reader import outline_of
from analyzers.declarations.reader import Reader
from analyzers.errors import UserError
from analyzers.routes.plan import Outcome, candidates, cell_name, cells, outcome, plan
from analyzers.routes.snapshot import Expectation, compare, parse, parse_expectations, render
from analyzers.routes.tables import TableReading, read_table
from gates.settings.load import load
from runtime.attention.declarations import LayerShape
from runtime.attention.selector import NOT_BUILT, RouteContext, select
from runtime.errors import RouteError

HOUSE = Path(__file__).parents[3]
FIELDS = {
    "runs on": "platforms",
    "computes in": "dtypes",
    "reads": "codecs",
    "takes heads of": "head_dims",
    "needs a block size": "block_alignment",
    "cannot apply a sliding window": "window",
    "cannot apply a soft cap": "softcap",
    "takes at most": "max_query",
    "takes rows by": "query_alignment",
    NOT_BUILT: "implemented",
}
"""How the selector's reasons start, and the field that each speaks of; what is left speaks of `gqa_ratios`."""


def field_of(reason: str) -> str:
    return next((field for start, field in FIELDS.items() if reason.startswith(start)), "gqa_ratios")


@pytest.fixture(scope="module")
def attention() -> TableReading:
    """The table of this repository, under this repository's settings, on a larger matrix than the committed one."""
    settings = load(HOUSE).settings.routes
    assert settings is not None
    (table,) = (table for table in settings.tables if table.name == "attention")
    matrix = {
        **table.matrix,
        "dtype": ("float16", "float32"),
        "codec": ("fp16", "fp32", "fp8_e5m2"),
        "head_dim": (64, 96, 256),
        "gqa_ratio": (1, 2, 9),
        "block_size": (16, 24),
        "rows": (1, 8, (16, 32), (3, 17)),
        "window": (False, True),
        "softcap": (True,),
    }
    names = {symbol.rpartition(".")[0] for symbol in (table.symbol, *table.executors, *table.vocabularies.values())}
    paths = {name: f"{name.replace('.', '/')}.py" for name in names}
    texts = {name: (HOUSE / path).read_text(encoding="utf-8") for name, path in paths.items()}
    modules = {name: DeclaredModule(name, paths[name], outline_of(text)) for name, text in texts.items()}
    return read_table(Reader(modules, lambda name: False), replace(table, matrix=matrix))


def selected(cell: dict[str, Any]) -> Outcome:
    """What the selector of the runtime does with the call that a cell stands for."""
    rows = cell["rows"]
    shape = LayerShape(
        num_heads=cell["gqa_ratio"],
        num_kv_heads=1,
        head_dim=cell["head_dim"],
        scale=1.0,
        window=128 if cell["window"] else None,
        softcap=30.0 if cell["softcap"] else None,
    )
    context = RouteContext(
        cell["stage"],
        cell["codec"],
        shape,
        cell["block_size"],
        rows if isinstance(rows, tuple) else (rows,),
        cell["dtype"],
        cell["platform"],
    )
    try:
        choice = select(context)
    except RouteError:
        return Outcome(None, ())
    return Outcome(choice.spec.name, tuple((name, field_of(reason)) for name, reason in choice.refusals))


def test_the_plan_of_this_runtime_is_what_its_selector_does(attention: TableReading) -> None:
    planned = [(cell_name(cell), outcome(attention, cell)) for cell in cells(attention.policy.matrix)]

    assert len(planned) > 3_000
    assert planned == [(cell_name(cell), selected(dict(cell))) for cell in cells(attention.policy.matrix)]


def test_the_plan_would_differ_if_a_route_were_not_built(attention: TableReading) -> None:
    cell = {"stage": "decode", "platform": "sm70", "dtype": "float16", "codec": "fp16", "head_dim": 64}
    route = next(iter(candidates(attention, cell)))
    planned = replace(route, fields={**route.fields, "implemented": False})
    other = TableReading(attention.policy, [planned, *attention.routes[1:]])
    call = {**cell, "gqa_ratio": 2, "block_size": 16}

    assert outcome(attention, call).route == route.name
    assert (route.name, "implemented") in outcome(other, call).refused


ROUTES = """from typing import NamedTuple

class Route(NamedTuple):
    name: str
    codecs: tuple = ()

ROUTES = (Route("flash", ("fp16",)), Route("rest", ("fp16", "bf16")))
"""
SETTINGS: dict[str, Any] = {
    "conditions": [{"field": "codecs", "test": "one-of", "axis": "codec"}],
    "matrix": {"codec": ["fp16", "bf16", "fp8"], "rows": [1, [1, 2]], "window": [True]},
}
FP16, BF16, FP8 = (f"codec={codec} rows=1 window=true" for codec in ("fp16", "bf16", "fp8"))


@pytest.fixture
def plans(read: ReadTable) -> dict[str, dict[str, Outcome]]:
    return {"t": plan(read(ROUTES, **SETTINGS))}


def test_the_first_route_that_takes_a_call_gets_it(plans: dict[str, dict[str, Outcome]]) -> None:
    assert len(plans["t"]) == 6
    assert plans["t"][FP16] == Outcome("flash", ())
    assert plans["t"][BF16] == Outcome("rest", (("flash", "codecs"),))
    assert plans["t"][FP8] == Outcome(None, (("flash", "codecs"), ("rest", "codecs")))


def test_a_snapshot_is_the_plan_again(plans: dict[str, dict[str, Outcome]]) -> None:
    text = render(plans)

    assert parse(text, "f") == plans
    assert json.loads(text)["kind"] == "static-plan"
    assert len(text.splitlines()) == 6 + 8


def test_changes_are_compared_with_what_was_announced(plans: dict[str, dict[str, Outcome]]) -> None:
    now = {"t": {cell: Outcome("rest", ()) if "fp16" in cell else was for cell, was in plans["t"].items()}}
    announced = Expectation("t", {"codec": "fp16"}, "flash", "rest")
    one_row = Expectation("t", {"codec": "fp16", "rows": "[1, 2]"}, "flash", "rest")
    wrong = Expectation("t", {"codec": "fp16"}, "rest", "flash")

    assert compare(plans, plans, []) == ([], [], [])
    assert [change.cell for change in compare(plans, now, []).unexpected] == [FP16, FP16.replace("1 w", "[1, 2] w")]
    assert compare(plans, now, [announced]).unexpected == []
    assert [change.cell for change in compare(plans, now, [one_row]).unexpected] == [FP16]
    assert compare(plans, now, [announced, wrong]).idle == [wrong]
    assert compare(plans, plans, [announced]).idle == [announced]


def test_cells_that_come_and_go_are_changes(plans: dict[str, dict[str, Outcome]]) -> None:
    fewer = {"t": {cell: was for cell, was in plans["t"].items() if cell != FP8}}

    (gone,) = compare(plans, fewer, []).unexpected
    assert (gone.was is not None, gone.now) == (True, None)
    (come,) = compare(fewer, plans, []).unexpected
    assert (come.was, come.now is not None) == (None, True)
    assert compare(plans, fewer, [Expectation("t", {"codec": "fp8"}, None, None)]).unexpected == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 2, "kind": "static-plan", "tables": {}}',
        '{"version": true, "kind": "static-plan", "tables": {}}',
        "[" * 99_999,
    ],
)
def test_what_is_no_snapshot_is_one_clear_error(text: str) -> None:
    with pytest.raises(UserError, match=r"^plan\.json: "):
        parse(text, "plan.json")


@pytest.mark.parametrize(
    "tables",
    ["[]", '{"t": []}', '{"t": {"c": 1}}', '{"t": {"c": {"route": "a", "refused": 1}}}', '{"t": {"c": {"route": 5}}}'],
)
def test_what_is_no_table_of_a_snapshot_is_one_clear_error(tables: str) -> None:
    with pytest.raises(UserError, match=r"^plan\.json: "):
        parse(f'{{"version": 1, "kind": "static-plan", "tables": {tables}}}', "plan.json")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "1",
        "[1]",
        '[{"table": "t"}]',
        '[{"table": "t", "where": {}, "was": 1, "now": null}]',
        '[{"table": "t", "where": {}, "was": null, "now": null, "stage": "decode"}]',
    ],
)
def test_what_announces_nothing_is_one_clear_error(text: str) -> None:
    with pytest.raises(UserError, match=r"^f: "):
        parse_expectations(text, "f")
