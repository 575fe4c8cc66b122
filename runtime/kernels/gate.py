"""The gated activation of a feed-forward, for products that can have it built in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Activation = Literal["silu", "gelu_tanh"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A gated activation.

    Attributes:
        activation: its name, for products that have it built in.
        apply: runs it alone: [..., 2F] -> [..., F].
    """

    activation: Activation
    apply: Callable[[Tensor], Tensor]
