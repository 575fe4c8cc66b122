"""`v100 chat`: a conversation on a real terminal, and one that is piped in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pseudo_terminal import CTRL_C, CTRL_D, Terminal
from tiny_checkpoint import MAX_POSITIONS, write_tiny_checkpoint
from v100_types import V100

from runtime import LLM, SamplingParams

Answers = Callable[..., list[str]]
SHORT = ("--max-tokens", "8")


@pytest.fixture(scope="module")
def oracle(tiny_model: Path) -> Answers:
    """The answers of one conversation, by the library."""
    llm = LLM(tiny_model, environ={}, settings={"max_num_seqs": 8})

    def converse(*questions: str, system: str = "") -> list[str]:
        messages = [{"role": "system", "content": system}] if system else []
        for question in questions:
            messages.append({"role": "user", "content": question})
            answer = llm.chat(messages, SamplingParams(temperature=0, max_tokens=8)).outputs[0].text
            messages.append({"role": "assistant", "content": answer})
        return [message["content"] for message in messages if message["role"] == "assistant"]

    return converse


def test_lines_that_are_piped_in_are_one_conversation(v100: V100, oracle: Answers) -> None:
    done = v100("chat", *SHORT, stdin=b"the\n\n ant \nan\n")

    assert (done.exit_code, done.stdout.splitlines()) == (0, oracle("the", "ant", "an"))
    assert oracle("the", "ant", "an")[2] != oracle("ant", "an")[1] != oracle("an")[0]
    assert done.stderr.count("\n") == 1


def test_clear_forgets_and_quit_leaves(v100: V100, oracle: Answers) -> None:
    done = v100("chat", *SHORT, stdin=b"the\n/clear\nant\n/quit\nan\n")

    assert done.stdout.splitlines() == [*oracle("the"), *oracle("ant")]


def test_clear_keeps_what_the_model_was_told(v100: V100, oracle: Answers) -> None:
    done = v100("chat", *SHORT, "--system", "be an ant", stdin=b"the\n/clear\nthe\n")

    assert done.stdout.splitlines() == oracle("the", system="be an ant") * 2
    assert oracle("the", system="be an ant") != oracle("the")


def test_an_unknown_command_shows_those_that_there_are_and_asks_nobody(v100: V100, oracle: Answers) -> None:
    done = v100("chat", *SHORT, stdin=b"/exit\n/etc is a folder\n")

    assert done.stdout.splitlines() == oracle("/etc is a folder")
    assert done.stderr.count("/clear forgets the conversation") == 2


def test_a_conversation_that_is_too_long_gives_one_line_and_goes_on(v100: V100, oracle: Answers) -> None:
    question = "b" * 70

    done = v100("chat", *SHORT, "--max-model-len", "100", stdin=f"the\n{question}\n/clear\nant\n".encode())

    assert (done.exit_code, done.stdout.splitlines()) == (0, [*oracle("the"), *oracle("ant")])
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert "at most 100 tokens" in error
    assert error.endswith("/clear forgets the conversation")


def test_a_model_that_fails_in_an_answer_says_where(v100: V100, tmp_path: Path) -> None:
    broken = write_tiny_checkpoint(tmp_path, broken_layer=0)

    done = v100("chat", "--model", str(broken), stdin=b"the\n")

    assert "error: layers.0.mlp: a value is not finite" in done.stderr


def test_a_model_without_a_template_cannot_chat(v100: V100, tmp_path: Path) -> None:
    plain = write_tiny_checkpoint(tmp_path, chat_template="")

    done = v100("chat", "--model", str(plain), stdin=b"the\n")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: this model has no chat template; continue texts with it: `v100 generate --raw`\n"


def test_input_that_is_no_text_is_refused(v100: V100) -> None:
    done = v100("chat", stdin=b"\xff\n")

    assert done.exit_code == 2
    assert "no UTF-8" in done.stderr


def test_a_conversation_on_a_terminal(terminal: Callable[..., Terminal], oracle: Answers) -> None:
    """One process, for it takes seconds to start: every turn, and then every way to stop."""
    first, second = oracle("the", "ant")
    running = terminal("chat", *SHORT)

    running.until("Ctrl-C stops an answer.\n")
    running.until("> ")
    running.press("the\r")
    running.until(f"{first}\n")
    running.until("(8 tokens, ")
    running.until("cut off by --max-tokens or --max-model-len)")
    running.until("> ")
    running.press("ant\r")
    running.until(f"{second}\n")
    running.until("> ")
    running.press("/clear\r")
    running.until("> ")
    running.press("half a line")
    running.until("half a line")  # Ctrl-C drops unread keys; readline, told of them, would then wait for others, deaf
    running.until("(Ctrl-D leaves)", pressing=CTRL_C)  # one that comes just before readline waits is not heard
    running.until("> ")
    running.press("ant\r")
    running.until(f"{oracle('ant')[0]}\n")
    running.until("> ")
    running.press(CTRL_D)

    running.rest()
    assert running.process.wait() == 0


def test_an_interrupt_stops_the_answer_and_not_the_program(terminal: Callable[..., Terminal], tiny_model: Path) -> None:
    llm = LLM(tiny_model, environ={}, settings={"max_num_seqs": 8})
    question = {"role": "user", "content": "the"}
    beginning = llm.chat([question], SamplingParams(temperature=0, max_tokens=8)).outputs[0].text
    running = terminal("chat", "--max-tokens", str(MAX_POSITIONS))

    running.until("> ")
    running.press("the\r")
    running.until(beginning)
    running.press(CTRL_C)

    assert int(running.until(" tokens, ").rpartition("(")[2].split()[0]) < MAX_POSITIONS - 50
    running.until("stopped)")
    running.until("> ")
    running.press("/quit\r")
    running.rest()
    assert running.process.wait() == 0
