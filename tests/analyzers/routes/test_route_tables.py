"""Every shape in which a table may be written."""

from __future__ import annotations

from typing import Any

import pytest
from route_trees import ReadTable, reader_of

from analyzers.routes.policy import RouteTable
from analyzers.routes.tables import read_table

RECORD = """from dataclasses import dataclass

@dataclass(frozen=True)
class Route:
    name: str
    stage: str = "any"
    codecs: frozenset = frozenset()
    observer: bool = False

"""


def test_records_in_the_table_itself(read: ReadTable) -> None:
    reading = read(f"{RECORD}ROUTES = (\n    Route('a'),\n    Route('b', 'decode'),\n)\n", stage="stage")

    assert [(route.name, route.text("stage"), route.place.line) for route in reading.routes] == [
        ("a", "any", 11),
        ("b", "decode", 12),
    ]


def test_symbols_each_a_record(read: ReadTable) -> None:
    reading = read(f"{RECORD}A = Route('a')\nB = Route('b')\nROUTES = [A, B]\n")

    assert [(route.name, route.symbol, route.place.line) for route in reading.routes] == [
        ("a", "A", 10),
        ("b", "B", 11),
    ]


def test_a_mapping_to_records(read: ReadTable) -> None:
    assert [route.name for route in read(f"{RECORD}ROUTES = {{'x': Route('a')}}\n").routes] == ["a"]


ROWS = """FP16 = "fp16"
ALL = frozenset((FP16,)) | {"bf16"}

def _build(rows):
    return {name: Route(name, stage, **options) for names, stage, options in rows for name in names.split()}

ROUTES = _build([
    ("a b", "decode", {"codecs": ALL}),
    (("c", "d"), "prefill", {}),
    ("e " "f", "any", {"observer": True}),
])
TABLE = (("a", "decode", {}),)
"""


def test_a_builder_over_rows(read: ReadTable) -> None:
    reading = read(RECORD + ROWS, shape="rows", record="m.Route", stage="stage", observer="observer")

    assert [(route.name, route.text("stage"), route.text("codecs"), route.observer) for route in reading.routes] == [
        ("a", "decode", "bf16, fp16", False),
        ("b", "decode", "bf16, fp16", False),
        ("c", "prefill", "", False),
        ("d", "prefill", "", False),
        ("e", "any", "", True),
        ("f", "any", "", True),
    ]
    assert reading.errors == []


CODECS = """import torch
from dataclasses import dataclass

@dataclass(frozen=True)
class KVCodec:
    name: str
    aliases: tuple
    storage: torch.dtype

FP16 = KVCodec("fp16", ("auto",), torch.float16)
FP8 = KVCodec("fp8_e4m3", (), torch.uint8)
"""
FORK = """from app.codecs import FP16, FP8
from app import codecs

_NATIVE = frozenset((FP16, codecs.FP8))

@dataclass(frozen=True)
class Spec:
    name: str
    stage: str
    codecs: frozenset = _NATIVE
    head_dims: tuple[int, ...] = ()
    fallback: bool = False

ROUTES: dict[str, Spec] = _build_specs(
    [
        ("decode_xqa", "decode", {"head_dims": (256,), "codecs": frozenset((FP8,))}),
        (("decode_scalar " "decode_dense"), "decode", {"fallback": True}),
    ]
)
"""


def test_codecs_of_another_module_that_hold_names_of_torch() -> None:
    reader = reader_of({"m.py": RECORD + FORK, "app/codecs.py": CODECS})
    table = RouteTable(name="t", symbol="m.ROUTES", shape="rows", record="m.Spec", stage="stage")
    reading = read_table(reader, table)

    assert reading.errors == []
    assert [(route.name, route.text("codecs"), route.text("fallback")) for route in reading.routes] == [
        ("decode_xqa", "fp8_e4m3", "False"),
        ("decode_scalar", "fp16, fp8_e4m3", "True"),
        ("decode_dense", "fp16, fp8_e4m3", "True"),
    ]


def test_rows_without_a_builder(read: ReadTable) -> None:
    reading = read(RECORD + ROWS, symbol="m.TABLE", shape="rows", record="m.Route")

    assert [route.name for route in reading.routes] == ["a"]


NESTED = """ROUTES = {
    "w13": {"dense": ("dense_stage", "W13", "offsets", "fp16"), "batched": ("gemm", "W13", "offsets", "grouped")},
    "w2": {"dense": ("dense_stage", "W2", "offsets", "fp16")},
}
"""
KEYED = """ROUTES = {
    ("w13", "dense"): ("dense_stage", "W13", "offsets", "fp16"),
    ("w13", "batched"): ("gemm", "W13", "offsets", "grouped"),
    ("w2", "dense"): ("dense_stage", "W2", "offsets", "fp16"),
}
"""
MAPPING = {"shape": "mapping", "keys": ["stage", "mode"], "columns": ["binding", "covers", "layout", "arithmetic"]}


@pytest.mark.parametrize("text", [NESTED, KEYED])
def test_mappings_nested_and_keyed_by_tuples_say_the_same(read: ReadTable, text: str) -> None:
    reading = read(text, stage="stage", **MAPPING)

    assert [(route.name, route.text("stage"), route.text("binding")) for route in reading.routes] == [
        ("w13/dense", "w13", "dense_stage"),
        ("w13/batched", "w13", "gemm"),
        ("w2/dense", "w2", "dense_stage"),
    ]
    assert reading.stages == ["w13", "w2"]


def test_a_mapping_to_single_values(read: ReadTable) -> None:
    reading = read("ROUTES = {'a': 'x'}\n", shape="mapping", keys=["stage"], columns=["binding"])

    assert dict(reading.routes[0].fields) == {"stage": "a", "binding": "x"}


@pytest.mark.parametrize(
    ("text", "settings", "quoted"),
    [
        (f"{RECORD}ROUTES = (Route('a'), make('b'), Route('c'))\n", {}, "make('b')"),
        (f"{RECORD}ROUTES = (Route('a'), 'b', Route('c'))\n", {}, "'b'"),
        (f"{RECORD}B = 1\nB = 2\nROUTES = (Route('a'), B, Route('c'))\n", {}, "B"),
        (f"{RECORD}ROUTES = (('a', 'x', {{}}), ('b', 'x'), ('c', 'x', {{}}))\n", {"shape": "rows"}, "('b', 'x')"),
        (f"{RECORD}ROUTES = (('a', 'x', {{}}), ('b', 'x', f()), ('c', 'x', {{}}))\n", {"shape": "rows"}, "f()"),
        (f"{RECORD}ROUTES = (('a', 'x', {{}}), ((), 'x', {{}}), ('c', 'x', {{}}))\n", {"shape": "rows"}, "()"),
        ("ROUTES = {('a', 'a'): 1, ('b',): f, ('c', 'c'): 1}\n", {"keys": ["k", "l"], "columns": ["v"]}, "f"),
        (
            "ROUTES = {('a', 'a'): 1, ('b', 'b'): (1, 2), ('c', 'c'): 1}\n",
            {"keys": ["k", "l"], "columns": ["v"]},
            "(1, 2)",
        ),
        (
            "ROUTES = {('a', 'a'): 1, (1, 2, 3): 1, ('c', 'c'): 1}\n",
            {"keys": ["k", "l"], "columns": ["v"]},
            "(1, 2, 3)",
        ),
    ],
)
def test_one_bad_entry_hides_no_other(read: ReadTable, text: str, settings: dict[str, Any], quoted: str) -> None:
    if "keys" in settings:
        settings = {**settings, "shape": "mapping"}
    if settings.get("shape") == "rows":
        settings = {**settings, "record": "m.Route"}
    reading = read(text, **settings)

    assert [route.name[0] for route in reading.routes] == ["a", "c"]
    assert [quoted in str(error) for error in reading.errors] == [True]


@pytest.mark.parametrize("text", ["ROUTES = load()\n", "ROUTES = 1\n", "ROUTES = tuple(x for x in y)\n"])
def test_a_table_that_is_no_data_is_one_error(read: ReadTable, text: str) -> None:
    reading = read(text)

    assert (reading.routes, len(reading.errors)) == ([], 1)
