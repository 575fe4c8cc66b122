"""`v100 kernels roofline`: what a step of a model must move and compute, and how fast a V100 could be at best."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from runtime.cli.values import COUNT, FORMAT, REQUESTS
from runtime.config import ConfigBuilder, captured
from runtime.config.schema import CODECS
from runtime.errors import ConfigError
from runtime.formats.kv.declarations import codec_spec
from runtime.platforms.chips import V100
from runtime.platforms.protocol import declared

if TYPE_CHECKING:
    from runtime.models.checkpoint import Checkpoint
    from runtime.models.roofline import Operation, StepPlan, StepShape

_MICRO, _MIB, _GIGA = 1e6, 2**20, 1e9
_RESIDUAL_BYTES = {"float16": 2, "float32": 4}
_CONTEXT = 1024


@click.command("roofline", short_help="Say what a step must move and compute, and the least time it takes.")
@click.option("-m", "--model", default="default", metavar="PATH", help="GGUF file, Hugging Face folder, or default.")
@click.option(
    "--format",
    "form",
    type=FORMAT,
    metavar="NAME",
    help="As if all weights were in this format; if not stated, each in that of the file.",
)
@click.option("--batch", type=REQUESTS, default=1, show_default=True, help="Requests in a step.")
@click.option(
    "--context", type=COUNT, help=f"Tokens of each in cache; {_CONTEXT} if not stated, or what the model was made for."
)
@click.option("--prefill", type=COUNT, metavar="T", help="Also a step that reads a prompt of T tokens each.")
@click.option(
    "--codec", type=click.Choice((*CODECS, "fp8")), default="auto", show_default=True, help="Of the KV cache."
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(
    model: str, form: str | None, batch: int, context: int | None, prefill: int | None, codec: str, as_json: bool
) -> None:
    """Say, for each operator of a step, its bytes, flops and launches, and the least time a V100 needs for them.

    A step decodes one token for each of --batch requests. Bytes are those that each launch needs, counted once; those
    of weights are in the format that the model's file has each matrix in, unless --format asks for another. They are
    held against 900 GB/s, and flops against 125 TFLOP/s on tensor cores or 15.7 TFLOP/s in float32. It is a bound,
    not a forecast: launches, latency and whatever a kernel does not hide come on top.
    """
    # Only here: reading a checkpoint needs torch.
    from runtime.models.checkpoint import open_checkpoint
    from runtime.models.default_model import default_model
    from runtime.models.roofline import StepShape

    checkpoint = open_checkpoint(default_model() if model == "default" else model)
    longest = checkpoint.config.max_positions
    for option, tokens in {"--context": context, "--prefill": prefill}.items():
        if tokens is not None and tokens > longest:
            raise ConfigError(f"{option} {tokens}: the model was made for at most {longest} tokens")
    context = min(_CONTEXT, longest) if context is None else context
    steps = {"decode": StepShape((1,) * batch, (context,) * batch)}
    if prefill is not None:
        steps["prefill"] = StepShape((prefill,) * batch, (prefill,) * batch)
    plan = _plan(checkpoint, form, codec)
    operations = {name: plan.operations(step) for name, step in steps.items()}
    layers = len(checkpoint.config.layers)
    if as_json:
        data = {name: _as_data(operations[name], step, layers) for name, step in steps.items()}
        head = {"version": 1, "format": form, "codec": plan.codec.name, "held_dense": list(plan.weights.dense_reasons)}
        click.echo(json.dumps({**head, "steps": data}, indent=2))
        return
    click.echo(_title(plan, form, operations["decode"]))
    for name, step in steps.items():
        click.echo(f"\n{name}: {batch} x {step.row_counts[0]} tokens at a context of {step.contexts[0]}")
        click.echo(_table(operations[name]))
        click.echo(_summary(operations[name], step, layers))
    for reason in plan.weights.dense_reasons:
        click.echo(f"held in float16: {reason}")


def _plan(checkpoint: Checkpoint, form: str | None, codec: str) -> StepPlan:
    """With the settings that an engine on a V100 would have."""
    from runtime.models.held import held_weights
    from runtime.models.roofline import StepPlan

    platform = declared(V100.platform)
    builder = ConfigBuilder({"cache.codec": codec}, captured()).with_platform(platform.defaults(), platform.overrides())
    config = builder.with_model(checkpoint.adapter.defaults).build().config
    return StepPlan(
        weights=held_weights(checkpoint, form, packed=config.model.weights == "packed"),
        residual_bytes=_RESIDUAL_BYTES[config.model.residual_dtype],
        codec=codec_spec(config.cache.codec, config.model.dtype),
        platform=V100.platform,
    )


def _title(plan: StepPlan, form: str | None, operations: Sequence[Operation]) -> str:
    held = ", ".join(dict.fromkeys(each.format for each in operations if each.format))
    weights = f"weights as the file has them: {held}" if form is None else f"weights {form}"
    return f"{plan.weights.config.family}, {weights}; cache {plan.codec.name}; on a V100"


def _table(operations: Sequence[Operation]) -> str:
    lines = [
        f"  {'operator':<18} {'for':<24} {'weights':<11} {'calls':>5} {'launches':>8} {'MiB read':>9} "
        f"{'written':>8} {'GFLOP':>8} {'us':>9}"
    ]
    for each in operations:
        cost, calls = each.cost, each.calls
        lines.append(
            f"  {each.operator:<18} {each.role:<24} {each.format:<11} {calls:>5} {calls * cost.launches:>8} "
            f"{calls * cost.read / _MIB:>9.3f} {calls * cost.written / _MIB:>8.3f} "
            f"{calls * cost.flops / _GIGA:>8.3f} {each.seconds(V100) * _MICRO:>9.1f}"
        )
    return "\n".join(lines)


def _summary(operations: Sequence[Operation], step: StepShape, layers: int) -> str:
    totals = _totals(operations, step, layers)
    return (
        f"  {totals['launches']} launches, {totals['launches_per_layer']:g} a layer; "
        f"{totals['bytes'] / _GIGA:.3f} GB, {totals['flops'] / _GIGA:.3f} GFLOP; at least "
        f"{totals['seconds'] * 1e3:.3f} ms, so at most {totals['tokens_per_second']:.0f} tokens/s"
    )


def _totals(operations: Sequence[Operation], step: StepShape, layers: int) -> dict[str, float]:
    seconds = sum(each.seconds(V100) for each in operations)
    in_layers = sum(each.calls * each.cost.launches for each in operations if each.in_layers)
    return {
        "bytes": sum(each.calls * each.cost.bytes_moved for each in operations),
        "flops": sum(each.calls * each.cost.flops for each in operations),
        "launches": sum(each.calls * each.cost.launches for each in operations),
        "launches_per_layer": in_layers / layers,
        "seconds": seconds,
        "tokens_per_second": step.rows / seconds,
    }


def _as_data(operations: Sequence[Operation], step: StepShape, layers: int) -> dict[str, object]:
    rows = [
        {
            "operator": each.operator,
            "for": each.role,
            "format": each.format or None,
            "calls": each.calls,
            "in_layers": each.in_layers,
            **asdict(each.cost),
            "seconds": each.seconds(V100),
        }
        for each in operations
    ]
    return {"requests": asdict(step), "operations": rows, "totals": _totals(operations, step, layers)}
