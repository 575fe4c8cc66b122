"""What the engine asks of a model. It knows no family of models: those register themselves elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from runtime.attention.attention import Attention
from runtime.attention.declarations import LayerShape

Probe = Callable[[str, Tensor], None]
"""Is shown the output of each part of the model in the order of computing, as ("layers.7.mlp", [T, ...])."""


class Model(Protocol):
    """A decoder over a flat batch of tokens.

    Attributes:
        layers: what each attention layer asks of the KV cache.
        vocab_size: token ids are below it.
        max_positions: longest context that the model was made for, in tokens.
        dtype: of keys, values and hidden states.
        device: where its weights are.
    """

    @property
    def layers(self) -> Sequence[LayerShape]: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_positions(self) -> int: ...

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...

    def forward(self, tokens: Tensor, positions: Tensor, attention: Attention, probe: Probe | None = None) -> Tensor:
        """Compute a step.

        Args:
            tokens: int64 [T], the rows of all requests one after the other.
            positions: int64 [T], the place of each token in its request, from 0.
            attention: has begun a batch of these rows.
            probe: used only to find the first value that is not finite.

        Returns:
            Hidden states after the final norm, [T, d]; valid until the next call.
        """
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Return float32 [R, vocab_size] for hidden states [R, d]."""
        ...
