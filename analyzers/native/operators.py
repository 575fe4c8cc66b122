"""How operators are named."""

from __future__ import annotations

_FAKES = frozenset(("meta", "compositeimplicitautograd", "compositeexplicitautograd"))
"""Dispatch keys, in lower case, whose implementation also serves tensors without data."""
_OF_PYTORCH = frozenset(
    ("aten", "prim", "prims", "higher_order", "inductor", "c10d", "c10d_functional", "_c10d_functional")
) | {"symm_mem", "profiler", "mkldnn", "quantized", "quantized_decomposed", "rngprims", "debugprims"}


def gives_fake(key: str) -> bool:
    """Whether an implementation for a dispatch key makes a fake one unnecessary."""
    return key.lower() in _FAKES


def is_of_pytorch(operator: str) -> bool:
    """Whether PyTorch itself registers the operator."""
    return operator.partition("::")[0] in _OF_PYTORCH


def named_by_schema(schema: str) -> str:
    """The operator that a schema is of: `name(Tensor x) -> Tensor`, or the name alone."""
    return schema.partition("(")[0].strip()


def base_name(operator: str) -> str:
    """Without the overload: `ns::add.out` -> `ns::add`."""
    namespace, separator, name = operator.rpartition("::")
    return f"{namespace}{separator}{name.partition('.')[0]}"


def operator_of(name: str) -> str:
    """The operator that `torch.ops.ns.name` is, dotted or with `::`; empty where the name is none.

    `torch.ops.load_library` and other functions of the module have no namespace.
    """
    parts = name.removeprefix("torch.ops.").split(".")
    return f"{parts[0]}::{parts[1]}" if name.startswith("torch.ops.") and len(parts) > 1 else ""
