"""Rotary frequencies of every variant, and the cosines and sines of one step."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from runtime.kernels.reference.rotary import rotary_table
from runtime.models.config import DivisorScaling, LinearScaling, Llama3Scaling, Rope, YarnScaling


class RotaryEmbedding:
    """What one `Rope` means for heads of one size.

    Attributes:
        frequencies: float32 [head_dim / 2], radians per position.
        magnitude: multiplies cosine and sine.
    """

    def __init__(self, rope: Rope, head_dim: int, device: torch.device) -> None:
        self.frequencies = rotary_frequencies(rope, head_dim).to(device)
        self.magnitude = rope.scaling.attention_factor if isinstance(rope.scaling, YarnScaling) else 1.0

    def rows(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and sine rows of `positions`, int64 [T], as `kernels.reference.rotary` takes them.

        They are computed for each step: a table of all positions would take 256 MiB for a model of 131,072.
        """
        return rotary_table(torch.outer(positions.float(), self.frequencies), dtype, self.magnitude)


def rotary_frequencies(rope: Rope, head_dim: int) -> Tensor:
    """float32 [head_dim / 2] on the CPU: base^(-2i / head_dim), scaled as the variant says."""
    plain = 1.0 / rope.base ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    match rope.scaling:
        case LinearScaling(factor):
            return plain / factor
        case Llama3Scaling():
            return _llama3(plain, rope.scaling)
        case YarnScaling():
            return _yarn(plain, rope.base, rope.scaling)
        case DivisorScaling(divisors):
            return plain / torch.tensor(divisors)
    return plain


def _llama3(plain: Tensor, scaling: Llama3Scaling) -> Tensor:
    """Source: `apply_scaling` in Meta's llama-models, `models/llama3/model.py`.

    The blend needs no cases: it is clamped to 0 beyond the long wavelengths, and to 1 below the short ones.
    """
    turns = scaling.original_max_positions * plain / (2 * math.pi)
    kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    return torch.lerp(plain / scaling.factor, plain, kept.clamp(0.0, 1.0))


def _yarn(plain: Tensor, base: float, scaling: YarnScaling) -> Tensor:
    """Source: Peng et al. (2023), section 3.2, with dimensions in place of rotations, as in the authors' code."""
    pairs = plain.shape[0]

    def pair_that_turns(times: float) -> float:
        return pairs * math.log(scaling.original_max_positions / (times * 2 * math.pi)) / math.log(base)

    first, last = pair_that_turns(scaling.beta_fast), pair_that_turns(scaling.beta_slow)
    if scaling.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * pairs - 1)
    ramp = (torch.arange(pairs, dtype=torch.float32) - first) / max(last - first, 0.001)
    return torch.lerp(plain, plain / scaling.factor, ramp.clamp(0.0, 1.0))
