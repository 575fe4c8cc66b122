"""What a trace saw, held against what the selectors would choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from runtime.cli.snapshot.cells import linear_outcome
from runtime.cli.snapshot.document import Snapshot
from runtime.documents import read_document
from runtime.errors import ConfigError
from runtime.formats.weights.declarations import WEIGHT_FORMATS
from runtime.linear.selector import DENSE
from runtime.native.schemas import NAMESPACE, OPERATORS

_GEMV = f"{NAMESPACE}::gemv"
_INPUTS_OF = {"gemv": 0, "gemv_add": 1, "gemv_gated": 0}
"""What runs for `gemv`, by what becomes of the product -> which of its tensors is x [rows, inputs]."""


class Dispatch(NamedTuple):
    """A native operator that ran: its name in the namespace, the shapes of its tensors, and the format of a weight."""

    operator: str
    shapes: tuple[tuple[int, ...], ...]
    form: str | None


class Trace(NamedTuple):
    """What is read of a trace."""

    platform: str
    native: tuple[Dispatch, ...]


class _Machine(Struct):
    platform: str


class _Options(Struct):
    form: str | None = None


class _Operator(Struct):
    name: str
    shapes: list[tuple[int, ...]]
    options: _Options = field(default_factory=_Options)


class _Stored(Struct):
    kind: Literal["observed-dispatch"]
    version: Literal[1]
    machine: _Machine
    operators: list[_Operator]


def read_trace(path: Path) -> Trace:
    """Read what `v100 generate --trace` wrote. Raises ConfigError where the file is something else."""
    remedy = "`v100 generate --trace` writes one"
    stored = read_document(path, _Stored, "observed dispatch in version 1", remedy, ConfigError)
    native = [
        Dispatch(name, tuple(row.shapes), row.options.form)
        for row in stored.operators
        for namespace, _, name in [row.name.partition("::")]
        if namespace == NAMESPACE
    ]
    return Trace(stored.machine.platform, tuple(native))


def disagreements(trace: Trace, planned: Snapshot) -> Iterator[str]:
    """Every dispatch that no cell of the plan for its platform, and no product of its shape, would lead to."""
    predicted = set(predictions(trace.platform, planned))
    for dispatch in dict.fromkeys(trace.native):
        name = f"{NAMESPACE}::{dispatch.operator}"
        planned_name = _GEMV if dispatch.operator in _INPUTS_OF else name
        if all(spec.name != dispatch.operator for spec in OPERATORS):
            yield f"{name} ran, and no such operator is declared"
        elif planned_name not in predicted:
            yield f"{name} ran, and no cell of these categories predicts it on {trace.platform}"
        elif dispatch.operator in _INPUTS_OF:
            yield from _unplanned_product(name, dispatch, trace.platform)


def predictions(platform: str, planned: Snapshot) -> Iterator[str]:
    """The operators that cells of a platform are planned to run."""
    for cells in planned.values():
        for cell, outcome in cells.items():
            if f"platform={platform}" in cell.split(" "):
                yield from outcome.runs


def _unplanned_product(name: str, dispatch: Dispatch, platform: str) -> Iterator[str]:
    shape = next(iter(dispatch.shapes[_INPUTS_OF[dispatch.operator] :]), ())
    if len(shape) != 2:
        yield f"{name} ran with the shapes {list(map(list, dispatch.shapes))}, which no product has"
        return
    rows, inputs = shape
    asked: Mapping[str, Any] = {"platform": platform, "rows": rows, "inputs": inputs}
    # Older traces do not say which format a weight has, and providers ask only whether it is packed.
    forms = (DENSE, WEIGHT_FORMATS[0].name) if dispatch.form is None else (dispatch.form,)
    outcomes = [linear_outcome({**asked, "format": form}) for form in forms]
    if not any(_GEMV in outcome.runs for outcome in outcomes):
        yield f"{name} ran with {rows} rows of {inputs} inputs, which the selector gives to another provider"
