"""The engines that answer the same prompts: this runtime, and transformers as its users run it on a CPU."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch
from transformers import AutoModelForCausalLM

from benchmarks.trees import CACHE
from runtime.engine.sampling_params import SamplingParams
from runtime.llm import LLM

Tokens = Sequence[int]

_LLAMA_CPP = CACHE / "llama.cpp"


class Engine(Protocol):
    """Greedy continuation of token ids by exactly so many tokens."""

    def answer(self, prompt: Tokens, tokens: int) -> list[int]: ...


class Voltgate:
    """This runtime, with its defaults but for the dtype. `tokenizer` is for a checkpoint that brings none."""

    def __init__(self, model: Path, tokenizer: Path | None = None) -> None:
        named = {} if tokenizer is None else {"model.tokenizer": str(tokenizer)}
        self.llm = LLM(model, platform="cpu", settings={"dtype": "float32", **named}, environ={})

    def answer(self, prompt: Tokens, tokens: int) -> list[int]:
        return self.answers([prompt], tokens)[0]

    def answers(self, prompts: Sequence[Tokens], tokens: int) -> list[list[int]]:
        """Continue all prompts at once."""
        params = SamplingParams(temperature=0, min_tokens=tokens, max_tokens=tokens)
        return [list(output.outputs[0].token_ids) for output in self.llm.generate(prompts, params)]


class Transformers:
    """transformers' own reader of the same file, its own attention and cache, in float32."""

    def __init__(self, model: Path) -> None:
        self._model = AutoModelForCausalLM.from_pretrained(
            model.parent, gguf_file=model.name, dtype=torch.float32, local_files_only=True
        )

    def answer(self, prompt: Tokens, tokens: int) -> list[int]:
        ids = torch.tensor([prompt])
        with torch.inference_mode():
            out = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                pad_token_id=0,
            )
        answer: list[int] = out[0, len(prompt) :].tolist()
        return answer


class LlamaCpp:
    """llama.cpp through llama-cpp-python, which computes on the quantised weights themselves.

    It is built from source into an environment of its own, which takes some minutes.
    """

    def __init__(self, model: Path, threads: int) -> None:
        python = self._install()
        worker = Path(__file__).with_name("llama_cpp_worker.py")
        self._process = subprocess.Popen(
            [python, worker, model, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @staticmethod
    def _install() -> Path:
        python = _LLAMA_CPP / "bin" / "python"
        stamp = _LLAMA_CPP / ".installed"
        if not stamp.exists():
            venv.create(_LLAMA_CPP, clear=True, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-qq", "llama-cpp-python"], check=True)
            stamp.touch()
        return python

    def answer(self, prompt: Tokens, tokens: int) -> list[int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"prompt": list(prompt), "tokens": tokens}) + "\n")
        self._process.stdin.flush()
        answer: list[int] = json.loads(self._process.stdout.readline())["tokens"]
        return answer
