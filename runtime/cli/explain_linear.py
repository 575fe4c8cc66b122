"""What `v100 explain --linear` says of products with weights. Needs no GPU, no torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from runtime.config import RuntimeConfig
from runtime.formats.weights.declarations import WEIGHT_FORMATS
from runtime.linear.selector import DENSE, LinearExplanation, LinearPlan, explain_linear, installed_packages

FORMATS = (DENSE, *(spec.name for spec in WEIGHT_FORMATS))
_ROWS = (1, 8, 9, 512)


@dataclass(frozen=True)
class AskedProduct:
    """The products that are asked about, as far as the command line says it."""

    format: str | None
    outputs: int | None
    inputs: int | None
    rows: tuple[int, ...]

    @property
    def is_described(self) -> bool:
        """Whether anything but rows, which attention has too, was stated."""
        return any(value is not None for value in (self.format, self.outputs, self.inputs))

    def plans(self, platform: str, dtype: str) -> list[LinearPlan]:
        """One for each number of rows; where none is stated, on both sides of the declared limits."""
        return [
            LinearPlan(
                rows=rows,
                inputs=self.inputs or 4096,
                outputs=self.outputs or 4096,
                format=self.format or DENSE,
                dtype=dtype,
                platform=platform,
                installed=installed_packages(),
            )
            for rows in self.rows or _ROWS
        ]


def linear_report(asked: AskedProduct, platform: str, config: RuntimeConfig, *, as_json: bool) -> str:
    """The provider of every product, and why not the others. Raises RouteError where a forced one cannot take it."""
    explanations = [explain_linear(plan, config.kernels) for plan in asked.plans(platform, config.model.dtype)]
    if as_json:
        return json.dumps([asdict(explanation) for explanation in explanations], indent=2)
    return "\n\n".join(map(_table, explanations))


def _table(explanation: LinearExplanation) -> str:
    product = explanation.parameters
    title = (
        f"product on {product['platform']} in {product['dtype']}: rows {product['rows']}, inputs {product['inputs']}, "
        f"outputs {product['outputs']}, weights {product['format']}"
    )
    width = max(len(row.provider) for row in explanation.admission)
    rows = [f"  {row.verdict:<10}  {row.provider:<{width}}  {row.reason}".rstrip() for row in explanation.admission]
    return "\n".join([title, *rows, f"  runs        {_listed(explanation.predicted)}"])


def _listed(operators: Sequence[str]) -> str:
    return ", ".join(operators) or "nothing"
