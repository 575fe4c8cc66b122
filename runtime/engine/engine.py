"""The engine: requests go in, each step brings snapshots of those that went on."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from runtime.attention.attention import Attention
from runtime.attention.kv_cache import PagedKVCache
from runtime.config import RuntimeConfig
from runtime.engine.admission import Admission, bounds, check_labels
from runtime.engine.block_pool import BlockPool
from runtime.engine.completion import Completion
from runtime.engine.cuda_graphs import CudaGraphs
from runtime.engine.generation import Generation
from runtime.engine.graphs import DecodeGraphs, GraphBackend, batch_buckets
from runtime.engine.model import Model
from runtime.engine.outputs import RequestOutput
from runtime.engine.runner import Runner
from runtime.engine.sampling_params import SamplingParams
from runtime.engine.scheduler import Scheduler
from runtime.engine.sizing import num_blocks
from runtime.engine.tokenizer import Tokenizer
from runtime.errors import ConfigError, RequestError
from runtime.kernels.operators import Operators, operators_for
from runtime.platforms.protocol import Platform


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Counters of one engine since it was made, and where it stands now.

    Attributes:
        running, waiting: sequences.
        num_blocks, available_blocks: size of the block pool, and how many of them nobody holds.
        prompt_tokens: tokens of the prompts that were started.
        cached_tokens: how many of those came from the prefix cache.
        generated_tokens: tokens sampled.
        preemptions: how often a sequence had to give up its blocks.
        steps: steps computed.
        busy_seconds, last_step_seconds: time spent in all of them, and in the latest.
        routes: steps by attention route and observer.
        graphs: replays by the size of their graph, and steps that no graph fitted, by their reason.
    """

    running: int
    waiting: int
    num_blocks: int
    available_blocks: int
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    preemptions: int
    steps: int
    busy_seconds: float
    last_step_seconds: float
    routes: dict[str, int]
    graphs: dict[str, int]


class Engine:
    """Serves requests with one model, step by step, in the caller's thread.

    Args:
        model: the model, on the platform's device.
        tokenizer: None to take and give tokens only.
        config: resolved configuration.
        platform: where the model runs.
        graph_backend: captures decode steps where graphs.enabled says so; None for the one of CUDA.
        native_refusal: why compiled CUDA operators do not run; None where they do.

    Raises:
        ConfigError: the configuration does not suit the model or the memory.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer | None,
        config: RuntimeConfig,
        platform: Platform,
        graph_backend: GraphBackend | None = None,
        native_refusal: str | None = None,
    ) -> None:
        if config.attention.prefill_chunk and not config.scheduler.chunked_prefill:
            raise ConfigError("attention.prefill_chunk splits prompts, which scheduler.chunked_prefill = false forbids")
        operators = operators_for(platform.name, config.model.dtype)
        cache = _cache(model, config, platform, operators)
        pool = BlockPool(cache.num_blocks, prefix_caching=config.cache.prefix_caching)
        self._scheduler = Scheduler[Completion](
            config.scheduler, pool, config.cache.block_size, config.attention.prefill_chunk
        )
        self._attention = Attention(model.layers, cache, platform, config.attention, native_refusal)
        self._graphs = _graphs(model, self._attention, config, graph_backend)
        self._runner = Runner(model, self._attention, self._graphs, operators)
        self._admission = Admission(model.vocab_size, bounds(config, model.max_positions, cache.num_blocks))
        self._tokenizer = tokenizer
        self._vocab_size = model.vocab_size
        self._config = config
        self._generations: dict[str, Generation] = {}
        self._arrivals = count()
        self._generated_tokens = 0
        self._steps = 0
        self._busy_seconds = 0.0
        self._last_step_seconds = 0.0

    @property
    def has_unfinished(self) -> bool:
        return bool(self._generations)

    def add_request(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        request_id: str | None = None,
        priority: int = 0,
        cache_salt: str = "",
    ) -> str:
        """Queue a request; `prepare` and `submit` in one.

        Returns:
            The request's id.
        """
        generation = self.prepare(prompt, params, request_id=request_id, priority=priority, cache_salt=cache_salt)
        self.submit(generation)
        return generation.request_id

    def prepare(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        request_id: str | None = None,
        priority: int = 0,
        cache_salt: str = "",
    ) -> Generation:
        """Check a request and encode its prompt. Changes nothing, so any thread may do it.

        Args:
            prompt: a text, or token ids.
            params: how to sample; None for the defaults.
            request_id: the caller's name for it; None to be given one.
            priority: under scheduler.policy "priority", smaller ones are served first.
            cache_salt: requests share cached prefixes only with those of the same salt.

        Raises:
            RequestError: it can never be served; the message says why.
        """
        params = params or SamplingParams()
        check_labels(request_id or "", priority, cache_salt)
        text, prompt_ids = self._encoded(prompt, params)
        if params.seed is None:
            params = replace(params, seed=_seed(self._config.model.seed, next(self._arrivals)))
        request_id = request_id or uuid.uuid4().hex
        completions = [
            Completion(
                request_id,
                index,
                prompt_ids,
                params,
                vocab_size=self._vocab_size,
                room=self._admission.room,
                tokenizer=self._tokenizer,
                priority=priority,
                salt=cache_salt,
            )
            for index in range(params.n)
        ]
        return Generation(request_id, text, prompt_ids, completions, time.monotonic())

    def _encoded(self, prompt: str | Sequence[int], params: SamplingParams) -> tuple[str | None, list[int]]:
        if not isinstance(prompt, str):
            return None, self._admission.checked(prompt, params)
        if self._tokenizer is None:
            raise RequestError("the prompt is a text, and this engine has no tokenizer: give token ids")
        return prompt, self._admission.checked(self._tokenizer.encode(prompt), params)

    def submit(self, generation: Generation) -> None:
        """Queue what `prepare` made.

        Raises:
            RequestError: a request of that id is not finished, or too many wait.
        """
        if generation.request_id in self._generations:
            raise RequestError(f"request id {generation.request_id!r} is in use; ids may be used again once finished")
        limit = self._config.scheduler.max_waiting
        waiting = len(self._scheduler.waiting)
        if limit is not None and waiting + len(generation.completions) > limit:
            raise RequestError(f"{waiting} sequences wait already (scheduler.max_waiting = {limit}); try again later")
        self._generations[generation.request_id] = generation
        for completion in generation.completions:
            self._scheduler.add(completion)

    def step(self) -> list[RequestOutput]:
        """Compute one step. Returns a snapshot of every request that got a token or ended."""
        started = time.monotonic()
        plan = self._scheduler.schedule()
        if not plan.requests:
            return []
        result = self._runner.run(plan)
        for row, entry in result.logprobs.items():
            plan.requests[row].add_logprobs(entry)
        for row, entries in result.prompt_logprobs.items():
            plan.requests[row].add_prompt_logprobs(entries)
        updated = self._scheduler.postprocess(plan, result)
        outputs = self._snapshots(updated)
        self._generated_tokens += len(updated) - len(result.errors)
        self._steps += 1
        self._last_step_seconds = time.monotonic() - started
        self._busy_seconds += self._last_step_seconds
        return outputs

    def abort(self, request_id: str) -> RequestOutput | None:
        """End a request now. Returns its last snapshot, or None where no unfinished request has this id."""
        generation = self._generations.pop(request_id, None)
        if generation is None:
            return None
        for completion in generation.completions:
            self._scheduler.abort(completion)
        return generation.snapshot(time.monotonic())

    def abort_all(self) -> list[RequestOutput]:
        """End every request now. Returns their last snapshots."""
        ended = (self.abort(request_id) for request_id in list(self._generations))
        return [output for output in ended if output is not None]

    def stats(self) -> EngineStats:
        """Return the counters as they stand."""
        scheduler = self._scheduler
        return EngineStats(
            running=len(scheduler.running),
            waiting=len(scheduler.waiting),
            num_blocks=scheduler.pool.num_blocks,
            available_blocks=scheduler.pool.num_available,
            prompt_tokens=scheduler.num_prompt_tokens,
            cached_tokens=scheduler.num_cached_tokens,
            generated_tokens=self._generated_tokens,
            preemptions=scheduler.num_preemptions,
            steps=self._steps,
            busy_seconds=self._busy_seconds,
            last_step_seconds=self._last_step_seconds,
            routes=dict(self._attention.counters),
            graphs={} if self._graphs is None else dict(self._graphs.counters),
        )

    def _snapshots(self, updated: Iterable[Completion]) -> list[RequestOutput]:
        now = time.monotonic()
        outputs = []
        for request_id in dict.fromkeys(completion.request_id for completion in updated):
            output = self._generations[request_id].snapshot(now)
            if output.finished:
                del self._generations[request_id]
            outputs.append(output)
        return outputs


def _cache(model: Model, config: RuntimeConfig, platform: Platform, operators: Operators) -> PagedKVCache:
    cache = config.cache
    length = config.model.max_model_len or model.max_positions
    blocks = num_blocks(
        cache,
        PagedKVCache.bytes_per_block(model.layers, cache.block_size, cache.codec, model.dtype),
        enough=config.scheduler.max_num_seqs * -(-length // cache.block_size),
        free_bytes=platform.memory_bytes(),
    )
    return PagedKVCache(
        model.layers,
        blocks,
        cache.block_size,
        cache.codec,
        cache.k_scale,
        cache.v_scale,
        model.device,
        model.dtype,
        operators,
    )


def _graphs(
    model: Model, attention: Attention, config: RuntimeConfig, backend: GraphBackend | None
) -> DecodeGraphs | None:
    if not config.graphs.enabled:
        return None
    buckets = batch_buckets(config.graphs.batch_sizes, config.scheduler.max_num_seqs)
    length = config.model.max_model_len or model.max_positions
    return DecodeGraphs(model, attention, backend or CudaGraphs(), buckets, length)


def _seed(root: int, arrival: int) -> int:
    """The seed of a request that names none: repeatable for the same requests in the same order."""
    digest = hashlib.sha256(f"{root}:{arrival}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
