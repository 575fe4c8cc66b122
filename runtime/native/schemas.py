"""The native operators as data: what each is called with, what runs it, and what takes its place.

Nothing here imports torch: analysers, `v100 snapshot` and people read the same table that registration uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

NAMESPACE = "voltgate"
"""Of `torch.ops`, where all of them are registered."""

POLICY_ABI = 2
"""Version of what launchers and compiled kernels agree on: parameters, their order and meaning, and prepared layouts.

Whoever changes any of it raises this number, and binaries that were built before are refused.
"""

_MUTATED = re.compile(r"\(\w+!\)\s+(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSpec:
    """One native operator.

    Attributes:
        name: in the namespace.
        parameters: of its schema, in torch's notation; what it writes is marked there.
        returns: of its schema.
        compiler: what makes its kernels; those of nvrtc can be prebuilt.
        kernel: "module:function" that launches it on a device.
        fallback: "module:function" of the reference with the same signature, which runs it on a CPU.
        variants: the families of compiled variants that it launches: their names up to the bracket.
    """

    name: str
    parameters: str
    returns: str
    compiler: Literal["nvrtc", "triton"]
    kernel: str
    fallback: str
    variants: tuple[str, ...]

    @property
    def qualified_name(self) -> str:
        """As torch and traces have it, such as "voltgate::gemv"."""
        return f"{NAMESPACE}::{self.name}"

    @property
    def schema(self) -> str:
        return f"{self.name}({self.parameters}) -> {self.returns}"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """In the order of a call."""
        declared = (parameter for parameter in self.parameters.split(", ") if parameter != "*")
        return tuple(parameter.partition("=")[0].split(" ")[-1] for parameter in declared)

    @property
    def mutates(self) -> tuple[str, ...]:
        """The parameters that it writes."""
        return tuple(_MUTATED.findall(self.parameters))


# int32 numbers of a `RowMetadata`, and what launchers plan by without reading them.
_ATTENTION = (
    "Tensor query, Tensor keys, Tensor values, Tensor query_starts, Tensor query_lens, Tensor context_lens, "
    "Tensor block_tables, Tensor(a!) out, *, int block_size, int longest_query, str codec, float k_scale, "
    "float v_scale, float scale, int? window, float? softcap"
)
# The parts of a `PackedMatrix` by name; or one part "weight" in the format "dense".
_WEIGHT = "Tensor[] parts, str[] names, str form, int[] shape, int group_size"

OPERATORS: tuple[OperatorSpec, ...] = (
    OperatorSpec(
        name="flash_prefill",
        parameters=_ATTENTION,
        returns="()",
        compiler="nvrtc",
        kernel="runtime.kernels.cuda.flash_prefill:flash_prefill",
        fallback="runtime.kernels.reference.paged_attention:paged_prefill",
        variants=("flash_prefill",),
    ),
    OperatorSpec(
        name="grouped_decode",
        parameters=_ATTENTION,
        returns="()",
        compiler="nvrtc",
        kernel="runtime.kernels.cuda.grouped_decode:grouped_decode",
        fallback="runtime.kernels.reference.paged_attention:paged_decode",
        variants=("grouped_decode",),
    ),
    OperatorSpec(
        name="paged_attention",
        parameters=_ATTENTION,
        returns="()",
        compiler="triton",
        kernel="runtime.kernels.triton.paged_attention:paged_attention",
        fallback="runtime.kernels.reference.paged_attention:paged_prefill",
        variants=("paged_attention",),
    ),
    OperatorSpec(
        name="gemv",
        parameters=f"Tensor x, {_WEIGHT}, Tensor? bias=None",
        returns="Tensor",
        compiler="triton",
        kernel="runtime.kernels.triton.gemv:product",
        fallback="runtime.kernels.reference.product:product",
        variants=("gemv",),
    ),
    OperatorSpec(
        name="gemv_add",
        parameters=f"Tensor(a!) target, Tensor x, {_WEIGHT}",
        returns="()",
        compiler="triton",
        kernel="runtime.kernels.triton.gemv:add_product",
        fallback="runtime.kernels.reference.product:add_product",
        variants=("gemv",),
    ),
    OperatorSpec(
        name="gemv_gated",
        parameters=f"Tensor x, {_WEIGHT}, Tensor? bias, str activation",
        returns="Tensor",
        compiler="triton",
        kernel="runtime.kernels.triton.gemv:gated_product",
        fallback="runtime.kernels.reference.product:product",
        variants=("gemv",),
    ),
    OperatorSpec(
        name="dequantize",
        parameters=f"{_WEIGHT}, int first_row, Tensor(a!) out",
        returns="()",
        compiler="triton",
        kernel="runtime.kernels.triton.dequantize:dequantize",
        fallback="runtime.formats.weights.decoding:decode_rows",
        variants=("dequantize",),
    ),
)


def find_operator(name: str) -> OperatorSpec:
    """The operator of that name, without the namespace. Raises KeyError where none is declared."""
    for spec in OPERATORS:
        if spec.name == name:
            return spec
    raise KeyError(name)
