"""`v100 generate`: answer one prompt as it is written, or many as a batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import click

from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.sampling_options import sampling_options
from runtime.engine.sampling_params import SamplingParams

if TYPE_CHECKING:
    from runtime.engine.outputs import RequestOutput
    from runtime.llm import LLM


@click.command("generate")
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@click.option("-f", "--file", type=click.File(encoding="utf-8"), help="One prompt a line; - is standard input.")
@click.option("--raw", is_flag=True, help="Continue the text itself, without the model's chat template.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a prompt, with its tokens and times.")
@engine_options
@sampling_options
def command(
    options: EngineOptions,
    *,
    prompts: tuple[str, ...],
    file: TextIO | None,
    raw: bool,
    as_json: bool,
    params: SamplingParams,
) -> None:
    """Answer each PROMPT with a language model.

    A single prompt is answered as it is written; several, or a --file of them, are served together and printed in
    their order. Without --model, SmolLM2-135M answers, if its package is installed.
    """
    texts = [*prompts, *_lines(file)]
    if not texts:
        raise click.UsageError("no prompt: name one, or a --file of them")
    # Only here: --help and a usage error need no torch.
    from runtime.cli.progress import batch_bar, load

    llm = load(options)
    asked = [_tokens(llm, text, raw) for text in texts]
    if len(asked) == 1 and not as_json:
        _print_stream(llm, asked[0], params)
        return
    with batch_bar(len(asked)) as progress:
        outputs = llm.generate(asked, params, progress)
    for text, output in zip(texts, outputs, strict=True):
        click.echo(json.dumps(_as_data(text, output)) if as_json else _as_text(text, output))
    if any(sequence.error for output in outputs for sequence in output.outputs):
        sys.exit(1)


def _lines(file: TextIO | None) -> list[str]:
    return [] if file is None else [line.rstrip("\n") for line in file if line.strip()]


def _tokens(llm: LLM, text: str, raw: bool) -> list[int]:
    if raw or not llm.chat_template.source:
        return llm.tokenizer.encode(text)
    return llm.chat_prompt([{"role": "user", "content": text}])


def _print_stream(llm: LLM, prompt: Sequence[int], params: SamplingParams) -> None:
    for output in llm.stream(prompt, params):
        (sequence,) = output.outputs
        click.echo(sequence.delta, nl=False)
        if sequence.error:
            click.echo(f"\nerror: {sequence.error}", err=True)
            sys.exit(1)
    click.echo()


def _as_text(prompt: str, output: RequestOutput) -> str:
    (sequence,) = output.outputs
    return f"> {prompt}\n{sequence.text}\n" + (f"error: {sequence.error}\n" if sequence.error else "")


def _as_data(prompt: str, output: RequestOutput) -> dict[str, object]:
    (sequence,) = output.outputs
    metrics = output.metrics
    assert metrics.first_token is not None or sequence.error
    return {
        "prompt": prompt,
        "text": sequence.text,
        "finish_reason": sequence.finish_reason,
        "error": sequence.error,
        "prompt_tokens": len(output.prompt_token_ids),
        "cached_tokens": metrics.cached_tokens,
        "output_tokens": len(sequence.token_ids),
        "first_token_seconds": metrics.first_token and metrics.first_token - metrics.arrival,
        "seconds": metrics.finished and metrics.finished - metrics.arrival,
    }
