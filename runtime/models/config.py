"""What a decoder is made of, whatever family it comes from: plain data, read once from a checkpoint's own config."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtime.attention.declarations import LayerShape
from runtime.kernels.gate import Activation


@dataclass(frozen=True, slots=True)
class LinearScaling:
    """Every rotation is slowed down by `factor`."""

    factor: float


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Long wavelengths are slowed down by `factor`, short ones kept, those between blended."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_positions: int


@dataclass(frozen=True, slots=True)
class YarnScaling:
    """NTK by parts: dimensions are blended by how often they turn within `original_max_positions`.

    Attributes:
        attention_factor: multiplies cosine and sine, and so tempers attention.
        truncate: whether the blended range starts and ends at whole dimensions.
    """

    factor: float
    original_max_positions: int
    attention_factor: float
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True


def yarn_attention_factor(factor: float, weight: float = 1.0) -> float:
    """0.1 * weight * ln(factor) + 1, by which YaRN sharpens attention (Peng et al., 2023, section 3.4)."""
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0


@dataclass(frozen=True, slots=True)
class DivisorScaling:
    """Each frequency is divided by its own number; GGUF files carry llama3 scaling in this form."""

    divisors: tuple[float, ...]


RopeScaling = LinearScaling | Llama3Scaling | YarnScaling | DivisorScaling


@dataclass(frozen=True, slots=True)
class Rope:
    """A rotary embedding over whole heads, which rotates a head's first half against its second."""

    base: float
    scaling: RopeScaling | None = None


@dataclass(frozen=True, slots=True)
class LayerKind:
    """In what layers of one model may differ.

    Attributes:
        rope: how positions rotate queries and keys.
        window: the number of latest positions that are attended, the row's own included; all of them where None.
    """

    rope: Rope
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """A decoder-only transformer with grouped queries, gated feed-forwards and RMS norms.

    Attributes:
        family: the name of the adapter that made it, for people.
        layers: one entry a layer, first to last.
        attention_scale: what scores are multiplied with.
        attention_softcap, final_softcap: `cap * tanh(x / cap)` on scores and on logits.
        embedding_scale: what embedded tokens are multiplied with.
        tied_embeddings: whether the head is the embedding.
        post_norms: whether each branch is normalised once more before it joins the residual stream.
    """

    family: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    layers: tuple[LayerKind, ...]
    max_positions: int
    norm_eps: float
    activation: Activation
    attention_scale: float
    tied_embeddings: bool
    attention_softcap: float | None = None
    final_softcap: float | None = None
    embedding_scale: float = 1.0
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False

    @property
    def qkv_heads(self) -> tuple[int, int, int]:
        """Heads of queries, keys and values."""
        return self.num_heads, self.num_kv_heads, self.num_kv_heads

    def layer_shapes(self) -> tuple[LayerShape, ...]:
        """What attention must know of each layer."""
        return tuple(
            LayerShape(
                num_heads=self.num_heads,
                num_kv_heads=self.num_kv_heads,
                head_dim=self.head_dim,
                scale=self.attention_scale,
                window=layer.window,
                softcap=self.attention_softcap,
            )
            for layer in self.layers
        )
