"""Choosing a provider: the first declared one that admits a product, and why each one before it did not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from runtime.candidates import Candidates, Missing, Verdict, reasons_of_need, reasons_of_place
from runtime.config.schema import KernelsConfig
from runtime.linear.declarations import LINEAR_SPECS, ProviderSpec, Weights

DENSE = "dense"
"""What the format of a weight is called that is a tensor in the compute dtype."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPlan:
    """A product that needs a provider.

    Attributes:
        rows, inputs, outputs: x is [rows, inputs], the weight [outputs, inputs].
        format: of the weight: "dense", or the name of a weight format.
        dtype: the compute dtype, by name, such as "float16".
        platform: name of the platform.
        missing: what providers may require and is not there, each with the reason.
    """

    rows: int
    inputs: int
    outputs: int
    format: str
    dtype: str
    platform: str
    missing: Missing = ()

    @property
    def weights(self) -> Weights:
        """What providers distinguish of formats."""
        return "dense" if self.format == DENSE else "packed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearExplanation:
    """What would run for a product, and what did.

    Attributes:
        parameters: of the product, and the policy.
        admission: of every declared provider, in order of preference.
        predicted: operators that the chosen provider runs, as the declarations have them.
        observed: operators that a trace saw run; None where none was looked at.
    """

    parameters: dict[str, object]
    admission: tuple[Verdict[ProviderSpec], ...]
    predicted: tuple[str, ...]
    observed: tuple[str, ...] | None = None


class Providers(Candidates[ProviderSpec, LinearPlan]):
    """The providers of products."""

    def serves(self, spec: ProviderSpec, call: LinearPlan) -> bool:
        return spec.weights in ("any", call.weights)

    def binds(self, spec: ProviderSpec, call: LinearPlan) -> bool:
        return self.serves(spec, call) and next(_reasons_of_rows(spec, call.rows), None) is None

    def described(self, _call: LinearPlan) -> str:
        return "product"

    def reasons(self, spec: ProviderSpec, call: LinearPlan) -> Iterator[str]:
        if not self.serves(spec, call):
            yield f"takes {spec.weights} weights, not {call.format}"
        yield from reasons_of_place(spec, call)
        yield from _reasons_of_rows(spec, call.rows)
        if call.inputs % spec.input_alignment:
            yield f"takes inputs by {spec.input_alignment}, and there are {call.inputs}"
        yield from reasons_of_need(spec, call)


PROVIDERS = Providers(LINEAR_SPECS, "provider", "kernels.linear")


def explain_linear(plan: LinearPlan, policy: KernelsConfig) -> LinearExplanation:
    """Every declared provider with what became of it for a product. Raises RouteError as `PROVIDERS.select`."""
    admission = PROVIDERS.explain(plan, policy.linear)
    predicted = next(each.spec.operators for each in admission if each.verdict == "chosen")
    return LinearExplanation(
        parameters={**asdict(plan), "policy": policy.linear}, admission=admission, predicted=predicted
    )


def row_class(rows: int) -> int:
    """Products that differ only in rows of one class have the same provider."""
    return bisect_right(_ROW_LIMITS, rows)


def _row_limits() -> list[int]:
    """The numbers of rows from which on another provider may be chosen, ascending."""
    first = {spec.min_rows for spec in LINEAR_SPECS if spec.min_rows is not None}
    beyond = {spec.max_rows + 1 for spec in LINEAR_SPECS if spec.max_rows is not None}
    return sorted(first | beyond)


_ROW_LIMITS = _row_limits()


def _reasons_of_rows(spec: ProviderSpec, rows: int) -> Iterator[str]:
    if spec.min_rows is not None and rows < spec.min_rows:
        yield f"takes at least {spec.min_rows} rows, not {rows}"
    if spec.max_rows is not None and rows > spec.max_rows:
        yield f"takes at most {spec.max_rows} rows, not {rows}"
