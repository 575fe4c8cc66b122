"""Answers requests with llama.cpp, in an environment of its own: one JSON object a line in, one out.

A request is `{"prompt": [token, ...], "tokens": n}`, an answer `{"tokens": [...]}`. Started with the
model's path and the number of threads.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from llama_cpp import Llama  # type: ignore[import-not-found]


def _answer(model: Any, prompt: list[int], tokens: int) -> dict[str, object]:
    produced: list[int] = []
    for token in model.generate(prompt, temp=0.0, repeat_penalty=1.0, reset=True):
        produced.append(int(token))
        if len(produced) == tokens:
            break
    return {"tokens": produced}


def main() -> None:
    """Serve until standard input ends."""
    threads = int(sys.argv[2])
    model = Llama(sys.argv[1], n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_answer(model, request["prompt"], request["tokens"])), flush=True)


if __name__ == "__main__":
    main()
