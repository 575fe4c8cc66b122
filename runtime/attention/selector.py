"""Choosing a route: the first declared one that admits the call, and why each one before it did not."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.attention.declarations import OBSERVERS, ROUTE_SPECS, LayerShape, RouteSpec, Stage
from runtime.errors import RouteError, meant

AUTO = "auto"
NOT_BUILT = "declared, kernel not built yet"


@dataclass(frozen=True, slots=True)
class RouteContext:
    """A call that needs a route.

    Attributes:
        stage: what its rows are.
        codec: name of the cache's codec.
        shape: of the layer.
        block_size: tokens in a block of the cache.
        query_lens: rows of each request; empty while no call exists, which skips the checks of rows.
        dtype: the compute dtype, by name, such as "float16".
        platform: name of the platform.
        missing: what routes may require and is not there, each with the reason.
    """

    stage: Stage
    codec: str
    shape: LayerShape
    block_size: int
    query_lens: tuple[int, ...]
    dtype: str
    platform: str
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The route that takes a call, and the reason why every candidate before it did not.

    `refusals` holds (route name, reason) in order of preference, for the routes that serve the call's stage.
    """

    route: RouteSpec
    refusals: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one route for a call: chosen, refused, or admitted behind a better one."""

    route: RouteSpec
    verdict: Literal["chosen", "refused", "not needed"]
    reason: str


def route_reason(spec: RouteSpec, context: RouteContext) -> str | None:
    """The first reason why a route cannot take a call, or None where it can."""
    return next(_reasons(spec, context), None)


@functools.lru_cache(maxsize=512)
def select(context: RouteContext, forced: str = AUTO) -> Choice:
    """The route for a call.

    Args:
        context: the call.
        forced: a route's name, which binds the stages that the route serves and no other; "auto" binds none.

    Raises:
        RouteError: `forced` is not a declared route, or cannot take the call, or no route can.
    """
    if forced != AUTO:
        spec = find_route(forced)
        if serves(spec, context.stage):
            require(spec, context)
            return Choice(spec, ())
    refusals: list[tuple[str, str]] = []
    for spec in ROUTE_SPECS:
        if not serves(spec, context.stage):
            continue
        reason = route_reason(spec, context)
        if reason is None:
            return Choice(spec, tuple(refusals))
        refusals.append((spec.name, reason))
    tried = "; ".join(f"{name}: {reason}" for name, reason in refusals)
    raise RouteError(f"no attention route takes this {context.stage} call: {tried}")


def require(spec: RouteSpec, context: RouteContext) -> None:
    """Check that a forced route can take a call. Raises RouteError with the reason where it cannot."""
    reason = route_reason(spec, context)
    if reason is not None:
        raise RouteError(
            f"attention.route: {spec.name!r} was forced and cannot take this {context.stage} call: {reason}; "
            f"choose another route, or {AUTO!r}"
        )


def explain(context: RouteContext, forced: str = AUTO) -> list[Explanation]:
    """Every declared route in order of preference, with what became of it for a call. Raises RouteError as `select`."""
    chosen = select(context, forced).route
    return [_explained(spec, chosen, context) for spec in ROUTE_SPECS]


def find_route(name: str) -> RouteSpec:
    """The declared route of that name. Raises RouteError with the names that are near it."""
    for spec in ROUTE_SPECS:
        if spec.name == name:
            return spec
    if name in OBSERVERS:
        raise RouteError(f"attention.route: {name!r} is an observer, a counter that no call can take")
    names = [spec.name for spec in ROUTE_SPECS]
    hint = meant(name, names, f"declared: {', '.join(names)}")
    raise RouteError(f"attention.route: no route is called {name!r}; {hint}")


def serves(spec: RouteSpec, stage: Stage) -> bool:
    """Whether a route is a candidate for a stage."""
    return spec.stage in ("any", stage)


def table_problems(specs: Sequence[RouteSpec], observers: Sequence[str]) -> list[str]:
    """What is wrong with a table of routes, one sentence each; an empty list is a sound table.

    A fallback must be declared later than the route that falls back to it, so that no cycle can exist, and every chain
    must end in a built route that takes any stage.
    """
    problems = []
    places = {spec.name: place for place, spec in enumerate(specs)}
    if len(places) < len(specs):
        problems.append("two routes share a name")
    for place, spec in enumerate(specs):
        if spec.name in observers:
            problems.append(f"{spec.name} is the name of an observer too")
        if spec.observer is not None and spec.observer not in observers:
            problems.append(f"{spec.name} counts in {spec.observer}, which is not a declared observer")
        if spec.fallback is None:
            if spec.stage != "any" or not spec.implemented:
                problems.append(f"{spec.name} has no fallback and is not a built route of stage any")
        elif spec.fallback not in places:
            problems.append(f"{spec.name} falls back to {spec.fallback}, which is not declared")
        elif places[spec.fallback] <= place:
            problems.append(f"{spec.name} falls back to {spec.fallback}, which is not declared after it")
        elif specs[places[spec.fallback]].stage not in ("any", spec.stage):
            problems.append(f"{spec.name} falls back to {spec.fallback}, which serves another stage")
    return problems


def _explained(spec: RouteSpec, chosen: RouteSpec, context: RouteContext) -> Explanation:
    if spec is chosen:
        return Explanation(spec, "chosen", "")
    reason = route_reason(spec, context)
    if reason is None:
        return Explanation(spec, "not needed", f"{chosen.name} is preferred")
    return Explanation(spec, "refused", reason)


def _reasons(spec: RouteSpec, context: RouteContext) -> Iterator[str]:
    """Every reason why a route cannot take a call, the one that a user can do least about first."""
    shape, rows = context.shape, context.query_lens
    if not serves(spec, context.stage):
        yield f"serves {spec.stage}, not {context.stage}"
    if spec.platforms and context.platform not in spec.platforms:
        yield f"runs on {_either(spec.platforms)}, not on {context.platform}"
    if spec.dtypes and context.dtype not in spec.dtypes:
        yield f"computes in {_either(spec.dtypes)}, not in {context.dtype}"
    if spec.codecs and context.codec not in spec.codecs:
        yield f"reads {_either(spec.codecs)}, not {context.codec}"
    if spec.head_dims and shape.head_dim not in spec.head_dims:
        yield f"takes heads of {_either(spec.head_dims)}, not of {shape.head_dim}"
    if spec.gqa_ratios and shape.gqa_ratio not in spec.gqa_ratios:
        yield f"takes {_either(spec.gqa_ratios)} query heads to a key head, not {shape.gqa_ratio}"
    if context.block_size % spec.block_alignment:
        yield f"needs a block size that is a multiple of {spec.block_alignment}, not {context.block_size}"
    if shape.window is not None and not spec.window:
        yield "cannot apply a sliding window"
    if shape.softcap is not None and not spec.softcap:
        yield "cannot apply a soft cap"
    if spec.max_query is not None and rows and max(rows) > spec.max_query:
        yield f"takes at most {spec.max_query} rows of a request, not {max(rows)}"
    fringe = next((length for length in rows if length % spec.query_alignment), None)
    if fringe is not None:
        yield f"takes rows by {spec.query_alignment}, and a request has {fringe}"
    for requirement, reason in context.missing:
        if requirement in spec.requires:
            yield f"needs {requirement}: {reason}"
    if not spec.implemented:
        yield NOT_BUILT


def _either(values: Sequence[object]) -> str:
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}" if others else last
