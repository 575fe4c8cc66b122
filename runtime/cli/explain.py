"""`v100 explain`: which route a call would get, and what every setting would be. Needs no GPU, no torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, get_args

import click

from runtime.attention.declarations import LayerShape, RouteSpec, Stage
from runtime.attention.selector import ROUTES, RouteContext
from runtime.candidates import Verdict
from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.explain_linear import AskedProduct, linear_report
from runtime.cli.values import BOUND, COUNT, FORMAT, HEADS
from runtime.cli.verdicts import verdict_lines, verdict_rows
from runtime.config import ConfigBuilder, Resolved, captured, runtime_policy_report
from runtime.config.aliases import variables_of
from runtime.kernels.selector import select_kernels
from runtime.platforms import current
from runtime.platforms.protocol import declared

if TYPE_CHECKING:
    from runtime.models.checkpoint import Checkpoint

_CARD = "sm70"
_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True)
class _Call:
    """The call that is asked about, as far as the command line says it."""

    stage: Stage | None
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    window: int | None
    softcap: float | None
    rows: tuple[int, ...]

    @property
    def has_shape(self) -> bool:
        """Whether the layer was described, if only in part."""
        stated = self.heads, self.kv_heads, self.head_dim, self.window, self.softcap
        return any(value is not None for value in stated)

    def shape(self) -> LayerShape:
        heads, kv_heads, head_dim = self.heads or 32, self.kv_heads or 8, self.head_dim or 128
        if heads % kv_heads:
            raise click.UsageError(f"--heads {heads} is no multiple of --kv-heads {kv_heads}")
        return LayerShape(heads, kv_heads, head_dim, head_dim**-0.5, self.window, self.softcap)

    def stages(self) -> tuple[Stage, ...]:
        return _STAGES if self.stage is None else (self.stage,)


@click.command("explain", short_help="Say which attention route runs, and why; or list the settings.")
@engine_options
@click.option("--config", "of_config", is_flag=True, help="Every setting, its value and where that comes from.")
@click.option("--stage", type=click.Choice(_STAGES), help="One stage; all of them if none is named.")
@click.option("--heads", type=HEADS, help="Query heads; 32 if not stated.")
@click.option("--kv-heads", type=HEADS, help="Key and value heads; 8 if not stated.")
@click.option("--head-dim", type=COUNT, help="Size of a head; 128 if not stated.")
@click.option("--window", type=COUNT, help="Tokens of a sliding window.")
@click.option("--softcap", type=BOUND, help="Bound of the scores.")
@click.option("--rows", multiple=True, type=COUNT, help="New tokens of a request; may be repeated.")
@click.option("--linear", "of_linear", is_flag=True, help="Products with weights instead, each of --rows rows.")
@click.option(
    "--format",
    "weights",
    type=FORMAT,
    metavar="NAME",
    help="Of weights; if not stated, those of the --model, or dense.",
)
@click.option("--outputs", type=COUNT, help="Outputs of a product; 4096 if not stated.")
@click.option("--inputs", type=COUNT, help="Inputs of a product; 4096 if not stated.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(
    options: EngineOptions,
    of_config: bool,
    of_linear: bool,
    as_json: bool,
    weights: str | None,
    outputs: int | None,
    inputs: int | None,
    **call: object,
) -> None:
    """Say which attention route a call would get, and why not the others.

    The platform is sm70 unless --platform names another: the answer comes from declarations, and the card need not be
    here. The layer is what --heads and the options after it describe, or those of the --model. With --linear, say who
    would multiply with each matrix of the --model, in the format that its file has it in or as if it were in --format;
    or with the one that --format, --outputs and --inputs describe. With --config, say what every setting would be
    instead: on this machine, unless --platform names another.
    """
    asked = _Call(**call)  # type: ignore[arg-type]
    product = AskedProduct(weights, outputs, inputs, asked.rows)
    if product.is_described and not of_linear:
        raise click.UsageError("--format, --outputs and --inputs describe a product with weights: add --linear")
    if of_linear and (asked.has_shape or asked.stage is not None):
        raise click.UsageError(
            "--stage, --heads and what else describes attention say nothing of products: leave them out"
        )
    platform = options.platform
    if platform == "auto":
        platform = current().name if of_config else _CARD
    if options.model and asked.has_shape:
        raise click.UsageError("--model says what its heads are: leave out --heads and what else describes a layer")
    if options.model and product.has_shape:
        raise click.UsageError("--model says what its matrices are: leave out --outputs and --inputs")
    resolved, checkpoint = _planned(options, platform, is_described=asked.has_shape or product.has_shape)
    if of_config:
        report = {"platform": platform, **runtime_policy_report(resolved)}
        click.echo(json.dumps(report, indent=2) if as_json else _settings_table(platform, resolved))
        return
    if of_linear:
        click.echo(linear_report(product, checkpoint, platform, resolved.config, as_json=as_json))
        return
    shapes = (asked.shape(),) if checkpoint is None else tuple(dict.fromkeys(checkpoint.config.layer_shapes()))
    contexts = [_context(platform, resolved, stage, shape, asked) for shape in shapes for stage in asked.stages()]
    explained = [(context, ROUTES.explain(context, resolved.config.attention.route)) for context in contexts]
    if as_json:
        click.echo(json.dumps([_as_data(context, rows) for context, rows in explained], indent=2))
    else:
        tables = [_routes_table(context, rows) for context, rows in explained]
        click.echo("\n\n".join([*tables, _operators_line(platform, resolved.config.model.dtype)]))


def _planned(options: EngineOptions, platform: str, *, is_described: bool) -> tuple[Resolved, Checkpoint | None]:
    """The settings as they would be on a platform, and the model that is asked about; None where there is none."""
    builder = ConfigBuilder(options.explicit(), captured())
    declaration = declared(platform)
    builder.with_platform(declaration.defaults(), declaration.overrides())
    path = str(builder.settled("model.path"))
    if not path or is_described:
        return builder.build(), None
    # Only here: reading a checkpoint needs torch.
    from runtime.models.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(path)
    return builder.with_model(checkpoint.adapter.defaults).build(), checkpoint


def _context(platform: str, resolved: Resolved, stage: Stage, shape: LayerShape, asked: _Call) -> RouteContext:
    config = resolved.config
    return RouteContext(
        stage=stage,
        codec=config.cache.codec,
        shape=shape,
        block_size=config.cache.block_size,
        query_lens=asked.rows,
        dtype=config.model.dtype,
        platform=platform,
    )


def _routes_table(context: RouteContext, verdicts: Sequence[Verdict[RouteSpec]]) -> str:
    lines = zip(verdicts, verdict_lines(verdicts), strict=True)
    return "\n".join([_title(context), *(line for row, line in lines if ROUTES.serves(row.spec, context))])


def _operators_line(platform: str, dtype: str) -> str:
    chosen = select_kernels(platform, dtype)
    why = f" ({chosen.refusal}{f': run `{chosen.remedy}`' if chosen.remedy else ''})" if chosen.refusal else ""
    return f"norms, activations, cache writes and sampling on {platform} in {dtype}: {chosen.name}{why}"


def _title(context: RouteContext) -> str:
    shape = context.shape
    limits = {"window": shape.window, "soft cap": shape.softcap}
    return ", ".join(
        [
            f"{context.stage} on {context.platform} in {context.dtype}: {shape.num_heads} query heads",
            f"{shape.num_kv_heads} KV heads",
            f"head size {shape.head_dim}",
            *(f"{name} {limit:g}" for name, limit in limits.items() if limit is not None),
            f"cache {context.codec} in blocks of {context.block_size}",
        ]
    )


def _as_data(context: RouteContext, verdicts: Sequence[Verdict[RouteSpec]]) -> dict[str, object]:
    return {
        "call": asdict(context),
        "routes": verdict_rows("route", verdicts),
        "operators": asdict(select_kernels(context.platform, context.dtype)),
    }


def _settings_table(platform: str, resolved: Resolved) -> str:
    values = {path: json.dumps(provenance.chosen.value) for path, provenance in resolved.provenance.items()}
    widths = max(map(len, values)), max(map(len, values.values()))
    lines = [f"settings on {platform}, strongest source first: explicit, environment, platform, model, declared"]
    for path, provenance in resolved.provenance.items():
        chosen = provenance.chosen
        source = f"{chosen.source} {chosen.origin}: {chosen.reason}" if chosen.origin else chosen.reason
        if variables := variables_of(path):
            source += f" [{', '.join(variables)}]"
        lines.append(f"  {path:<{widths[0]}}  {values[path]:<{widths[1]}}  {source}")
    return "\n".join(lines)
