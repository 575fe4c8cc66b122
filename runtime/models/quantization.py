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

from runtime.errors import CheckpointError, meant
from runtime.formats.safetensors import read_json
from runtime.formats.weights.awq import AWQLayout
from runtime.formats.weights.declarations import WEIGHT_FORMATS, weight_format
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
_CLASS = "Linear"
"""Of all modules whose matrices may be quantised."""

_SHOWN = 4
"""Targets in an error: ModelOpt names every module."""

Matcher = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a config says about some modules.

    Attributes:
        takes: whether a module is one of them, by its dotted name.
        layout: how their matrices are stored; None stands for plain floats.
        stated: the settings that say so, for an error that finds them contradicted.
    """

    takes: Matcher
    layout: CheckpointLayout | None
    stated: str


@dataclass(frozen=True, slots=True)
class Quantization:
    """The layouts of a folder's modules.

    Attributes:
        rules: the first that takes a module decides.
        place: where modules that are quantised are named; matrices of those that no rule takes are plain floats.
        targets: what is named there.
    """

    rules: tuple[Rule, ...]
    place: str = ""
    targets: tuple[str, ...] = ()

    def layout(self, module: str) -> CheckpointLayout | None:
        """How the matrix of a module is stored; None where it is a plain one."""
        rule = self._rule(module)
        return rule.layout if rule else None

    def stated(self, module: str) -> str:
        """The settings that say how a module is stored, with their file and key."""
        if rule := self._rule(module):
            return rule.stated
        if not self.targets:
            return f"{self.place}: there are none"
        some = ", ".join(map(repr, self.targets[:_SHOWN])) + (", ..." if len(self.targets) > _SHOWN else "")
        near = ((target, meant(target, (_CLASS, module), "")) for target in self.targets)
        hints = (f"; instead of {target!r}, {hint}" for target, hint in near if hint)
        return f"{self.place}: it is none of {some}{next(hints, '')}"

    def _rule(self, module: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.takes(module)), None)

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
    key = config.spelling("quantization_config", "compression_config")
    if config.has(key):
        fields = config.table(key)
        return _METHODS[fields.choice("quant_method", tuple(_METHODS), "; or use a GGUF file")](fields)
    if (folder / MODELOPT_FILE).exists():
        return _modelopt(Fields(read_json(folder / MODELOPT_FILE), f"{folder / MODELOPT_FILE}").table("quantization"))
    return None


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
        yield from _plain(fields, key, _within)
    if not fields.flag("lm_head", False):
        yield Rule(_within("lm_head"), None, fields.stated("lm_head"))


def _plain(fields: Fields, key: str, matcher: Callable[[str], Matcher]) -> Iterator[Rule]:
    """Modules that a list leaves alone."""
    for entry in fields.texts(key) if fields.has(key) else ():
        yield Rule(matcher(entry), None, f"{fields.place}: {key} names {entry!r}")


def _group_size(fields: Fields, key: str = "group_size") -> int:
    """-1 is one group a row, as 0 is in this repository."""
    if fields.values.get(key) == -1:
        return 0
    return fields.count(key)


def _awq(fields: Fields) -> Quantization:
    for bits in ("bits", "w_bit"):
        fields.must_be(bits, 4)
    fields.must_be("zero_point", True)
    version = fields.spelling("version", "format")
    if fields.text(version, "gemm").lower() != "gemm":
        fields.refuse(version, "gemm; quantise again with AutoAWQ's version='GEMM'")
    group_size = fields.spelling("group_size", "q_group_size")
    stated = fields.stated("quant_method", group_size)
    left_out = _left_out(fields, "modules_to_not_convert")
    return Quantization((*left_out, Rule(_everything, AWQLayout(_group_size(fields, group_size)), stated)))


def _gptq(fields: Fields) -> Quantization:
    form = fields.spelling("checkpoint_format", "format")
    version = fields.text(form, "gptq").lower()
    if version not in ("gptq", "gptq_v2"):
        fields.refuse(form, "gptq, gptq_v2")
    fields.must_be("is_marlin_format", False)
    fields.must_be("pack_dtype", "int32")
    rules = [*_left_out(fields, "modules_to_not_convert")]
    dynamic, zero_offset = fields.table("dynamic"), 1 if version == "gptq" else 0
    for pattern in dynamic.values:
        takes = _expression(pattern.removeprefix("+:").removeprefix("-:"), fields, "dynamic")
        if pattern.startswith("-:"):
            rules.append(Rule(takes, None, f"{dynamic.place} names {pattern!r}"))
        else:
            rules.append(_gptq_rule(takes, dynamic.table(pattern).over(fields), zero_offset))
    return Quantization((*rules, _gptq_rule(_everything, fields, zero_offset)))


def _gptq_rule(takes: Matcher, fields: Fields, zero_offset: int) -> Rule:
    formats = {spec.bits: spec for spec in WEIGHT_FORMATS if spec.family == "gptq"}
    bits = fields.count("bits")
    if bits not in formats:
        fields.refuse("bits", ", ".join(map(str, formats)))
    layout = GPTQLayout(formats[bits], _group_size(fields), zero_offset, fields.flag("desc_act", False))
    return Rule(takes, layout, fields.stated("quant_method", "bits", "group_size", "desc_act"))


def _fp8(fields: Fields) -> Quantization:
    fields.must_be("fmt", "e4m3")
    if fields.has("weight_block_size"):
        fields.must_be("weight_block_size", [128, 128])
        layout = Float8Layout(weight_format("fp8_block"), ".weight_scale_inv")
    else:
        layout = Float8Layout(weight_format("fp8_tensor"))
    stated = fields.stated("quant_method", "weight_block_size")
    left_out = _left_out(fields, "modules_to_not_convert", "ignored_layers")
    return Quantization((*left_out, Rule(_everything, layout, stated)))


def _of_one_layout(layout: CheckpointLayout) -> Callable[[Fields], Quantization]:
    """A method that leaves nothing to say but which modules it leaves out."""

    def read(fields: Fields) -> Quantization:
        left_out = _left_out(fields, "modules_to_not_convert")
        return Quantization((*left_out, Rule(_everything, layout, fields.stated("quant_method"))))

    return read


def _compressed_tensors(fields: Fields) -> Quantization:
    """Among targets, a name wins over an expression, and that over the class `Linear`, whichever group they are in."""
    fields.table("sparsity_config").must_be("format", "dense")
    fields.table("transform_config").must_be("config_groups", {})
    groups = fields.table("config_groups")
    rules: dict[str, Rule] = {}
    for name in groups.values:
        group = groups.table(name)
        layout = _compressed_layout(group, group.text("format", fields.text("format", "")))
        stated = group.table("weights").stated("num_bits", "strategy", "group_size", "symmetric", "actorder")
        for target in group.texts("targets"):
            rule = Rule(_target(target, group, "targets"), layout, stated)
            if rules.setdefault(target, rule).layout != layout:
                group.refuse("targets", f"those that no other group has, and one has {target!r}")
    targets = sorted(rules, key=lambda target: (target == _CLASS, target.startswith("re:")))
    ignored = _plain(fields, "ignore", lambda entry: _target(entry, fields, "ignore"))
    return Quantization((*ignored, *(rules[target] for target in targets)), f"{groups.place}: targets", tuple(targets))


def _target(entry: str, fields: Fields, key: str) -> Matcher:
    if entry.startswith("re:"):
        return _expression(entry.removeprefix("re:"), fields, key)
    return _everything if entry == _CLASS else lambda module: module == entry


def _compressed_layout(group: Fields, form: str) -> CheckpointLayout | None:
    if not group.has("weights"):
        return None
    weights = group.table("weights")
    kind, bits, strategy = weights.text("type", "int"), weights.count("num_bits", 8), _strategy(weights)
    match kind, bits, form, strategy:
        case "int", 4 | 8, "pack-quantized" | "int-quantized" | "naive-quantized", "tensor" | "channel" | "group" if (
            bits == 8 or form == "pack-quantized"
        ):
            group_size = _group_size(weights) if strategy == "group" else 0
            packed, symmetric = form == "pack-quantized", weights.flag("symmetric", True)
            return IntegerLayout(weight_format(f"int{bits}"), group_size, packed, symmetric, _is_ordered(weights))
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


def _strategy(weights: Fields) -> str:
    """How scales are shared; where the config does not say, its group size does."""
    grouped = weights.has("group_size") and weights.values["group_size"] != -1
    unstated = "group" if grouped else "channel" if weights.has("group_size") else "tensor"
    strategy = weights.text("strategy", unstated)
    if grouped and strategy not in ("group", "tensor_group"):
        weights.refuse("group_size", f"none, as {weights.stated('strategy')}")
    return strategy


def _is_ordered(weights: Fields) -> bool:
    """Whether groups have columns from anywhere. Ordered by `weight`, columns only were rounded in another order."""
    order = weights.values.get("actorder")
    if order not in (None, False, True, "group", "dynamic", "weight", "static"):
        weights.refuse("actorder", "group, weight")
    return order in (True, "group", "dynamic")


def _modelopt(fields: Fields) -> Quantization:
    left_out = [*_plain(fields, "exclude_modules", _wildcard), *_plain(fields, "ignore", _wildcard)]
    if fields.text("quant_algo").upper() != _MIXED:
        rule = Rule(_everything, _modelopt_layout(fields, _MIXED), fields.stated("quant_algo"))
        return Quantization((*left_out, rule))
    layers = fields.table("quantized_layers")
    entries = {name: layers.table(name) for name in layers.values}
    rules = (
        Rule(_within(name), _modelopt_layout(entry), entry.stated("quant_algo")) for name, entry in entries.items()
    )
    return Quantization((*left_out, *rules), layers.place, tuple(entries))


def _modelopt_layout(fields: Fields, *further: str) -> CheckpointLayout:
    """Args: further: names of algorithms that are no layout, for the error."""
    layout = _MODELOPT_LAYOUTS[fields.choice("quant_algo", (*_MODELOPT_LAYOUTS, *further))]
    if layout.group_size:
        fields.must_be("group_size", layout.group_size)
    return layout


_MIXED = "MIXED_PRECISION"
_MODELOPT_LAYOUTS: dict[str, CheckpointLayout] = {
    "FP8": Float8Layout(weight_format("fp8_tensor")),
    "FP8_PER_CHANNEL_PER_TOKEN": Float8Layout(weight_format("fp8_channel")),
    "FP8_PB_WO": Float8Layout(weight_format("fp8_block")),
    "NVFP4": MODELOPT_NVFP4,
    "W4A16_NVFP4": MODELOPT_NVFP4,
}
_METHODS: dict[str, Callable[[Fields], Quantization]] = {
    "awq": _awq,
    "gptq": _gptq,
    "fp8": _fp8,
    "fbgemm_fp8": _of_one_layout(Float8Layout(weight_format("fp8_channel"))),
    "mxfp4": _of_one_layout(GPT_OSS_MXFP4),
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "modelopt_mixed": _modelopt,
}
