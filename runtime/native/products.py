"""Operators on weights: the signatures of `runtime.kernels.triton`, and the flat ones that torch knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from runtime.formats.weights.declarations import weight_format
from runtime.formats.weights.matrix import PackedMatrix
from runtime.kernels.gate import Activation
from runtime.kernels.reference.activation import gelu_tanh_and_mul, silu_and_mul
from runtime.native.calling import Resolver, fallback_of, kernel_of, require, torch_operator
from runtime.native.trace import is_traced

DENSE = "dense"
"""The format of a weight that is a tensor."""

Weight = Tensor | PackedMatrix
_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {"silu": silu_and_mul, "gelu_tanh": gelu_tanh_and_mul}
_FlatWeight = tuple[list[Tensor], list[str], str, list[int], int]
_FLAT_ARGUMENTS = 5


class Product:
    """A prepared `runtime.kernels.triton.gemv.Gemv`: launched directly, and through torch only while a trace is on."""

    def __init__(self, weight: Weight, bias: Tensor | None = None, activation: Activation | None = None) -> None:
        from runtime.kernels.triton.gemv import Gemv  # other platforms need no Triton

        self._weight, self._bias, self._activation = weight, bias, activation
        self._gemv = Gemv(weight, bias, activation)

    def __call__(self, x: Tensor, room: Tensor | None = None) -> Tensor:
        if not is_traced():
            return self._gemv(x, room)
        weight = _flat(self._weight)
        result: Tensor
        if self._activation is None:
            result = torch_operator("gemv")(x, *weight, self._bias)
        else:
            result = torch_operator("gemv_gated")(x, *weight, self._bias, self._activation)
        return result

    def add_to(self, target: Tensor, x: Tensor) -> None:
        if is_traced():
            torch_operator("gemv_add")(target, x, *_flat(self._weight))
        else:
            self._gemv.add_to(target, x)


def dequantize(weight: PackedMatrix, first_row: int, out: Tensor) -> None:
    """As `runtime.kernels.triton.dequantize.dequantize`."""
    if is_traced():
        torch_operator("dequantize")(*_flat(weight), first_row, out)
    else:
        kernel_of("dequantize")(weight, first_row, out)


def on_weight(operator: str, resolve: Resolver, before: int) -> Callable[..., Any]:
    """What torch runs for an operator: its kernel or its reference, on a weight that is whole again.

    Args:
        operator: its name.
        resolve: finds what runs it.
        before: arguments in front of the weight.
    """

    def run(*arguments: Any) -> Any:
        after = before + _FLAT_ARGUMENTS
        return resolve(operator)(*arguments[:before], _whole(*arguments[before:after]), *arguments[after:])

    return run


def gemv_gated_on_cpu(
    x: Tensor,
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
    bias: Tensor | None,
    activation: str,
) -> Tensor:
    """What torch runs for `gemv_gated` on a CPU."""
    whole = fallback_of("gemv_gated")(x, _whole(parts, names, form, shape, group_size), bias)
    return _ACTIVATIONS[activation](whole)


def dequantize_on_cpu(
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
    first_row: int,
    out: Tensor,
) -> None:
    """What torch runs for `dequantize` on a CPU. Columns stay in the order in which they are stored."""
    stored = {name: part for name, part in zip(names, parts, strict=True) if name != "order"}
    rows = slice(first_row, first_row + out.shape[0])
    out.copy_(fallback_of("dequantize")(weight_format(form), group_size, stored, rows, shape[1]))


def gemv_without_data(
    x: Tensor,
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
    bias: Tensor | None = None,
) -> Tensor:
    """What follows from the shapes of a `gemv`."""
    _check_operands(x, _whole(parts, names, form, shape, group_size))
    require(bias is None or tuple(bias.shape) == (shape[0],), f"the bias is not [{shape[0]}]")
    return x.new_empty(x.shape[0], shape[0])


def gemv_gated_without_data(
    x: Tensor,
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
    bias: Tensor | None,
    activation: str,
) -> Tensor:
    """What follows from the shapes of a `gemv_gated`."""
    require(activation in _ACTIVATIONS, f"activations are {', '.join(_ACTIVATIONS)}, not {activation}")
    require(shape[0] % 2 == 0, f"{shape[0]} outputs are no gate and its other half")
    return gemv_without_data(x, parts, names, form, shape, group_size, bias)[:, : shape[0] // 2].contiguous()


def gemv_add_without_data(
    target: Tensor,
    x: Tensor,
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
) -> None:
    """What follows from the shapes of a `gemv_add`."""
    _check_operands(x, _whole(parts, names, form, shape, group_size))
    require(
        tuple(target.shape) == (x.shape[0], shape[0]),
        f"the target is {list(target.shape)}, not [{x.shape[0]}, {shape[0]}]",
    )


def dequantize_without_data(
    parts: Sequence[Tensor],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    group_size: int,
    first_row: int,
    out: Tensor,
) -> None:
    """What follows from the shapes of a `dequantize`."""
    n, k = _whole(parts, names, form, shape, group_size).shape
    require(out.dim() == 2 and out.shape[1] == k, f"out is {list(out.shape)}, not [rows, {k}]")
    require(first_row + out.shape[0] <= n, f"there are {n} rows")


def _flat(weight: Weight) -> _FlatWeight:
    if isinstance(weight, Tensor):
        return [weight], ["weight"], DENSE, list(weight.shape), 0
    return [*weight.parts.values()], [*weight.parts], weight.spec.name, list(weight.shape), weight.group_size


def _whole(parts: Sequence[Tensor], names: Sequence[str], form: str, shape: Sequence[int], group_size: int) -> Weight:
    """Raises ValueError where the parts are not those of the format."""
    if form == DENSE:
        return parts[0]
    rows, columns = shape
    return PackedMatrix(weight_format(form), (rows, columns), group_size, dict(zip(names, parts, strict=True)))


def _check_operands(x: Tensor, weight: Weight) -> None:
    columns = weight.shape[1]
    require(x.dim() == 2 and x.shape[1] == columns, f"x is {list(x.shape)}, not [rows, {columns}]")
