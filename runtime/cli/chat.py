"""`v100 chat`: a conversation in the terminal, streamed, with the model's own chat template."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING

import click

from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.sampling_options import sampling_options
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import ConfigError, RequestError

if TYPE_CHECKING:
    from runtime.engine.outputs import CompletionOutput
    from runtime.llm import LLM, Message

_HELP = "/clear forgets the conversation, /quit or Ctrl-D leaves, Ctrl-C stops an answer."


@click.command("chat", short_help="Talk with a model.")
@click.option("--system", default="", metavar="TEXT", help="What the model is told before the conversation.")
@engine_options
@sampling_options
def command(options: EngineOptions, *, system: str, params: SamplingParams) -> None:
    """Talk with a language model.

    Each answer is written as it comes. Ctrl-C stops the answer, not the program; the conversation goes on with what
    was said. The prefix cache keeps what was computed for the turns before. Lines that are piped in are answered one
    by one. /clear forgets the conversation, /quit or Ctrl-D leaves.
    """
    from runtime.cli.progress import load

    llm = load(options)
    if not llm.chat_template.source:
        raise ConfigError("this model has no chat template; continue texts with it: `v100 generate --raw`")
    click.echo(_HELP, err=True)
    opening: list[Message] = [{"role": "system", "content": system}] if system else []
    messages = list(opening)
    for line in _lines():
        if line == "/quit":
            return
        if line == "/clear":
            messages = list(opening)
        elif line.startswith("/") and line[1:].isalpha():
            click.echo(_HELP, err=True)
        else:
            turn = [*messages, {"role": "user", "content": line}]
            try:
                messages = [*turn, {"role": "assistant", "content": _answer(llm, turn, params)}]
            except RequestError as error:
                click.echo(f"error: {error}; /clear forgets the conversation", err=True)


def _lines() -> Iterator[str]:
    """What the user types, line by line, until the end of the input. Ctrl-C at the prompt empties the line."""
    terminal = sys.stdin.isatty()
    if terminal:
        with suppress(ImportError):
            import readline  # noqa: F401 - its import gives `input` line editing and a history
    while True:
        try:
            line = _ask(terminal).strip()
        except KeyboardInterrupt:
            if not terminal:
                raise
            click.echo("\n(Ctrl-D leaves)", err=True)
        except UnicodeDecodeError:
            raise click.UsageError("the input is no UTF-8") from None
        except EOFError:
            if terminal:
                click.echo(err=True)
            return
        else:
            if line:
                yield line


def _ask(terminal: bool) -> str:
    """Read a line. The answers alone go to an output that is no terminal, so the prompt then does not."""
    if terminal and not sys.stdout.isatty():
        click.echo("> ", nl=False, err=True)
    return input("> " if terminal and sys.stdout.isatty() else "")


def _answer(llm: LLM, messages: list[Message], params: SamplingParams) -> str:
    """Write the answer as it comes, and return what of it was written.

    Raises:
        RequestError: the conversation cannot be answered, or the model failed in the middle.
    """
    started = time.monotonic()
    prompt = llm.chat_prompt(messages)
    with closing(llm.stream(prompt, params)) as outputs, _stop_by_interrupt() as stopped:
        for output in outputs:
            (sequence,) = output.outputs
            click.echo(sequence.delta, nl=False)
            if stopped.is_set():
                break
    click.echo()
    if sequence.error:
        raise RequestError(sequence.error)
    if sys.stderr.isatty():
        click.secho(_summary(sequence, time.monotonic() - started), dim=True, err=True)
    return sequence.text


def _summary(sequence: CompletionOutput, seconds: float) -> str:
    endings = {None: ", stopped", "length": ", cut off by --max-tokens or --max-model-len"}
    tokens = sequence.num_tokens
    return f"({tokens} tokens, {tokens / seconds:.1f} tok/s{endings.get(sequence.finish_reason, '')})"


@contextmanager
def _stop_by_interrupt() -> Iterator[Event]:
    """Ctrl-C sets the event, so that the step that is being computed ends in good order."""
    stopped = Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: stopped.set())
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
