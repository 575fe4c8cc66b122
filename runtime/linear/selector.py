"""Choosing a provider: the first declared one that admits a product, and why each one before it did not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Literal

from runtime.config.schema import KernelsConfig
from runtime.errors import RouteError, meant
from runtime.linear.declarations import LINEAR_SPECS, ProviderSpec, Weights

AUTO = "auto"
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
        installed: the packages among those that providers require that are there.
    """

    rows: int
    inputs: int
    outputs: int
    format: str
    dtype: str
    platform: str
    installed: frozenset[str]

    @property
    def weights(self) -> Weights:
        """What providers distinguish of formats."""
        return "dense" if self.format == DENSE else "packed"


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider that takes a product, and (name, reason) of every candidate before it, in order of preference."""

    provider: ProviderSpec
    refusals: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of one provider for a product: chosen, refused, or admitted behind a better one."""

    provider: str
    verdict: Literal["chosen", "refused", "not needed"]
    reason: str


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
    admission: tuple[Admission, ...]
    predicted: tuple[str, ...]
    observed: tuple[str, ...] | None = None


def installed_packages() -> frozenset[str]:
    """The packages that providers require and that this process could import."""
    required = {package for spec in LINEAR_SPECS for package in spec.requires}
    return frozenset(package for package in required if find_spec(package) is not None)


def select(plan: LinearPlan, forced: str = AUTO) -> Choice:
    """The provider of a product.

    Args:
        plan: the product.
        forced: a provider's name, which binds the products whose kind of weight and whose rows it declares, and no
            other; "auto" binds none.

    Raises:
        RouteError: `forced` is not declared, or binds this product and cannot take it.
    """
    if forced != AUTO:
        spec = find_provider(forced)
        if _serves(spec, plan):
            require(spec, plan)
            return Choice(spec, ())
    refusals: list[tuple[str, str]] = []
    for spec in LINEAR_SPECS:
        if spec.weights not in ("any", plan.weights):
            continue
        reason = refusal(spec, plan)
        if reason is None:
            return Choice(spec, tuple(refusals))
        refusals.append((spec.name, reason))
    raise RouteError(f"no provider takes {plan}")


def explain_linear(plan: LinearPlan, policy: KernelsConfig) -> LinearExplanation:
    """Every declared provider with what became of it for a product. Raises RouteError as `select`."""
    chosen = select(plan, policy.linear).provider
    parameters = {**asdict(plan), "installed": sorted(plan.installed), "policy": policy.linear}
    admission = tuple(_admission(spec, chosen, plan) for spec in LINEAR_SPECS)
    return LinearExplanation(parameters=parameters, admission=admission, predicted=chosen.operators)


def require(spec: ProviderSpec, plan: LinearPlan) -> None:
    """Check that a forced provider can take a product. Raises RouteError with the reason where it cannot."""
    reason = refusal(spec, plan)
    if reason is not None:
        raise RouteError(
            f"kernels.linear: {spec.name!r} was forced and cannot take this product: {reason}; choose another "
            f"provider, or {AUTO!r}"
        )


def find_provider(name: str) -> ProviderSpec:
    """The declared provider of that name. Raises RouteError with the names that are near it."""
    for spec in LINEAR_SPECS:
        if spec.name == name:
            return spec
    names = [spec.name for spec in LINEAR_SPECS]
    hint = meant(name, names, f"declared: {AUTO}, {', '.join(names)}")
    raise RouteError(f"kernels.linear: no provider is called {name!r}; {hint}")


def refusal(spec: ProviderSpec, plan: LinearPlan) -> str | None:
    """The first reason why a provider cannot take a product, or None where it can."""
    return next(_refusals(spec, plan), None)


def row_class(rows: int) -> int:
    """Products that differ only in rows of one class have the same provider."""
    return bisect_right(_ROW_LIMITS, rows)


def _row_limits() -> list[int]:
    """The numbers of rows from which on another provider may be chosen, ascending."""
    first = {spec.min_rows for spec in LINEAR_SPECS if spec.min_rows is not None}
    beyond = {spec.max_rows + 1 for spec in LINEAR_SPECS if spec.max_rows is not None}
    return sorted(first | beyond)


_ROW_LIMITS = _row_limits()


def _serves(spec: ProviderSpec, plan: LinearPlan) -> bool:
    """Whether a forced provider binds a product."""
    return spec.weights in ("any", plan.weights) and next(_row_refusals(spec, plan.rows), None) is None


def _admission(spec: ProviderSpec, chosen: ProviderSpec, plan: LinearPlan) -> Admission:
    if spec is chosen:
        return Admission(spec.name, "chosen", "")
    reason = refusal(spec, plan)
    if reason is None:
        return Admission(spec.name, "not needed", f"{chosen.name} is preferred")
    return Admission(spec.name, "refused", reason)


def _refusals(spec: ProviderSpec, plan: LinearPlan) -> Iterator[str]:
    """Every reason why a provider cannot take a product, the one that a user can do least about first."""
    if spec.weights not in ("any", plan.weights):
        yield f"takes {spec.weights} weights, not {plan.format}"
    if spec.platforms and plan.platform not in spec.platforms:
        yield f"runs on {' or '.join(spec.platforms)}, not on {plan.platform}"
    if spec.dtypes and plan.dtype not in spec.dtypes:
        yield f"computes in {' or '.join(spec.dtypes)}, not in {plan.dtype}"
    yield from _row_refusals(spec, plan.rows)
    if plan.inputs % spec.input_alignment:
        yield f"takes inputs by {spec.input_alignment}, and there are {plan.inputs}"
    for package in spec.requires:
        if package not in plan.installed:
            yield f"needs the package {package}, which is not installed"


def _row_refusals(spec: ProviderSpec, rows: int) -> Iterator[str]:
    if spec.min_rows is not None and rows < spec.min_rows:
        yield f"takes at least {spec.min_rows} rows, not {rows}"
    if spec.max_rows is not None and rows > spec.max_rows:
        yield f"takes at most {spec.max_rows} rows, not {rows}"
