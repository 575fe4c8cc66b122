"""`v100 bench`: how fast a model answers here, by the number of requests that it serves at once."""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

import click

from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.values import REQUESTS
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

if TYPE_CHECKING:
    from runtime.llm import LLM


_MOST_TOKENS = 1 << 20
"""More than models attend to, and few enough to be made up before the engine refuses them."""


@dataclass(frozen=True)
class _Round:
    """Medians of one number of concurrent requests: seconds, and tokens a second."""

    requests: int
    first_token_seconds: float
    decode_tokens_per_second: float
    output_tokens_per_second: float


@click.command("bench", short_help="Measure a model on this machine.")
@click.option(
    "--prompt-tokens", type=click.IntRange(1, _MOST_TOKENS), default=128, show_default=True, help="Tokens of a prompt."
)
@click.option(
    "--output-tokens", type=click.IntRange(2, _MOST_TOKENS), default=64, show_default=True, help="Tokens of an answer."
)
@click.option(
    "--requests",
    "concurrencies",
    type=REQUESTS,
    multiple=True,
    default=(1, 4, 16),
    show_default=True,
    help="Requests served at once; may be repeated.",
)
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Runs; medians are printed.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@engine_options
def command(
    options: EngineOptions,
    *,
    prompt_tokens: int,
    output_tokens: int,
    concurrencies: tuple[int, ...],
    runs: int,
    as_json: bool,
) -> None:
    """Measure a model on this machine, greedily, on random prompts that share nothing.

    The time to the first token is of the request that waits longest; decoding is the rate of all requests together
    once each has its first token; output is all tokens over the whole time.
    """
    from runtime.cli.progress import load

    llm = load(options)
    _measure(llm, 1, prompt_tokens, 2, seed=-1)  # the first call prepares kernels and threads
    rounds = [
        _median([_measure(llm, count, prompt_tokens, output_tokens, seed) for seed in range(runs)])
        for count in concurrencies
    ]
    setting = {
        **_setting(llm),
        "prompt_tokens": prompt_tokens,
        "output_tokens": output_tokens,
        "runs": runs,
    }
    click.echo(_as_json(setting, rounds) if as_json else _as_table(setting, rounds))


def _setting(llm: LLM) -> dict[str, object]:
    """What figures mean nothing without."""
    config = llm.resolved.config
    return {
        "model": config.model.path,
        "platform": llm.platform.name,
        "qualified": llm.platform.qualified,
        "dtype": config.model.dtype,
        "cache": config.cache.codec,
        "threads": llm.threads,
    }


def _as_json(setting: dict[str, object], rounds: list[_Round]) -> str:
    return json.dumps({**setting, "rounds": [asdict(figure) for figure in rounds]}, indent=2)


def _as_table(setting: dict[str, object], rounds: list[_Round]) -> str:
    lines = [
        str(setting["model"]),
        "{platform}, {dtype}, cache {cache}, {threads} threads; "
        "{prompt_tokens} prompt and {output_tokens} output tokens, medians of {runs}".format_map(setting),
        "requests   first token    decode tok/s    output tok/s",
    ]
    lines += [
        f"{figure.requests:8d}   {figure.first_token_seconds * 1000:8.1f} ms   "
        f"{figure.decode_tokens_per_second:13.1f}   {figure.output_tokens_per_second:13.1f}"
        for figure in rounds
    ]
    return "\n".join(lines)


def _measure(llm: LLM, count: int, prompt_tokens: int, output_tokens: int, seed: int) -> _Round:
    numbers = random.Random(f"{seed} {count}")
    vocabulary = range(llm.tokenizer.vocab_size)
    prompts = [numbers.choices(vocabulary, k=prompt_tokens) for _ in range(count)]
    # Answers of any other length would be another measurement: what does not fit is refused.
    params = SamplingParams(temperature=0, max_tokens=output_tokens, min_tokens=output_tokens, ignore_eos=True)
    started = time.monotonic()
    outputs = llm.generate(prompts, params)
    ended = time.monotonic()
    if failed := next((output.outputs[0].error for output in outputs if output.outputs[0].error), None):
        raise RequestError(failed)
    first = max(output.metrics.first_token or ended for output in outputs)
    return _Round(
        requests=count,
        first_token_seconds=first - started,
        decode_tokens_per_second=count * (output_tokens - 1) / (ended - first),
        output_tokens_per_second=count * output_tokens / (ended - started),
    )


def _median(rounds: list[_Round]) -> _Round:
    return _Round(
        rounds[0].requests,
        median(one.first_token_seconds for one in rounds),
        median(one.decode_tokens_per_second for one in rounds),
        median(one.output_tokens_per_second for one in rounds),
    )
