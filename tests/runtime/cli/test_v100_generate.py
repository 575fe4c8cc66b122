"""`v100 generate`: one prompt or many, from wherever they come."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pseudo_terminal import Terminal
from tiny_checkpoint import write_tiny_checkpoint
from v100_types import V100

from runtime import LLM, SamplingParams

SHORT = ("--max-tokens", "8")


@pytest.fixture(scope="module")
def oracle(tiny_model: Path) -> Callable[[str], str]:
    """What the model answers to a text as it is, by the library."""
    llm = LLM(tiny_model, environ={}, settings={"max_num_seqs": 8})

    def answer(text: str) -> str:
        return llm.generate(text, SamplingParams(temperature=0, max_tokens=8))[0].outputs[0].text

    return answer


def asked(text: str) -> str:
    """A question in the tiny model's chat template."""
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def json_lines(done: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_standard_output_has_the_answer_only(v100: V100, oracle: Callable[[str], str]) -> None:
    done = v100("generate", "the ant", *SHORT)

    assert (done.exit_code, done.stdout, done.stderr) == (0, oracle(asked("the ant")) + "\n", "")


def test_raw_continues_the_text_itself(v100: V100, oracle: Callable[[str], str]) -> None:
    assert v100("generate", "--raw", "the ant", *SHORT).stdout == oracle("the ant") + "\n"


def test_a_model_without_a_template_continues_the_text(
    v100: V100, oracle: Callable[[str], str], tmp_path: Path
) -> None:
    plain = write_tiny_checkpoint(tmp_path, chat_template="")

    assert v100("generate", "--model", str(plain), "the ant", *SHORT).stdout == oracle("the ant") + "\n"


def test_several_prompts_and_those_of_a_file_are_answered_in_order(
    v100: V100, oracle: Callable[[str], str], tmp_path: Path
) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes("\ufeffthe\r\n\n  \nein Bär".encode())

    done = v100("generate", "--raw", "ant", "--file", str(file), *SHORT)

    assert done.stdout == "".join(f"> {text}\n{oracle(text)}\n\n" for text in ("ant", "the", "ein Bär"))
    assert done.stderr == ""


def test_a_file_of_one_line_streams_like_a_prompt(v100: V100, oracle: Callable[[str], str]) -> None:
    assert v100("generate", "--raw", "-f", "-", *SHORT, stdin=b"the\n").stdout == oracle("the") + "\n"


def test_without_a_prompt_standard_input_is_the_prompt(v100: V100, oracle: Callable[[str], str]) -> None:
    done = v100("generate", "--raw", *SHORT, stdin=b"two\nlines\n")

    assert done.stdout == oracle("two\nlines") + "\n"


def test_a_prompt_that_is_named_leaves_standard_input_alone(v100: V100, oracle: Callable[[str], str]) -> None:
    assert v100("generate", "--raw", "the", *SHORT, stdin=b"\xff").stdout == oracle("the") + "\n"


def test_json_has_a_line_for_each_prompt(v100: V100, oracle: Callable[[str], str]) -> None:
    first, second = json_lines(v100("generate", "--raw", "--json", "the", "the ant", *SHORT))

    assert [first["prompt"], second["prompt"]] == ["the", "the ant"]
    assert [first["text"], second["text"]] == [oracle("the"), oracle("the ant")]
    assert (first["finish_reason"], first["error"]) == ("length", None)
    assert (first["prompt_tokens"], first["output_tokens"], first["cached_tokens"]) == (1, 8, 0)
    assert 0 < first["first_token_seconds"] <= first["seconds"]


def test_sampling_options_reach_the_sampler(v100: V100) -> None:
    def drawn(seed: str) -> str:
        return v100("generate", "the", *SHORT, "--temperature", "1.5", "--seed", seed).stdout

    stopped = v100("generate", "--raw", "the", "--max-tokens", "500", "--stop", "x", "--stop", "d").stdout

    assert drawn("1") == drawn("1") != drawn("2")
    assert not set(stopped) & {"x", "d"}
    assert len(stopped) < 400


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the\n\xff\n", "byte 4 is no UTF-8"),
        (b"\n \n", "there is no prompt"),
    ],
)
def test_a_file_without_usable_prompts_is_refused(v100: V100, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes(content)

    done = v100("generate", "-f", str(file))

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ([], b"", "there is no prompt"),
        ([], b"\xff", "byte 0 is no UTF-8"),
        (["-f", "/no/such/file"], b"", "does not exist"),
        (["-f", "/"], b"", "is a directory"),
    ],
)
def test_prompts_that_cannot_be_read_are_refused(v100: V100, arguments: list[str], stdin: bytes, message: str) -> None:
    done = v100("generate", *arguments, stdin=stdin)

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_an_empty_text_without_a_template_is_refused(v100: V100) -> None:
    done = v100("generate", "--raw", "")

    assert (done.exit_code, done.stdout, done.stderr) == (
        1,
        "",
        "error: the prompt has no tokens; give at least one\n",
    )


def test_a_bad_prompt_among_many_is_named(v100: V100) -> None:
    done = v100("generate", "--raw", "a", "b" * 5000, "c")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: prompt 2 of 3: a prompt of 5000 tokens")


@pytest.mark.parametrize("prompts", [["the"], ["the", "ant"]])
def test_a_value_that_is_not_finite_ends_with_1_and_names_the_layer(
    v100: V100, tmp_path: Path, prompts: list[str]
) -> None:
    broken = write_tiny_checkpoint(tmp_path, broken_layer=0)

    done = v100("generate", "--model", str(broken), *prompts)

    assert done.exit_code == 1
    assert done.stderr.count("layers.0.mlp: a value is not finite") == done.stderr.count("\n") == len(prompts)
    assert done.stdout == ("" if len(prompts) == 1 else "> the\n\n\n> ant\n\n\n")


def test_a_batch_on_a_terminal_shows_bars_and_keeps_them_out_of_the_answers(
    terminal: Callable[..., Terminal], oracle: Callable[[str], str]
) -> None:
    running = terminal("generate", "--raw", "the", "ant", *SHORT, stdout=subprocess.PIPE)

    shown = running.rest()

    assert running.process.stdout is not None
    assert running.process.stdout.read().decode() == f"> the\n{oracle('the')}\n\n> ant\n{oracle('ant')}\n\n"
    assert running.process.wait() == 0
    assert "loading" in shown
    assert "answering" in shown
    assert "2/2" in shown


def test_an_interrupt_stops_a_real_process_with_130(terminal: Callable[..., Terminal]) -> None:
    running = terminal("generate", "--raw", "the", "--max-tokens", "4000", stdout=subprocess.PIPE)
    assert running.process.stdout is not None

    assert running.process.stdout.read(1).isalpha()
    running.process.send_signal(signal.SIGINT)

    assert running.rest().endswith("\ninterrupted\n")
    assert running.process.wait() == 130


@pytest.mark.real_model
def test_without_a_model_the_packaged_one_answers(v100: V100, smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("V100_MODEL")

    done = v100("generate", "What is the capital of France?", *SHORT)

    assert (done.exit_code, done.stdout, done.stderr) == (0, "The capital of France is Paris.\n", "")


@pytest.mark.parametrize("place", ["/proc/trace.json", "/dev/full"])
def test_a_trace_that_cannot_be_written_is_named(v100: V100, place: str) -> None:
    result = v100("generate", "--raw", "--max-tokens", "1", "--trace", place, "ab")
    assert result.exit_code == 2
    assert f"error: {place}: cannot be written: " in result.stderr


def test_a_trace_that_cannot_be_made_is_refused_before_an_answer(v100: V100) -> None:
    assert v100("generate", "--raw", "--max-tokens", "1", "--trace", "/proc/trace.json", "ab").stdout == ""
