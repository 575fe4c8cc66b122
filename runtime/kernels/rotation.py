"""What becomes of a step's queries and keys before attention sees them."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Rotation(NamedTuple):
    """Normalisation of every head, where the model has it, then rotation by position.

    Attributes:
        cos, sin: [T, 1, D] in the compute dtype, rows of `kernels.reference.rotary.rotary_table`.
        query_norm, key_norm: float32 [D], or None in a model without.
        eps: of these norms.
    """

    cos: Tensor
    sin: Tensor
    query_norm: Tensor | None
    key_norm: Tensor | None
    eps: float
