"""The front door: from a model's path to an engine that answers, with every setting resolved on the way."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import repeat
from typing import cast

import torch

from runtime.config import ConfigBuilder, Defaults, Resolved, captured
from runtime.engine.engine import Engine
from runtime.engine.generation import Generation
from runtime.engine.outputs import RequestOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError
from runtime.kernels.operators import operators_for
from runtime.linear.linear import Linear
from runtime.models.chat import ChatTemplate
from runtime.models.checkpoint import Checkpoint, open_checkpoint
from runtime.models.default_model import default_model
from runtime.models.loader import load_model
from runtime.models.reading import ProgressCallback
from runtime.models.tokenizer import ModelTokenizer
from runtime.native.kernels import NativeKernels, initialise
from runtime.platforms import Platform, current

Prompt = str | Sequence[int]
Message = Mapping[str, object]
BatchProgress = Callable[[int, float], None]
"""Is told how many requests are finished, and how many tokens a second these brought so far."""


class LLM:
    """A model that answers on this machine. To be used from one thread; `AsyncEngine` serves many clients.

    Several of them can live in one process, and each keeps its own settings. The one exception is `parallel.threads`,
    which torch has only one of in a process: the model that was loaded last decides.

    Attributes:
        engine: serves the requests.
        linear: runs the model's products with weights, and counts who ran them.
        native: whether the compiled CUDA operators run, and if not, why.
        tokenizer: of the model.
        chat_template: of the model; empty where it brings none.
        resolved: every setting, with its provenance.
        platform: what the model runs on.
    """

    engine: Engine
    linear: Linear
    native: NativeKernels
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
            settings: by owner path, or by its last part: `{"dtype": "float16", "cache.codec": "fp8"}`.
            environ: the variables to capture; None for those of this process, as they are now.
            progress: called after every tensor that was loaded.

        Raises:
            ConfigError: a setting, a variable or the platform cannot be honoured.
            CheckpointError: the model cannot be loaded.
            RouteError: the attention route or the provider of products that was forced cannot serve this model here.
        """
        explicit = {**(settings or {}), **({"model.path": model} if model else {})}
        builder = ConfigBuilder(explicit, captured() if environ is None else environ)
        self.platform = current(platform)
        builder.with_platform(self.platform.defaults(), self.platform.overrides())
        named = str(builder.settled("model.path"))
        checkpoint = open_checkpoint(named or default_model())
        self.resolved = builder.with_model(_model_defaults(checkpoint, named)).build()
        config = self.resolved.config
        if config.parallel.threads is not None:
            torch.set_num_threads(config.parallel.threads)
        dtype = getattr(torch, config.model.dtype)
        self.native = initialise(config.kernels, self.platform)
        self.linear = Linear(self.platform.name, dtype, config.kernels)
        loaded = load_model(
            checkpoint,
            dtype,
            getattr(torch, config.model.residual_dtype),
            self.platform.device,
            progress,
            tokenizer=config.model.tokenizer,
            keep_packed=config.model.weights == "packed",
            linear=self.linear,
            operators=operators_for(self.platform.name, config.model.dtype),
        )
        self.tokenizer, self.chat_template = loaded.tokenizer, loaded.chat_template
        self.engine = Engine(loaded.model, self.tokenizer, config, self.platform, native_refusal=self.native.refusal)
        self._streams: dict[str, deque[RequestOutput]] = {}

    @property
    def threads(self) -> int:
        """CPU threads that this process computes with now."""
        return torch.get_num_threads()

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
        generations = self._prepared(_listed(prompts), params)
        try:
            for generation in generations:
                self.engine.submit(generation)
            finished = self._finish({generation.request_id for generation in generations}, progress)
        finally:
            for generation in generations:
                self.engine.abort(generation.request_id)
        now = time.monotonic()
        return [finished.get(generation.request_id) or generation.snapshot(now) for generation in generations]

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Generator[RequestOutput, None, None]:
        """Continue one prompt and yield a snapshot after every step, also while the prompt is computed in parts.

        To leave the iteration aborts the request. Several streams may be read in turns, and `generate` be called
        between: nothing is lost.

        Raises:
            RequestError: it can never be served.
        """
        return self._streamed(self.engine.prepare(prompt, params))

    def chat_prompt(self, messages: Sequence[Message], **variables: object) -> list[int]:
        """The tokens of a conversation that ends with the opening of an answer, by the model's own template.

        Args:
            messages: each with "role" and "content".
            variables: further names that the template knows, such as `tools`.

        Raises:
            RequestError: the model has no template, or it refuses this conversation.
        """
        prompt = self.chat_template.render(messages, add_generation_prompt=True, **variables)
        return self.tokenizer.encode(prompt, add_special=False)

    def chat(
        self, messages: Sequence[Message], params: SamplingParams | None = None, **variables: object
    ) -> RequestOutput:
        """Answer one conversation. Raises RequestError as `chat_prompt` and `generate` do."""
        (output,) = self.generate(self.chat_prompt(messages, **variables), params)
        return output

    def _prepared(
        self, prompts: list[Prompt], params: SamplingParams | Sequence[SamplingParams] | None
    ) -> list[Generation]:
        each = list(params) if isinstance(params, Sequence) else list(repeat(params, len(prompts)))
        if len(each) != len(prompts):
            raise RequestError(f"{len(prompts)} prompts and {len(each)} sampling parameters: give one, or one for each")
        generations = []
        for place, request in enumerate(zip(prompts, each, strict=True), 1):
            try:
                generations.append(self.engine.prepare(*request))
            except RequestError as error:
                if len(prompts) == 1:
                    raise
                raise RequestError(f"prompt {place} of {len(prompts)}: {error}") from None
        return generations

    def _finish(self, request_ids: set[str], progress: BatchProgress | None) -> dict[str, RequestOutput]:
        started, tokens = time.monotonic(), 0
        finished: dict[str, RequestOutput] = {}
        while len(finished) < len(request_ids) and self.engine.has_unfinished:
            ended = [output for output in self._step() if output.finished and output.request_id in request_ids]
            finished |= {output.request_id: output for output in ended}
            tokens += sum(sequence.num_tokens for output in ended for sequence in output.outputs)
            if ended and progress is not None:
                progress(len(finished), tokens / (time.monotonic() - started))
        return finished

    def _streamed(self, generation: Generation) -> Generator[RequestOutput, None, None]:
        request_id = generation.request_id
        self.engine.submit(generation)
        snapshots = self._streams[request_id] = deque()
        try:
            finished = False
            while not finished:
                if not snapshots:
                    self._step()
                output = snapshots.popleft() if snapshots else generation.snapshot(time.monotonic())
                finished = output.finished
                yield output
        finally:
            del self._streams[request_id]
            self.engine.abort(request_id)

    def _step(self) -> list[RequestOutput]:
        """Compute a step, which serves everybody: whoever streams finds the snapshots when it is their turn."""
        outputs = self.engine.step()
        for output in outputs:
            if output.request_id in self._streams:
                self._streams[output.request_id].append(output)
        return outputs


def _model_defaults(checkpoint: Checkpoint, named: str) -> Defaults:
    """What the family chooses, and the model's path where nobody named one: an engine's settings say what it runs."""
    defaults = checkpoint.adapter.defaults
    if named:
        return defaults
    path = str(checkpoint.path), "the model that runs when none is named"
    return Defaults(defaults.source, {**defaults.values, "model.path": path})


def _listed(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    if prompts and isinstance(prompts[0], int):
        return [cast("Sequence[int]", prompts)]
    return list(cast("Sequence[Prompt]", prompts))
