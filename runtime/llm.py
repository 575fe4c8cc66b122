"""The front door: from a model's path to an engine that answers, with every setting resolved on the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import repeat
from typing import cast

import torch

from runtime.config import ConfigBuilder, Resolved, captured
from runtime.engine.engine import Engine
from runtime.engine.outputs import RequestOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError
from runtime.models.chat import ChatTemplate, load_chat_template
from runtime.models.checkpoint import open_checkpoint
from runtime.models.default_model import default_model
from runtime.models.loader import ProgressCallback, read_decoder
from runtime.models.tokenizer import ModelTokenizer, load_tokenizer
from runtime.platforms import Platform, current

Prompt = str | Sequence[int]
Message = Mapping[str, object]
BatchProgress = Callable[[int, float], None]
"""Is told how many requests are finished, and how many tokens a second were generated so far."""


class LLM:
    """A model that answers on this machine.

    Attributes:
        engine: serves the requests.
        tokenizer: of the model.
        chat_template: of the model; empty where it brings none.
        resolved: every setting, with its provenance.
        platform: what the model runs on.
    """

    engine: Engine
    tokenizer: ModelTokenizer
    chat_template: ChatTemplate
    resolved: Resolved
    platform: Platform

    def __init__(
        self,
        model: str | os.PathLike[str] = "",
        *,
        platform: str = "auto",
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Load a model.

        Args:
            model: a GGUF file or a Hugging Face folder; empty for `V100_MODEL`, or else the packaged default.
            platform: `auto`, `cpu`, `sm70` or `cuda`.
            environ: the variables to capture; None for those of this process, as they are now.
            settings: by owner path, or by its last part: `{"dtype": "float16", "cache.codec": "fp8"}`.
            progress: called after every tensor that was loaded.

        Raises:
            ConfigError: a setting, a variable or the platform cannot be honoured.
            CheckpointError: the model cannot be loaded.
        """
        explicit = {**(settings or {}), **({"model.path": model} if model else {})}
        self.platform = current(platform)
        builder = ConfigBuilder(explicit, captured() if environ is None else environ)
        builder.with_platform(self.platform.defaults(), self.platform.overrides())
        path = str(builder.settled("model.path")) or default_model()
        checkpoint = open_checkpoint(path)
        self.resolved = builder.with_model(checkpoint.adapter.defaults).build()
        config = self.resolved.config
        self.tokenizer = load_tokenizer(config.model.tokenizer or path)
        self.chat_template = load_chat_template(path)
        if config.parallel.threads is not None:
            torch.set_num_threads(config.parallel.threads)
        dtypes = getattr(torch, config.model.dtype), getattr(torch, config.model.residual_dtype)
        decoder = read_decoder(checkpoint, *dtypes, self.platform.device, progress)
        self.engine = Engine(decoder, self.tokenizer, config, self.platform)

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
        progress: BatchProgress | None = None,
    ) -> list[RequestOutput]:
        """Continue one prompt or many, served together.

        Args:
            prompts: texts, or lists of token ids.
            params: for all of them, or one for each.
            progress: called after every step in which a request ended.

        Returns:
            The last snapshot of every request, in the order of the prompts.

        Raises:
            RequestError: one of them can never be served; none was started.
        """
        asked = _listed(prompts)
        each = list(params) if isinstance(params, Sequence) else list(repeat(params, len(asked)))
        if len(each) != len(asked):
            raise RequestError(f"{len(asked)} prompts, and {len(each)} sampling parameters: give one, or one for each")
        generations = [self.engine.prepare(*request) for request in zip(asked, each, strict=True)]
        try:
            for generation in generations:
                self.engine.submit(generation)
            finished = self._finish(progress)
        except BaseException:
            self.engine.abort_all()
            raise
        return [finished[generation.request_id] for generation in generations]

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Generator[RequestOutput, None, None]:
        """Continue one prompt and yield a snapshot after every step. To leave the iteration aborts the request.

        Raises:
            RequestError: it can never be served.
        """
        request_id = self.engine.add_request(prompt, params)
        try:
            while self.engine.has_unfinished:
                yield from (output for output in self.engine.step() if output.request_id == request_id)
        finally:
            self.engine.abort(request_id)

    def chat_prompt(self, messages: Sequence[Message], **variables: object) -> list[int]:
        """The tokens of a conversation that ends with the opening of an answer, by the model's own template.

        Raises:
            RequestError: the model has no template, or it refuses this conversation.
        """
        prompt = self.chat_template.render(messages, add_generation_prompt=True, **variables)
        return self.tokenizer.encode(prompt, add_special=False)

    def chat(self, messages: Sequence[Message], params: SamplingParams | None = None) -> RequestOutput:
        """Answer one conversation. Raises RequestError as `chat_prompt` and `generate` do."""
        (output,) = self.generate(self.chat_prompt(messages), params)
        return output

    def _finish(self, progress: BatchProgress | None) -> dict[str, RequestOutput]:
        started = time.monotonic()
        finished: dict[str, RequestOutput] = {}
        while self.engine.has_unfinished:
            ended = {output.request_id: output for output in self.engine.step() if output.finished}
            finished |= ended
            if ended and progress is not None:
                tokens = sum(len(sequence.token_ids) for output in finished.values() for sequence in output.outputs)
                progress(len(finished), tokens / (time.monotonic() - started))
        return finished


def _listed(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    if prompts and isinstance(prompts[0], int):
        return [cast("Sequence[int]", prompts)]
    return list(cast("Sequence[Prompt]", prompts))
