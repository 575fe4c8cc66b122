"""`v100 chat`: a conversation in the terminal, streamed, with the model's own chat template."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event
from typing import TYPE_CHECKING

import click

from runtime.cli.engine_options import EngineOptions, engine_options
from runtime.cli.sampling_options import sampling_options
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

if TYPE_CHECKING:
    from runtime.llm import LLM, Message

_HELP = "/clear forgets the conversation, /quit or Ctrl-D leaves, Ctrl-C stops an answer."


@click.command("chat")
@click.option("--system", default="", metavar="TEXT", help="What the model is told before the conversation.")
@engine_options
@sampling_options
def command(options: EngineOptions, *, system: str, params: SamplingParams) -> None:
    """Talk with a language model.

    Each answer is written as it comes. Ctrl-C stops the answer, not the program; the conversation goes on with what
    was said. The prefix cache keeps what was computed for the turns before.
    """
    from runtime.cli.progress import load

    llm = load(options)
    if not llm.chat_template.source:
        raise RequestError("this model has no chat template: it continues texts, with `v100 generate --raw`")
    click.echo(_HELP, err=True)
    opening: list[Message] = [{"role": "system", "content": system}] if system else []
    messages = list(opening)
    for line in _asked():
        if line == "/quit":
            return
        if line == "/clear":
            messages = list(opening)
            continue
        turn = [*messages, {"role": "user", "content": line}]
        try:
            answer = _answer(llm, turn, params)
        except RequestError as error:
            click.echo(f"error: {error}; /clear forgets the conversation", err=True)
            continue
        messages = [*turn, {"role": "assistant", "content": answer}]


def _asked() -> Iterator[str]:
    """What the user types, line by line, until the end of the input. Ctrl-C at the prompt empties the line."""
    terminal = sys.stdin.isatty()
    while True:
        try:
            line = input("> " if terminal else "").strip()
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D leaves)", err=True)
            continue
        except EOFError:
            if terminal:
                click.echo(err=True)
            return
        if line:
            yield line


def _answer(llm: LLM, messages: list[Message], params: SamplingParams) -> str:
    """Write the answer as it comes, and return what of it was written."""
    said: list[str] = []
    started, tokens = time.monotonic(), 0
    with closing(llm.stream(llm.chat_prompt(messages), params)) as outputs, _stop_by_interrupt() as stopped:
        for output in outputs:
            (sequence,) = output.outputs
            if sequence.error:
                raise RequestError(sequence.error)
            tokens = len(sequence.token_ids)
            said.append(sequence.delta)
            click.echo(sequence.delta, nl=False)
            sys.stdout.flush()
            if stopped.is_set():
                click.echo(" (stopped)", err=True, nl=False)
                break
    click.echo()
    if sys.stderr.isatty():
        click.secho(f"{tokens} tokens, {tokens / (time.monotonic() - started):.1f} tok/s", dim=True, err=True)
    return "".join(said)


@contextmanager
def _stop_by_interrupt() -> Iterator[Event]:
    """Ctrl-C sets the event, so that the step that is being computed ends in good order."""
    stopped = Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: stopped.set())
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
