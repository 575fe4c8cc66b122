"""The KV-cache codecs as data: what a stored element is, and what happens to values that it cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime.errors import ConfigError, meant


@dataclass(frozen=True, slots=True)
class KVCodecSpec:
    """One way to store keys and values.

    Attributes:
        name: the name that configurations and reports use.
        aliases: other names for the same codec.
        storage_dtype: torch's name of what the cache tensors hold; FP8 codes are kept as bytes, since torch can
            neither index-copy nor add its float8 tensors.
        element_dtype: torch's name of the number that one stored element means.
        scaling: stored = round(x / scale), read = stored * scale, where the scale belongs to the "cache", one for all
            its keys and one for all its values, or to a "row", which is one head of one token and brings scales of its
            own; "none" has no scale.
        group_size: channels of a row that share a scale of the row; 0 where all of them do, or where it has none.
        scale_bytes: what a row takes behind its elements: its scales in order as float16, then zeros.
        bytes_per_element: size of a stored element.
        max_finite: the largest finite element, before the scale.
        nan: what becomes of NaN: it is kept, or it makes its whole group NaN.
        overflow: what becomes of values beyond `max_finite`, infinities included: "saturate" stores the largest
            finite element of their sign, "infinity" is the IEEE cast, "nan" makes the whole group NaN, where not even
            a scale of 65504 reaches them.
    """

    name: str
    aliases: tuple[str, ...]
    storage_dtype: str
    element_dtype: str
    scaling: Literal["none", "cache", "row"]
    group_size: int
    scale_bytes: int
    bytes_per_element: int
    max_finite: float
    nan: Literal["kept", "spreads"]
    overflow: Literal["infinity", "saturate", "nan"]

    def row_elements(self, head_dim: int) -> int:
        """Stored elements of one head of one token.

        Raises:
            ConfigError: the codec has no layout for heads of this size.
        """
        if self.scaling != "row":
            return head_dim
        groups = 1 if self.group_size == 0 else -(-head_dim // self.group_size)
        if head_dim % 16 or 2 * groups > self.scale_bytes:
            raise ConfigError(
                f"cache.codec: {self.name!r} stores heads of a multiple of 16 channels, with at most "
                f"{self.scale_bytes // 2} scales; this model has heads of {head_dim}. Choose another codec."
            )
        return head_dim + self.scale_bytes // self.bytes_per_element

    def row_bytes(self, head_dim: int) -> int:
        """Bytes of one head of one token. Raises what `row_elements` raises."""
        return self.row_elements(head_dim) * self.bytes_per_element


# FP8 follows "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, in its saturating mode: a scale is a choice
# about what to clip, so outliers are clipped. The plain floats keep IEEE's infinities, which the engine's check for
# non-finite values then sees. INT8 is symmetric, scale = max|x| / 127 in float16, so nothing finite is ever clipped by
# more than the rounding of its scale.
KV_CODECS: tuple[KVCodecSpec, ...] = (
    KVCodecSpec(
        name="fp32",
        aliases=("float32",),
        storage_dtype="float32",
        element_dtype="float32",
        scaling="none",
        group_size=0,
        scale_bytes=0,
        bytes_per_element=4,
        max_finite=3.4028234663852886e38,
        nan="kept",
        overflow="infinity",
    ),
    KVCodecSpec(
        name="fp16",
        aliases=("float16",),
        storage_dtype="float16",
        element_dtype="float16",
        scaling="none",
        group_size=0,
        scale_bytes=0,
        bytes_per_element=2,
        max_finite=65504.0,
        nan="kept",
        overflow="infinity",
    ),
    KVCodecSpec(
        name="bf16",
        aliases=("bfloat16",),
        storage_dtype="bfloat16",
        element_dtype="bfloat16",
        scaling="none",
        group_size=0,
        scale_bytes=0,
        bytes_per_element=2,
        max_finite=3.3895313892515355e38,
        nan="kept",
        overflow="infinity",
    ),
    KVCodecSpec(
        name="fp8_e4m3",
        aliases=("fp8",),
        storage_dtype="uint8",
        element_dtype="float8_e4m3fn",
        scaling="cache",
        group_size=0,
        scale_bytes=0,
        bytes_per_element=1,
        max_finite=448.0,
        nan="kept",
        overflow="saturate",
    ),
    KVCodecSpec(
        name="fp8_e5m2",
        aliases=(),
        storage_dtype="uint8",
        element_dtype="float8_e5m2",
        scaling="cache",
        group_size=0,
        scale_bytes=0,
        bytes_per_element=1,
        max_finite=57344.0,
        nan="kept",
        overflow="saturate",
    ),
    KVCodecSpec(
        name="int8_g64",
        aliases=(),
        storage_dtype="uint8",
        element_dtype="int8",
        scaling="row",
        group_size=64,
        scale_bytes=16,
        bytes_per_element=1,
        max_finite=127.0,
        nan="spreads",
        overflow="nan",
    ),
    KVCodecSpec(
        name="int8_per_token_head",
        aliases=("int8",),
        storage_dtype="uint8",
        element_dtype="int8",
        scaling="row",
        group_size=0,
        scale_bytes=16,
        bytes_per_element=1,
        max_finite=127.0,
        nan="spreads",
        overflow="nan",
    ),
)

AUTO = "auto"


def codec_spec(name: str, model_dtype: str | None = None) -> KVCodecSpec:
    """The codec that `name` means.

    Args:
        name: a codec's name, one of its aliases, or "auto", which stores what the model computes in.
        model_dtype: torch's name of the model's dtype, such as "float16"; "auto" needs it.

    Raises:
        ConfigError: no codec is called that, or "auto" came without a dtype that a cache can hold.
    """
    wanted = model_dtype if name == AUTO else name
    for spec in KV_CODECS:
        if wanted == spec.name or wanted in spec.aliases:
            return spec
    if name == AUTO:
        raise ConfigError(f"cache.codec: 'auto' follows the model's dtype, and no KV codec stores {model_dtype!r}")
    names = [AUTO, *(known for spec in KV_CODECS for known in (spec.name, *spec.aliases))]
    hint = meant(name, names, f"known: {', '.join(names)}")
    raise ConfigError(f"cache.codec: no KV codec is called {name!r}; {hint}")
