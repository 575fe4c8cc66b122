"""What a Hugging Face folder says about its quantised matrices: which module is stored in which layout.

Sources: `utils/quantization_config.py` of transformers (awq, gptq, fp8, fbgemm_fp8, mxfp4), `QuantizationConfig` of
compressed-tensors, and ModelOpt's export (`hf_quant_config.json`, or the same keys in config.json).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import regex

from runtime.errors import CheckpointError
from runtime.formats.safetensors import read_json
from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import WEIGHT_FORMATS, WeightFormatSpec, weight_format
from runtime.formats.weights.float4 import COMPRESSED_MXFP4, COMPRESSED_NVFP4, GPT_OSS_MXFP4, MODELOPT_NVFP4
from runtime.formats.weights.float8 import Float8Layout
from runtime.formats.weights.gptq import GPTQLayout
from runtime.formats.weights.layout import CheckpointLayout
from runtime.formats.weights.packed_integer import IntegerLayout
from runtime.models.fields import Fields

MODELOPT_FILE = "hf_quant_config.json"

_OF_ACTIVATIONS = (".input_scale", ".input_zero_point", ".input_global_scale", ".output_scale", ".output_zero_point")
_OF_THE_CACHE = (".q_scale", ".k_scale", ".v_scale", ".k_zero_point", ".v_zero_point")
_PATTERN_SECONDS = 1.0

Matcher = Callable[[str], bool]
Rule = tuple[Matcher, CheckpointLayout | None]


@dataclass(frozen=True, slots=True)
class Quantization:
    """The layouts of a folder's modules.

    Attributes:
        rules: the first whose matcher takes a module's name decides; None stands for plain floats.
    """

    rules: tuple[Rule, ...]

    def layout(self, module: str) -> CheckpointLayout | None:
        """How the matrix of a module is stored; None where it is a plain one."""
        return next((layout for matches, layout in self.rules if matches(module)), None)

    def may_ignore(self, name: str) -> bool:
        """Whether a tensor only serves the quantisation of activations or of the KV cache.

        Activations are not quantised here, and how the cache is, is the setting `cache.codec`.
        """
        return name.endswith(_OF_ACTIVATIONS + _OF_THE_CACHE)


def read_quantization(folder: Path, config: Fields) -> Quantization | None:
    """What the folder's config.json, or ModelOpt's file beside it, states; None where nothing is quantised.

    Raises:
        CheckpointError: a method, or an option of it, is not supported.
    """
    if config.has("quantization_config"):
        fields = config.table("quantization_config")
    elif config.has("compression_config"):
        fields = config.table("compression_config")
    elif (folder / MODELOPT_FILE).exists():
        fields = Fields(read_json(folder / MODELOPT_FILE), f"{folder / MODELOPT_FILE}").table("quantization")
        return Quantization(tuple(_modelopt(fields)))
    else:
        return None
    method = fields.text("quant_method")
    if method not in _METHODS:
        fields.refuse("quant_method", f"{', '.join(_METHODS)}; or use a GGUF file")
    return Quantization(tuple(_METHODS[method](fields)))


def _everything(_module: str) -> bool:
    return True


def _within(entry: str) -> Matcher:
    """Takes modules whose dotted name has `entry` in it, in whole components."""
    inner = f".{entry.strip('.')}."
    return lambda module: inner in f".{module}."


def _wildcard(pattern: str) -> Matcher:
    """Takes modules that a shell pattern fits: their whole name, that of a module around them, or one component."""

    def matches(module: str) -> bool:
        components = module.split(".")
        around = (".".join(components[:count]) for count in range(1, len(components) + 1))
        return any(fnmatchcase(name, pattern) for name in (*around, *components))

    return matches


def _expression(pattern: str, fields: Fields, key: str) -> Matcher:
    """Takes modules whose name begins as a regular expression says."""
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise CheckpointError(f"{fields.place}: {key}: {pattern!r} is no regular expression ({error}).") from None

    def matches(module: str) -> bool:
        try:
            return compiled.match(module, timeout=_PATTERN_SECONDS) is not None
        except TimeoutError:
            raise CheckpointError(
                f"{fields.place}: {key}: {pattern!r} takes more than {_PATTERN_SECONDS} s on {module!r}. "
                "Do not use this checkpoint."
            ) from None

    return matches


def _left_out(fields: Fields, *keys: str) -> Iterator[Rule]:
    """Modules that Hugging Face's methods left alone: those listed, and the head unless the config says otherwise."""
    for key in keys:
        if fields.has(key):
            yield from ((_within(entry), None) for entry in fields.texts(key))
    if not fields.flag("lm_head", False):
        yield _within("lm_head"), None


def _group_size(fields: Fields, key: str = "group_size") -> int:
    """-1 is one group a row, as 0 is in this repository."""
    if fields.values.get(key) == -1:
        return 0
    return fields.count(key)


def _awq(fields: Fields) -> Iterator[Rule]:
    fields.must_be("bits", 4)
    fields.must_be("w_bit", 4)
    fields.must_be("zero_point", True)
    if fields.text("version", "gemm").lower() != "gemm":
        fields.refuse("version", "gemm; quantise again with AutoAWQ's version='GEMM'")
    yield from _left_out(fields, "modules_to_not_convert")
    yield _everything, AWQLayout(_group_size(fields, "q_group_size" if fields.has("q_group_size") else "group_size"))


def _gptq(fields: Fields) -> Iterator[Rule]:
    form = fields.text("checkpoint_format", fields.text("format", "gptq")).lower()
    if form not in ("gptq", "gptq_v2"):
        fields.refuse("checkpoint_format", "gptq, gptq_v2")
    fields.must_be("is_marlin_format", False)
    fields.must_be("pack_dtype", "int32")
    bits, group_size, offset = fields.count("bits"), _group_size(fields), 1 if form == "gptq" else 0
    yield from _left_out(fields, "modules_to_not_convert")
    dynamic = fields.table("dynamic")
    for pattern in dynamic.values:
        matches = _expression(pattern.removeprefix("+:").removeprefix("-:"), fields, "dynamic")
        if pattern.startswith("-:"):
            yield matches, None
        else:
            own = dynamic.table(pattern)
            own_size = _group_size(own) if own.has("group_size") else group_size
            yield matches, GPTQLayout(_gptq_format(own, own.count("bits", bits)), own_size, offset)
    yield _everything, GPTQLayout(_gptq_format(fields, bits), group_size, offset)


def _gptq_format(fields: Fields, bits: int) -> WeightFormatSpec:
    formats = {spec.bits: spec for spec in WEIGHT_FORMATS if spec.family == "gptq"}
    if bits not in formats:
        fields.refuse("bits", ", ".join(map(str, formats)))
    return formats[bits]


def _fp8(fields: Fields) -> Iterator[Rule]:
    fields.must_be("fmt", "e4m3")
    yield from _left_out(fields, "modules_to_not_convert", "ignored_layers")
    if fields.has("weight_block_size"):
        fields.must_be("weight_block_size", [128, 128])
        yield _everything, Float8Layout(weight_format("fp8_block"), ".weight_scale_inv")
    else:
        yield _everything, Float8Layout(weight_format("fp8_tensor"))


def _fbgemm_fp8(fields: Fields) -> Iterator[Rule]:
    yield from _left_out(fields, "modules_to_not_convert")
    yield _everything, Float8Layout(weight_format("fp8_channel"))


def _mxfp4(fields: Fields) -> Iterator[Rule]:
    yield from _left_out(fields, "modules_to_not_convert")
    yield _everything, GPT_OSS_MXFP4


def _compressed_tensors(fields: Fields) -> Iterator[Rule]:
    """Among targets, a name wins over an expression, and that over the class `Linear`, whichever group they are in."""
    fields.table("sparsity_config").must_be("format", "dense")
    fields.table("transform_config").must_be("config_groups", {})
    if fields.has("ignore"):
        yield from ((_target(entry, fields, "ignore"), None) for entry in fields.texts("ignore"))
    groups = fields.table("config_groups")
    targeted: list[tuple[str, Rule]] = []
    for name in groups.values:
        group = groups.table(name)
        layout = _compressed_layout(group, group.text("format", fields.text("format", "")))
        targeted += [(target, (_target(target, group, "targets"), layout)) for target in group.texts("targets")]
    yield from (rule for _, rule in sorted(targeted, key=lambda item: (item[0] == "Linear", item[0].startswith("re:"))))


def _target(entry: str, fields: Fields, key: str) -> Matcher:
    if entry.startswith("re:"):
        return _expression(entry.removeprefix("re:"), fields, key)
    return _everything if entry == "Linear" else lambda module: module == entry


def _compressed_layout(group: Fields, form: str) -> CheckpointLayout | None:
    if not group.has("weights"):
        return None
    weights = group.table("weights")
    kind, bits, strategy = weights.text("type", "int"), weights.count("num_bits", 8), weights.text("strategy", "tensor")
    match kind, bits, form, strategy:
        case "int", 4 | 8, "pack-quantized" | "int-quantized" | "naive-quantized", "tensor" | "channel" | "group" if (
            bits == 8 or form == "pack-quantized"
        ):
            group_size = _group_size(weights) if strategy == "group" else 0
            packed, symmetric = form == "pack-quantized", weights.flag("symmetric", True)
            return IntegerLayout(weight_format(f"int{bits}"), group_size, packed, symmetric)
        case "float", 8, "float-quantized" | "naive-quantized", "tensor" | "channel" | "block":
            if strategy == "block":
                weights.must_be("block_structure", [128, 128])
            return Float8Layout(weight_format(f"fp8_{strategy}"))
        case "float", 4, "nvfp4-pack-quantized", "tensor_group":
            weights.must_be("group_size", COMPRESSED_NVFP4.group_size)
            return COMPRESSED_NVFP4
        case "float", 4, "mxfp4-pack-quantized", "group":
            weights.must_be("group_size", COMPRESSED_MXFP4.group_size)
            return COMPRESSED_MXFP4
    raise CheckpointError(
        f"{weights.place}: {bits}-bit {kind} weights by {strategy} in the format {form!r} are not supported; "
        "supported: int4 and int8 (pack-quantized), int8 (int-quantized), fp8 (float-quantized), "
        "nvfp4-pack-quantized, mxfp4-pack-quantized. Use a checkpoint of one of these, or a GGUF file."
    )


def _modelopt(fields: Fields) -> Iterator[Rule]:
    for key in ("exclude_modules", "ignore"):
        if fields.has(key):
            yield from ((_wildcard(entry), None) for entry in fields.texts(key))
    if fields.text("quant_algo").upper() != "MIXED_PRECISION":
        yield _everything, _modelopt_layout(fields)
        return
    layers = fields.table("quantized_layers")
    for name in layers.values:
        yield _within(name), _modelopt_layout(layers.table(name))


def _modelopt_layout(fields: Fields) -> CheckpointLayout:
    layout = _MODELOPT_LAYOUTS.get(fields.text("quant_algo").upper())
    if layout is None:
        fields.refuse("quant_algo", f"{', '.join(_MODELOPT_LAYOUTS)}, MIXED_PRECISION")
    if layout.group_size:
        fields.must_be("group_size", layout.group_size)
    return layout


_MODELOPT_LAYOUTS: dict[str, CheckpointLayout] = {
    "FP8": Float8Layout(weight_format("fp8_tensor")),
    "FP8_PER_CHANNEL_PER_TOKEN": Float8Layout(weight_format("fp8_channel")),
    "FP8_PB_WO": Float8Layout(weight_format("fp8_block")),
    "NVFP4": MODELOPT_NVFP4,
    "W4A16_NVFP4": MODELOPT_NVFP4,
}
_METHODS: dict[str, Callable[[Fields], Iterator[Rule]]] = {
    "awq": _awq,
    "gptq": _gptq,
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm_fp8,
    "mxfp4": _mxfp4,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "modelopt_mixed": _modelopt,
}
