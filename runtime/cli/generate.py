"""`v100 generate`: answer one prompt as it is written, or many as a batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.sampling_options import sampling_options
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

if TYPE_CHECKING:
    from runtime.engine.outputs import RequestOutput
    from runtime.llm import LLM


_STANDARD_INPUT = "-"


@click.command("generate", short_help="Answer one prompt, or many at once.")
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "-f",
    "--file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="One prompt a line, in UTF-8; - is standard input.",
)
@click.option("--raw", is_flag=True, help="Continue the text itself, without the model's chat template.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line and prompt, with token counts and times.")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the operators that ran to a file, as JSON; takes its time.",
)
@engine_options
@sampling_options
def command(
    options: EngineOptions,
    *,
    prompts: tuple[str, ...],
    file: str | None,
    raw: bool,
    as_json: bool,
    trace: Path | None,
    params: SamplingParams,
) -> None:
    """Answer each PROMPT with a language model.

    A single prompt is answered as it is written; several, or a --file of them, are served together and printed in
    their order. Where none is named, all of standard input is the prompt. Without --model or V100_MODEL,
    SmolLM2-135M answers, if its package is installed.
    """
    texts = _texts(prompts, file)
    # Only here: --help and a usage error need no torch.
    from runtime.cli.progress import batch_bar, load
    from runtime.cli.tracing import traced

    llm = load(options)
    asked = [_tokens(llm, text, raw) for text in texts]
    if len(asked) == 1 and not as_json:
        with traced(llm, trace):
            _print_stream(llm, asked[0], params)
        return
    with traced(llm, trace), batch_bar(len(asked)) as progress:
        outputs = llm.generate(asked, params, progress)
    for text, output in zip(texts, outputs, strict=True):
        click.echo(json.dumps(_as_data(text, output)) if as_json else f"> {text}\n{output.outputs[0].text}\n")
    failed = [
        f"prompt {place} of {len(outputs)}: {output.outputs[0].error}"
        for place, output in enumerate(outputs, 1)
        if output.outputs[0].error
    ]
    if failed:
        raise RequestError("\n".join(failed))


def _texts(prompts: Sequence[str], file: str | None) -> list[str]:
    """The prompts, wherever they are. Raises UsageError where there is none."""
    texts = [*prompts]
    if file is not None:
        texts += [line.rstrip("\r") for line in _read(file).split("\n") if line.strip()]
    elif not texts and sys.stdin is not None and not sys.stdin.isatty():
        text = _read(_STANDARD_INPUT).rstrip("\r\n")
        texts += [text] if text else []
    if not texts:
        raise click.UsageError("there is no prompt: name one, or a --file of them, or pipe one in")
    return texts


def _read(file: str) -> str:
    """The text of a file. Raises UsageError where it cannot be had."""
    piped = file == _STANDARD_INPUT
    place = "standard input" if piped else file
    try:
        return (sys.stdin.buffer.read() if piped else Path(file).read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{place}: byte {error.start} is no UTF-8; convert it, as with iconv") from None
    except OSError as error:
        raise click.UsageError(f"{place}: {error.strerror}") from None


def _tokens(llm: LLM, text: str, raw: bool) -> list[int]:
    if raw or not llm.chat_template.source:
        return llm.tokenizer.encode(text)
    return llm.chat_prompt([{"role": "user", "content": text}])


def _print_stream(llm: LLM, prompt: Sequence[int], params: SamplingParams) -> None:
    for output in llm.stream(prompt, params):
        (sequence,) = output.outputs
        click.echo(sequence.delta, nl=False)
    if sequence.text or not sequence.error:
        click.echo()
    if sequence.error:
        raise RequestError(sequence.error)


def _as_data(prompt: str, output: RequestOutput) -> dict[str, object]:
    (sequence,) = output.outputs
    metrics = output.metrics
    return {
        "prompt": prompt,
        "text": sequence.text,
        "finish_reason": sequence.finish_reason,
        "error": sequence.error,
        "prompt_tokens": len(output.prompt_token_ids),
        "cached_tokens": metrics.cached_tokens,
        "output_tokens": sequence.num_tokens,
        "first_token_seconds": metrics.first_token and metrics.first_token - metrics.arrival,
        "seconds": metrics.finished and metrics.finished - metrics.arrival,
    }
