"""What a trace saw, held against what the selectors would choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from runtime.cli.snapshot.cells import linear_outcome
from runtime.cli.snapshot.document import Snapshot, read_json
from runtime.errors import ConfigError
from runtime.formats.weights.declarations import WEIGHT_FORMATS
from runtime.linear.selector import DENSE
from runtime.native.schemas import NAMESPACE, OPERATORS

_GEMV = f"{NAMESPACE}::gemv"
_INPUTS_OF = {"gemv": 0, "gemv_add": 1, "gemv_gated": 0}
"""What runs for `gemv`, by what becomes of the product -> which of its tensors is x [rows, inputs]."""


class Dispatch(NamedTuple):
    """A native operator that ran: its name in the namespace, and the shapes of its tensors."""

    operator: str
    shapes: tuple[tuple[int, ...], ...]


class Trace(NamedTuple):
    """What is read of a trace."""

    platform: str
    native: tuple[Dispatch, ...]


def read_trace(path: Path) -> Trace:
    """Read what `v100 generate --trace` wrote. Raises ConfigError where the file is something else."""
    stored = read_json(path)
    try:
        if (stored["kind"], stored["version"]) != ("observed-dispatch", 1):
            raise KeyError("kind")
        rows = [(row["name"].partition("::"), row["shapes"]) for row in stored["operators"]]
        native = [Dispatch(name[2], tuple(map(tuple, shapes))) for name, shapes in rows if name[0] == NAMESPACE]
        return Trace(stored["machine"]["platform"], tuple(native))
    except (AttributeError, KeyError, TypeError):
        raise ConfigError(f"{path}: no observed dispatch in version 1; `v100 generate --trace` writes one") from None


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
        elif dispatch.operator in _INPUTS_OF and not _predicted_product(dispatch, trace.platform):
            rows, inputs = dispatch.shapes[_INPUTS_OF[dispatch.operator]]
            yield f"{name} ran with {rows} rows of {inputs} inputs, which the selector gives to another provider"


def predictions(platform: str, planned: Snapshot) -> Iterator[str]:
    """The operators that cells of a platform are planned to run."""
    for cells in planned.values():
        for cell, outcome in cells.items():
            if f"platform={platform}" in cell.split(" "):
                yield from outcome.runs


def _predicted_product(dispatch: Dispatch, platform: str) -> bool:
    rows, inputs = dispatch.shapes[_INPUTS_OF[dispatch.operator]]
    asked: Mapping[str, Any] = {"platform": platform, "rows": rows, "inputs": inputs}
    # A trace does not say which format a weight has, and providers ask only whether it is packed.
    outcomes = [linear_outcome({**asked, "format": form}) for form in (DENSE, WEIGHT_FORMATS[0].name)]
    return any(_GEMV in outcome.runs for outcome in outcomes)
