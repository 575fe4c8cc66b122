"""Choosing a route: the first declared one that admits the call, and why each one before it did not."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.attention.declarations import OBSERVERS, ROUTE_SPECS, LayerShape, RouteSpec, Stage
from runtime.candidates import Candidates, Missing, either, reasons_of_need, reasons_of_place
from runtime.errors import RouteError

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
    missing: Missing = ()


class Routes(Candidates[RouteSpec, RouteContext]):
    """The routes of attention."""

    def serves(self, spec: RouteSpec, call: RouteContext) -> bool:
        return spec.stage in ("any", call.stage)

    def described(self, call: RouteContext) -> str:
        return f"{call.stage} call"

    def find(self, name: str) -> RouteSpec:
        if name in OBSERVERS:
            raise RouteError(f"{self._setting}: {name!r} is an observer, a counter that no call can take")
        return super().find(name)

    def reasons(self, spec: RouteSpec, call: RouteContext) -> Iterator[str]:
        shape, rows = call.shape, call.query_lens
        if not self.serves(spec, call):
            yield f"serves {spec.stage}, not {call.stage}"
        yield from reasons_of_place(spec, call)
        if spec.codecs and call.codec not in spec.codecs:
            yield f"reads {either(spec.codecs)}, not {call.codec}"
        if spec.head_dims and shape.head_dim not in spec.head_dims:
            yield f"takes heads of {either(spec.head_dims)}, not of {shape.head_dim}"
        if spec.gqa_ratios and shape.gqa_ratio not in spec.gqa_ratios:
            yield f"takes {either(spec.gqa_ratios)} query heads to a key head, not {shape.gqa_ratio}"
        if call.block_size % spec.block_alignment:
            yield f"needs a block size that is a multiple of {spec.block_alignment}, not {call.block_size}"
        if shape.window is not None and not spec.window:
            yield "cannot apply a sliding window"
        if shape.softcap is not None and not spec.softcap:
            yield "cannot apply a soft cap"
        if spec.max_query is not None and rows and max(rows) > spec.max_query:
            yield f"takes at most {spec.max_query} rows of a request, not {max(rows)}"
        fringe = next((length for length in rows if length % spec.query_alignment), None)
        if fringe is not None:
            yield f"takes rows by {spec.query_alignment}, and a request has {fringe}"
        yield from reasons_of_need(spec, call)
        if not spec.implemented:
            yield NOT_BUILT


ROUTES = Routes(ROUTE_SPECS, "route", "attention.route")

select = functools.lru_cache(maxsize=512)(ROUTES.select)
"""`ROUTES.select`, for steps that are much like those before them."""
