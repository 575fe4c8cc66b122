"""How fast the runtime answers on a CPU, next to transformers: one model, one dtype, one process, the same threads.

Run it with `make bench-runtime`, or `.venv/bin/python -m benchmarks.runtime_cpu --help`.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import mean

import click
import torch

from benchmarks.engines import Engine, LlamaCpp, Tokens, Transformers, Voltgate
from benchmarks.page import Bar, machine, table_of, write_between_markers
from benchmarks.record import Figure, json_option, write_measurement
from benchmarks.requantize import write_checkpoint
from benchmarks.stub_model import step_seconds
from benchmarks.timing import Command, Series
from benchmarks.weight_recipes import recipe
from runtime.models.checkpoint import open_checkpoint
from runtime.models.default_model import default_model

_ANSWER = 64
_CONCURRENT = 16
_LONG_PROMPT = 512
_HOST_REQUESTS = (16, 32, 64, 128)
_MIB = 1024 * 1024
_PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "def fibonacci(n):",
    "Water boils at",
)


OURS, INT8, THEIRS, LLAMA_CPP = "voltgate", "voltgate, int8 checkpoint", "transformers", "llama.cpp"
ONE = f"one request, {_ANSWER} tokens"
BATCH = f"{_CONCURRENT} requests at once, {_ANSWER} tokens each"
FIRST = f"first token of {_LONG_PROMPT}"
AGAIN = f"first token of the same {_LONG_PROMPT} again"


@dataclass
class Bench:
    """The engines with the model loaded, and everything measured on them, in seconds by (what, engine)."""

    ours: Voltgate
    others: dict[str, Engine]
    series: dict[tuple[str, str], Series] = field(default_factory=lambda: defaultdict(lambda: Series([])))
    agreeing: int = 0
    compared: int = 0

    def median(self, what: str, engine: str = OURS) -> float:
        return self.series[what, engine].median

    def round(self, number: int) -> None:
        """Measure everything once, the engines in turn, so that a slow minute of the machine falls on all of them."""
        for text in _PROMPTS:
            prompt = self._encoded(f"{text} ({number})")
            answers = {name: self._timed(ONE, name, prompt, _ANSWER) for name in (OURS, *self.others)}
            self.compared += 1
            self.agreeing += answers[OURS] == answers[THEIRS]
        self._batch([self._encoded(f"{_PROMPTS[index % 4]} ({number}, {index})") for index in range(_CONCURRENT)])
        prompt = random.Random(number).choices(range(1000, 40_000), k=_LONG_PROMPT)
        for name in (OURS, *self.others):
            self._timed(FIRST, name, prompt, 1)
        self._timed(AGAIN, OURS, prompt, 1)

    def _encoded(self, text: str) -> list[int]:
        return self.ours.llm.tokenizer.encode(text)

    def _timed(self, what: str, name: str, prompt: Tokens, tokens: int) -> list[int]:
        engine = self.ours if name == OURS else self.others[name]
        started = time.perf_counter()
        answer = engine.answer(prompt, tokens)
        self._note(what, name, time.perf_counter() - started)
        return answer

    def _batch(self, prompts: list[list[int]]) -> None:
        started = time.perf_counter()
        self.ours.answers(prompts, _ANSWER)
        self._note(BATCH, OURS, time.perf_counter() - started)

    def _note(self, what: str, name: str, seconds: float) -> None:
        self.series[what, name].seconds.append(seconds)
        click.echo(f"{seconds:8.3f} s  {name}: {what}", err=True)


def load_figures(model: Path) -> dict[str, float]:
    """Seconds and bytes of loading the model, in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.loading", str(model)]
    figures: dict[str, float] = json.loads(Command(argv, Path.cwd(), {}).output())
    return figures


def quantised(model: Path) -> Voltgate:
    """The same model, loaded from a checkpoint of 8-bit integers."""
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(open_checkpoint(model), recipe("int8"), Path(folder))
        return Voltgate(Path(folder), tokenizer=model)


def figures(bench: Bench, runs: int) -> dict[str, Figure]:
    """The mean of every round, by engine and what it did."""
    found = {}
    for (what, engine), series in bench.series.items():
        count = len(series.seconds) // runs
        rounds = (series.seconds[start : start + count] for start in range(0, len(series.seconds), count))
        found[f"{engine}: {what}"] = Figure("s", [mean(each) for each in rounds])
    return found


def bars(bench: Bench, loading: dict[str, float], host: dict[int, float]) -> list[Bar]:
    one, theirs = bench.median(ONE), bench.median(ONE, THEIRS)
    batch = bench.median(BATCH) / _CONCURRENT
    least, most = min(_HOST_REQUESTS), max(_HOST_REQUESTS)
    growth = (host[most] / host[least]) / (most / least)
    return [
        Bar("decode, one request", theirs / one, 1.3, "x transformers", at_least=True),
        Bar(f"{_CONCURRENT} requests at once", theirs / batch, 6, "x transformers one at a time", at_least=True),
        # Decoded once when it is loaded, a quantised model computes what any other does: the rest is noise.
        Bar("decode, one request, int8 checkpoint", one / bench.median(ONE, INT8), 1.0, "x float32", at_least=True),
        Bar(FIRST, bench.median(FIRST) / bench.median(FIRST, THEIRS), 1, "x transformers"),
        Bar(AGAIN, bench.median(FIRST) / bench.median(AGAIN), 5, "x faster than the first time", at_least=True),
        Bar("host work of a step, 64 requests", host[64] * 1000, 1, "ms"),
        Bar(f"host work, growth from {least} to {most} requests", growth, 1, "x linear"),
        Bar("memory while loading", loading["peak"] / loading["resident"], 1.3, "x resident after it"),
    ]


def render(bench: Bench, loading: dict[str, float], host: dict[int, float], runs: int) -> str:
    """Everything measured, as Markdown."""
    engines = (OURS, *bench.others)
    lines = [
        f"{machine()}, {torch.get_num_threads()} threads. voltgate {version('voltgate')}, torch {torch.__version__},"
        f" transformers {version('transformers')}.",
        f"SmolLM2-135M-Instruct in float32, greedy; medians of {runs} rounds, each engine in turn."
        f" Answers equal to those of transformers: {bench.agreeing} of {bench.compared}.",
        "",
        f"| what | {' | '.join(engines)} |",
        f"| --- |{' ---: |' * len(engines)}",
    ]
    for what in (ONE, BATCH, FIRST, AGAIN):
        cells = (f"{bench.median(what, name):.3f} s" if (what, name) in bench.series else "" for name in engines)
        lines.append(f"| {what} | {' | '.join(cells)} |")
    steps = ", ".join(f"{seconds * 1000:.2f} ms at {requests}" for requests, seconds in host.items())
    lines += [
        "",
        f"Host work of one engine step with a stub model: {steps} running requests.",
        f"Loading: {loading['seconds']:.1f} s, {loading['weights'] / _MIB:.0f} MiB of weights,"
        f" {loading['resident'] / _MIB:.0f} MiB resident after it, {loading['peak'] / _MIB:.0f} MiB at most.",
        "",
        *table_of(bars(bench, loading, host)),
    ]
    return "\n".join(lines)


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds to run.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True, help="Threads of each engine.")
@click.option("--llama-cpp", is_flag=True, help="Compare with llama.cpp too; builds it first, which takes minutes.")
@click.option(
    "--write",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="DOCUMENT",
    help="Also write the result between the markers of a Markdown document.",
)
@json_option
def main(runs: int, threads: int, llama_cpp: bool, write: Path | None, record: Path | None) -> None:
    """Measure this runtime and transformers with SmolLM2-135M on this machine's CPU."""
    torch.set_num_threads(threads)
    model = default_model()
    loading = load_figures(model)
    bench = Bench(Voltgate(model), {INT8: quantised(model), THEIRS: Transformers(model)})
    if llama_cpp:
        bench.others[LLAMA_CPP] = LlamaCpp(model, threads)
    host = {requests: step_seconds(requests, bench.ours.llm.tokenizer) for requests in _HOST_REQUESTS}
    for number in range(runs):
        bench.round(number)
    text = render(bench, loading, host, runs)
    click.echo(text)
    if write is not None:
        write_between_markers(write, "runtime", text)
    if record is not None:
        command = f'make bench-runtime ARGS="--runs={runs} --threads={threads}"'
        write_measurement(record, "cpu", command, figures(bench, runs))


if __name__ == "__main__":
    main()
