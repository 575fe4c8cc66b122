"""The KV-cache codecs as data: what a stored element is, and what happens to values that it cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from runtime.errors import ConfigError


@dataclass(frozen=True, slots=True)
class KVCodecSpec:
    """One way to store keys and values.

    Attributes:
        name: the name that configurations and reports use.
        aliases: other names for the same codec.
        storage_dtype: torch's name of what the cache tensors hold; FP8 codes are kept as bytes, since torch can
            neither index-copy nor add its float8 tensors.
        element_dtype: torch's name of the number that one stored element means.
        quantized: whether a scale applies: stored = round(x / scale), read = stored * scale, one scale for all keys
            and one for all values of a cache.
        bytes_per_element: size of a stored element.
        max_finite: the largest finite element, before the scale.
        nan: what becomes of NaN.
        overflow: what becomes of values beyond `max_finite`, infinities included: "saturate" stores the largest
            finite element of their sign, "infinity" is the IEEE cast.
    """

    name: str
    aliases: tuple[str, ...]
    storage_dtype: str
    element_dtype: str
    quantized: bool
    bytes_per_element: int
    max_finite: float
    nan: str
    overflow: str


# FP8 follows "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, in its saturating mode: a scale is a choice
# about what to clip, so outliers are clipped. The plain floats keep IEEE's infinities, which the engine's check for
# non-finite values then sees.
KV_CODECS: tuple[KVCodecSpec, ...] = (
    KVCodecSpec(
        name="fp32",
        aliases=("float32",),
        storage_dtype="float32",
        element_dtype="float32",
        quantized=False,
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
        quantized=False,
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
        quantized=False,
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
        quantized=True,
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
        quantized=True,
        bytes_per_element=1,
        max_finite=57344.0,
        nan="kept",
        overflow="saturate",
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
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"cache.codec: no KV codec is called {name!r}; {hint}known: {', '.join(names)}")
