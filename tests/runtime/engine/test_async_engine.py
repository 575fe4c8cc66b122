"""Many clients of one engine: nobody hangs, and whoever leaves gives back what they held."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from stub_model import LetterTokenizer, StubModel, engine_of
from torch import Tensor

from runtime.engine.async_engine import AsyncEngine, EngineStoppedError
from runtime.engine.outputs import RequestOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError

LONG = SamplingParams(temperature=0.0, max_tokens=200, ignore_eos=True)
SHORT = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
T = TypeVar("T")


def within_a_minute(work: Coroutine[Any, Any, T]) -> T:
    """A test that hangs fails."""
    return asyncio.run(asyncio.wait_for(work, 60))


@asynccontextmanager
async def serving(model: StubModel | None = None, **options: Any) -> AsyncIterator[AsyncEngine]:
    engine = AsyncEngine(engine_of(model or StubModel(), LetterTokenizer(), **options))
    try:
        yield engine
    finally:
        await engine.shutdown()


async def until_idle(engine: AsyncEngine) -> None:
    while engine.stats().available_blocks < engine.stats().num_blocks or engine.stats().waiting:
        await asyncio.sleep(0.001)


async def collect(
    engine: AsyncEngine, prompt: list[int], params: SamplingParams, **options: Any
) -> list[RequestOutput]:
    return [output async for output in engine.generate(prompt, params, **options)]


def test_many_clients_each_get_their_own_stream() -> None:
    model = StubModel()

    async def work() -> None:
        async with serving(model, num_blocks=40) as engine:
            prompts = [[number, 1, 2] for number in range(20)]
            streams = await asyncio.gather(*(collect(engine, prompt, SHORT) for prompt in prompts))
            for prompt, stream in zip(prompts, streams, strict=True):
                assert stream[-1].outputs[0].token_ids == model.greedy_alone(prompt, 12)
                assert "".join(output.outputs[0].delta for output in stream) == stream[-1].outputs[0].text
                assert [output.finished for output in stream] == [False] * 11 + [True]

    within_a_minute(work())


def test_cancelling_a_client_frees_its_blocks_and_leaves_the_others_alone() -> None:
    model = StubModel()

    async def work() -> None:
        async with serving(model) as engine:
            other = asyncio.create_task(collect(engine, [1], SHORT))
            client = asyncio.create_task(collect(engine, [2], LONG))
            while engine.stats().running < 2 and not other.done():
                await asyncio.sleep(0)
            client.cancel()
            with pytest.raises(asyncio.CancelledError):
                await client
            assert (await other)[-1].outputs[0].token_ids == model.greedy_alone([1], 12)
            await until_idle(engine)

    within_a_minute(work())


def test_breaking_out_of_the_iteration_aborts() -> None:
    async def work() -> None:
        async with serving() as engine:
            async for _ in engine.generate([1], LONG):
                break
            gc.collect()
            await until_idle(engine)
            assert engine.stats().generated_tokens < 200

    within_a_minute(work())


def test_abort_by_id_ends_the_stream_with_what_there_was() -> None:
    async def work() -> None:
        async with serving() as engine:
            stream = engine.generate([1], LONG, request_id="mine")
            first = await anext(stream)
            engine.abort("mine")
            rest = [output async for output in stream]
            assert rest[-1].outputs[0].finish_reason == "abort"
            assert rest[-1].outputs[0].text.startswith(first.outputs[0].text)
            engine.abort("nobody")

    within_a_minute(work())


def test_a_refusal_reaches_the_client_that_asked_and_only_that_one() -> None:
    async def work() -> None:
        async with serving() as engine:
            first = engine.generate([1], LONG, request_id="mine")
            await anext(first)
            with pytest.raises(RequestError, match="in use"):
                await collect(engine, [2], SHORT, request_id="mine")
            with pytest.raises(RequestError, match="no tokens"):
                await collect(engine, [], SHORT)
            assert not (await anext(first)).finished

    within_a_minute(work())


class BreakingModel(StubModel):
    """Fails in its third step."""

    def forward(self, *args: Any, **options: Any) -> Tensor:
        if self.steps == 2:
            raise ZeroDivisionError("the card fell off the bus")
        return super().forward(*args, **options)


def test_a_failure_of_the_engine_reaches_every_client_and_those_who_come_later() -> None:
    async def work() -> None:
        async with serving(BreakingModel()) as engine:
            results = await asyncio.gather(
                *(collect(engine, [number], LONG) for number in range(5)), return_exceptions=True
            )
            assert [type(result) for result in results] == [EngineStoppedError] * 5
            assert all("fell off the bus" in str(result) for result in results)
            assert all(isinstance(result.__cause__, ZeroDivisionError) for result in results)  # type: ignore[union-attr]
            with pytest.raises(EngineStoppedError, match="fell off the bus"):
                await collect(engine, [1], SHORT)

    within_a_minute(work())


@pytest.mark.parametrize(("drain", "reason", "count"), [(True, "length", 200), (False, "abort", None)])
def test_shutdown_drains_or_aborts(drain: bool, reason: str, count: int | None) -> None:
    async def work() -> None:
        engine = AsyncEngine(engine_of(StubModel(), num_blocks=200))
        stream = engine.generate([1], LONG)
        await anext(stream)
        _, rest = await asyncio.gather(engine.shutdown(drain=drain), anext_to_end(stream))
        assert rest.outputs[0].finish_reason == reason
        if count is not None:
            assert len(rest.outputs[0].token_ids) == count
        with pytest.raises(EngineStoppedError, match="shut down"):
            await collect(engine, [1], SHORT)
        await engine.shutdown()  # again, harmless

    within_a_minute(work())


async def anext_to_end(stream: AsyncIterator[RequestOutput]) -> RequestOutput:
    last = None
    async for output in stream:
        last = output
    assert last is not None
    return last


def test_an_engine_outlives_the_event_loop_of_its_clients() -> None:
    model = StubModel()
    engine = AsyncEngine(engine_of(model))

    async def leave_early() -> None:
        await anext(engine.generate([1], LONG))

    within_a_minute(leave_early())
    assert within_a_minute(collect(engine, [2], SHORT))[-1].outputs[0].token_ids == model.greedy_alone([2], 12)
    within_a_minute(engine.shutdown())
    assert engine.stats().available_blocks == engine.stats().num_blocks


def test_random_clients_come_and_go() -> None:
    """Arrivals, cancellations and a small pool at once: every survivor gets its answer, every block comes back."""
    model = StubModel()

    async def client(engine: AsyncEngine, number: int) -> None:
        prompt = [number % 5, number % 3, number % 7]
        stream = engine.generate(prompt, SHORT)
        async for output in stream:
            if number % 4 == 0 and len(output.outputs[0].token_ids) > number % 11:
                await stream.aclose()  # type: ignore[attr-defined]
                return
        assert output.outputs[0].token_ids == model.greedy_alone(prompt, 12)

    async def work() -> None:
        async with serving(model, num_blocks=12, max_num_seqs=6) as engine:
            await asyncio.gather(*(client(engine, number) for number in range(60)))
            await until_idle(engine)

    within_a_minute(work())
