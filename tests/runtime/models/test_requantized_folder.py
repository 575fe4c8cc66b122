"""A requantised checkpoint that is kept is a whole one: it answers, and others can read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from tiny_checkpoint import write_tiny_checkpoint
from transformers import AutoConfig, AutoTokenizer

from benchmarks.requantize import PROSE, main
from benchmarks.weight_recipes import RECIPES
from runtime.models.checkpoint import open_checkpoint
from runtime.models.loader import load_model
from runtime.models.tokenizer import load_tokenizer

torch.set_num_threads(1)


def requantize(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_tiny_checkpoint(tmp_path / "source")


@pytest.mark.parametrize("name", ["awq_int4", "int8", "fp8_block"])
def test_a_folder_is_kept_with_all_that_a_model_needs(name: str, source: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / name
    done = requantize(source, "--format", name, "--output", output)
    assert (done.exit_code, done.output.startswith(f"{output}: {name}, ")) == (0, True), done.output
    loaded, original = load_model(output, torch.float32), load_model(source, torch.float32)
    assert json.loads((output / "config.json").read_text())["quantization_config"]
    text = "the <|im_start|>ant"
    assert loaded.tokenizer.encode(text) == original.tokenizer.encode(text)
    assert loaded.tokenizer.eos_ids == original.tokenizer.eos_ids
    assert loaded.chat_template.source == original.chat_template.source != ""


def test_a_model_without_a_tokenizer_is_kept_without_one(source: Path, tmp_path: Path) -> None:
    (source / "tokenizer.json").unlink()
    assert requantize(source, "--format", "int8", "--output", tmp_path / "new").exit_code == 0
    open_checkpoint(tmp_path / "new")


def test_nothing_is_written_over(source: Path) -> None:
    before = {file: file.read_bytes() for file in source.iterdir()}
    done = requantize(source, "--format", "int8", "--output", source)
    assert done.exit_code == 2
    assert f"{source}: is there already. Name a new folder" in done.output
    assert {file: file.read_bytes() for file in source.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--output", "new"], "--output keeps one format: name it with --format"),
        (["--output", "new", "--format", "int4", "--format", "int8"], "--output keeps one format"),
        (["--format", "int5"], "'int5' is not one of 'awq_int4'"),
        (["no-such-model"], "'no-such-model' does not exist"),
    ],
)
def test_misuse_ends_with_2_and_a_sentence(arguments: list[str], problem: str) -> None:
    done = requantize(*arguments)
    assert done.exit_code == 2
    assert problem in done.output


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mistral"},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    ],
)
def test_a_model_that_the_config_cannot_describe_is_refused(
    change: dict[str, object], source: Path, tmp_path: Path
) -> None:
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | change))
    done = requantize(source, "--format", "int8", "--output", tmp_path / "new")
    assert done.exit_code == 2
    assert "only models of the Llama family are written" in done.output


def test_formats_have_names_of_their_own() -> None:
    names = [each.name for each in RECIPES]
    assert len(set(names)) == len(names)


@pytest.mark.real_model
def test_a_gguf_model_is_kept_with_the_tokenizer_of_its_file(smollm2: Path, tmp_path: Path) -> None:
    output = tmp_path / "new"
    assert requantize(smollm2, "--format", "int8", "--output", output).exit_code == 0
    text = PROSE.read_text(encoding="utf-8")
    expected = load_tokenizer(smollm2).encode(text)
    assert load_tokenizer(output).encode(text) == expected
    theirs = AutoTokenizer.from_pretrained(output)
    assert theirs.encode(text) == expected
    talk = [{"role": "user", "content": "Hello"}]
    ours = load_model(output, torch.float16).chat_template.render(talk)
    assert theirs.apply_chat_template(talk, tokenize=False, add_generation_prompt=True) == ours
    assert AutoConfig.from_pretrained(output).num_hidden_layers == 30
