"""What a snapshot asks of the selectors: calls by category, and what becomes of each. Needs no GPU, no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple, cast, get_args

from runtime.attention.declarations import LayerShape, Stage
from runtime.attention.selector import ROUTES, RouteContext
from runtime.candidates import Missing
from runtime.errors import RouteError
from runtime.formats.kv.declarations import KV_CODECS
from runtime.formats.weights.declarations import WEIGHT_FORMATS, WeightFormatSpec, admission, weight_format
from runtime.linear.declarations import LINEAR_SPECS
from runtime.linear.selector import DENSE, PROVIDERS, LinearPlan
from runtime.native.schemas import NAMESPACE
from runtime.platforms.protocol import declared

Cell = Mapping[str, object]
"""Axis -> value. A tuple stands for the rows of each request, or for all that is missing."""

FAMILIES = tuple(dict.fromkeys(spec.family for spec in WEIGHT_FORMATS))
CATEGORIES = ("attention", "kv", "linear", *FAMILIES)


class Outcome(NamedTuple):
    """What becomes of a call.

    `route` takes it, None where nothing may; `refused` are (name, reason) of what was asked before; `runs` are the
    operators that are declared for the route.
    """

    route: str | None
    refused: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()


def outcomes(category: str) -> dict[str, Outcome]:
    """The outcome of every call of a category, by the name of its cell."""
    ask, matrices = _asked(category)
    return {cell_name(cell): ask(cell) for axes in matrices for cell in _cells(axes)}


def cell_name(cell: Cell) -> str:
    """`stage=decode codec=fp16 rows=[1, 16]`, as `gates routes snapshot` names the cells of its plan."""
    return " ".join(f"{axis}={value_text(value)}" for axis, value in cell.items())


def value_text(value: object) -> str:
    """A value of an axis, as JSON writes it but for the quotes of a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def attention_outcome(cell: Cell) -> Outcome:
    """The route of an attention call. Axes that a cell lacks have the values of an ordinary call."""
    ratio, head_dim = cast(int, cell.get("gqa_ratio", 4)), cast(int, cell.get("head_dim", 128))
    window, softcap = (512 if cell.get("window") else None), (50.0 if cell.get("softcap") else None)
    rows = cell.get("rows", ())
    context = RouteContext(
        stage=cast(Stage, cell["stage"]),
        codec=str(cell["codec"]),
        shape=LayerShape(ratio, 1, head_dim, head_dim**-0.5, window, softcap),
        block_size=cast(int, cell.get("block_size", 16)),
        query_lens=cast("tuple[int, ...]", rows if isinstance(rows, tuple) else (rows,)),
        dtype=str(cell.get("dtype", "float16")),
        platform=str(cell["platform"]),
        missing=_missing(cast("tuple[str, ...]", cell.get("missing", ()))),
    )
    try:
        choice = ROUTES.select(context)
    except RouteError as error:
        return Outcome(None, (("selector", str(error)),))
    operator = choice.spec.operator
    return Outcome(choice.spec.name, choice.refusals, () if operator is None else (f"{NAMESPACE}::{operator}",))


def linear_outcome(cell: Cell) -> Outcome:
    """The provider of a product. Axes that a cell lacks have the values of an ordinary product."""
    packages = {package: None for spec in LINEAR_SPECS for package in spec.requires}
    plan = LinearPlan(
        rows=cast(int, cell["rows"]),
        inputs=cast(int, cell.get("inputs", 4096)),
        outputs=cast(int, cell.get("outputs", 4096)),
        format=str(cell.get("format", DENSE)),
        dtype=str(cell.get("dtype", "float16")),
        platform=str(cell["platform"]),
        missing=() if cell.get("packages", True) else _missing(packages),
    )
    choice = PROVIDERS.select(plan)
    return Outcome(choice.spec.name, choice.refusals, choice.spec.operators)


def _missing(names: Iterable[str]) -> Missing:
    return tuple((name, "not here") for name in names)


def _packed_outcome(cell: Cell) -> Outcome:
    """The provider of a product with a packed weight, or why no such weight can be."""
    spec = weight_format(str(cell["format"]))
    shape = cast(int, cell["outputs"]), cast(int, cell["inputs"])
    refusal = admission(spec, *shape, cast(int, cell["group_size"]))
    return linear_outcome(cell) if refusal is None else Outcome(None, ((spec.name, refusal),))


def _kv_outcome(cell: Cell) -> Outcome:
    """The route of an attention call, or why its platform does not run the codec."""
    support = declared(str(cell["platform"])).supports(str(cell["codec"]))
    return attention_outcome(cell) if support else Outcome(None, ((str(cell["codec"]), support.reason),))


def _asked(category: str) -> tuple[Callable[[Cell], Outcome], tuple[Mapping[str, tuple[object, ...]], ...]]:
    """What is asked for a category: for each matrix, every combination of the values of its axes."""
    stages: tuple[object, ...] = get_args(Stage)
    platforms = ("sm70", "cpu", "cuda")
    match category:
        case "attention":
            shapes: dict[str, tuple[object, ...]] = {"stage": stages, "platform": platforms}
            numbers = {"codec": ("fp16",), "head_dim": (64, 96, 128, 256), "gqa_ratio": (1, 4, 8, 9)}
            rows = {"rows": ((), 1, 16, 17, (16, 17))}
            blocks = {"codec": ("fp16",), "block_size": (8, 16), "window": (False, True), "softcap": (False, True)}
            absent = {"codec": ("fp16",), "missing": (("native",), ("native", "triton")), "rows": (1, 16)}
            return attention_outcome, ({**shapes, **numbers, **rows}, {**shapes, **blocks}, {**shapes, **absent})
        case "kv":
            codecs = tuple(spec.name for spec in KV_CODECS)
            return _kv_outcome, ({"stage": stages, "platform": platforms, "codec": codecs, "rows": (1, 16)},)
        case "linear":
            asked = {"dtype": ("float16", "float32"), "rows": (0, 1, 8, 9, 512), "inputs": (4096, 4100)}
            return linear_outcome, ({"platform": platforms, **asked, "packages": (True, False)},)
        case _:
            formats = [spec for spec in WEIGHT_FORMATS if spec.family == category]
            return _packed_outcome, tuple(_packed_axes(spec) for spec in formats)


def _packed_axes(spec: WeightFormatSpec) -> Mapping[str, tuple[object, ...]]:
    """Rows on both sides of the limits; an admitted shape and one beside it; groups likewise; packages or none."""
    return {
        "format": (spec.name,),
        "platform": ("sm70", "cpu"),
        "rows": (0, 1, 8, 9),
        "outputs": (4096,),
        "inputs": (4096, 4100),
        "group_size": (spec.group_sizes[0], 48),
        "packages": (True, False),
    }


def _cells(axes: Mapping[str, tuple[object, ...]]) -> Iterator[Cell]:
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))
