"""What `v100 explain --linear` says of products with weights. Needs no GPU, and no torch unless a model is named."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from runtime.cli.verdicts import verdict_lines, verdict_rows
from runtime.config import RuntimeConfig
from runtime.formats.weights.declarations import admission, usual_group_size, weight_format
from runtime.linear.selector import DENSE, LinearExplanation, LinearPlan, explain_linear
from runtime.platforms.packages import missing_packages

if TYPE_CHECKING:
    from runtime.models.checkpoint import Checkpoint
    from runtime.models.held import HeldWeights

_ROWS = (1, 8, 9, 512)
_SIZE = 4096
_FIELDS = ("qkv", "output", "gate_up", "down")


@dataclass(frozen=True)
class AskedProduct:
    """The products that are asked about, as far as the command line says it."""

    format: str | None
    outputs: int | None
    inputs: int | None
    rows: tuple[int, ...]

    @property
    def has_shape(self) -> bool:
        """Whether the weight was described, if only in part."""
        return self.outputs is not None or self.inputs is not None

    @property
    def is_described(self) -> bool:
        """Whether anything but rows, which attention has too, was stated."""
        return self.format is not None or self.has_shape


@dataclass(frozen=True)
class _Weight:
    """A weight [outputs, inputs] in a format, and the matrices of a model, each with its number, that are such ones."""

    outputs: int
    inputs: int
    format: str
    matrices: tuple[tuple[str, int], ...] = ()

    @property
    def rejected(self) -> str | None:
        """Why there is no such weight; None where there may be."""
        if self.format == DENSE:
            return None
        spec = weight_format(self.format)
        return admission(spec, self.outputs, self.inputs, usual_group_size(spec))


def linear_report(
    asked: AskedProduct, checkpoint: Checkpoint | None, platform: str, config: RuntimeConfig, *, as_json: bool
) -> str:
    """The provider of every product, and why not the others.

    Args:
        asked: where it states no rows, both sides of the declared limits are asked about.
        checkpoint: whose matrices are asked about; None for the one that is described.

    Raises:
        RouteError: a forced provider cannot take one of them.
        CheckpointError: the checkpoint's tensors are not those that its config asks for.
    """
    notes: list[str] = []
    if checkpoint is None:
        weights = [_Weight(asked.outputs or _SIZE, asked.inputs or _SIZE, asked.format or DENSE)]
    else:
        from runtime.models.held import held_weights  # only here: reading a checkpoint needs torch

        planned = held_weights(checkpoint, asked.format, packed=config.model.weights == "packed")
        weights, notes = _distinct(planned), [f"held in {DENSE}: {reason}" for reason in planned.dense_reasons]
    explained = [
        (weight, _explanation(weight, rows, platform, config)) for weight in weights for rows in asked.rows or _ROWS
    ]
    if as_json:
        return json.dumps([_as_data(*each) for each in explained], indent=2)
    return "\n\n".join([*(_table(*each) for each in explained), *notes])


def _distinct(planned: HeldWeights) -> list[_Weight]:
    matrices: dict[tuple[int, int, str], Counter[str]] = {}
    for field in _FIELDS:
        for stack, layers in planned.layers(field).items():
            for each in stack:
                matrices.setdefault((each.outputs, each.inputs, each.format), Counter())[field] += layers
    head = planned.head
    matrices.setdefault((head.outputs, head.inputs, head.format), Counter())["head"] += 1
    return [_Weight(*shape, tuple(found.items())) for shape, found in matrices.items()]


def _explanation(weight: _Weight, rows: int, platform: str, config: RuntimeConfig) -> LinearExplanation:
    plan = LinearPlan(
        rows=rows,
        inputs=weight.inputs,
        outputs=weight.outputs,
        format=weight.format,
        dtype=config.model.dtype,
        platform=platform,
        missing=missing_packages(),
    )
    return explain_linear(plan, config.kernels)


def _table(weight: _Weight, explanation: LinearExplanation) -> str:
    product = explanation.parameters
    title = (
        f"product on {product['platform']} in {product['dtype']}: rows {product['rows']}, inputs {product['inputs']}, "
        f"outputs {product['outputs']}, weights {product['format']}"
    )
    if weight.matrices:
        title += f": {', '.join(f'{count} {name}' for name, count in weight.matrices)}"
    if weight.rejected is not None:
        return f"{title}\n  rejected    {weight.rejected}"
    runs = ", ".join(explanation.predicted) or "nothing"
    return "\n".join([title, *verdict_lines(explanation.admission), f"  runs        {runs}"])


def _as_data(weight: _Weight, explanation: LinearExplanation) -> dict[str, object]:
    data = {**asdict(explanation), "matrices": dict(weight.matrices), "rejected": weight.rejected}
    if weight.rejected is not None:
        return {**data, "admission": [], "predicted": []}
    return {**data, "admission": verdict_rows("provider", explanation.admission)}
