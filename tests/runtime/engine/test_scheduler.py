"""The scheduler against a stub model that reads only the paged cache, and an oracle that serves each request alone."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.config import SchedulerConfig
from runtime.engine.block_pool import BlockPool
from runtime.engine.request import Finish, Request
from runtime.engine.scheduler import Plan, Scheduler, StepResult

VOCABULARY = 7  # small, so that prompts share prefixes by chance


def absorbed(before: int, token: int) -> int:
    """What a place in the cache holds: it depends on its token and, as keys and values do, on all before it."""
    return zlib.crc32(bytes([token]), before)


def next_token(state: int) -> int:
    return state % VOCABULARY


class Stream(Request):
    """Ends after `limit` tokens."""

    def __init__(self, prompt_ids: list[int], limit: int, **options: Any) -> None:
        super().__init__(prompt_ids, **options)
        self.limit = limit

    def judge(self, token_id: int) -> Finish | None:
        assert self.output_ids[-1] == token_id
        return Finish("length") if len(self.output_ids) >= self.limit else None


class PagedStub:
    """Writes tokens into slots and answers from what it reads back there, as attention does with keys and values."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.slots: list[int | None] = [None] * (num_blocks * block_size)

    def slot(self, request: Stream, position: int) -> int:
        return request.blocks[position // self.block_size] * self.block_size + position % self.block_size

    def run(self, plan: Plan[Stream]) -> StepResult:
        rows = list(zip(plan.requests, plan.lengths, strict=True))
        written: set[int] = set()
        tokens: list[int | None] = []
        for request, length in rows:
            end = request.num_computed + length
            for position, token in enumerate(request.tokens_between(request.num_computed, end), request.num_computed):
                before = self.slots[self.slot(request, position - 1)] if position else 0
                assert before is not None, "a place is read that nobody has filled"
                slot = self.slot(request, position)
                assert slot not in written, "two rows write to one slot"
                written.add(slot)
                self.slots[slot] = absorbed(before, token)
            state = self.slots[self.slot(request, end - 1)]
            assert state is not None
            tokens.append(next_token(state) if end == request.num_tokens else None)
        return StepResult(tokens)


def alone(prompt: list[int], limit: int) -> list[int]:
    state = 0
    for token in prompt:
        state = absorbed(state, token)
    output: list[int] = []
    for _ in range(limit):
        output.append(next_token(state))
        state = absorbed(state, output[-1])
    return output


def scheduler_of(
    num_blocks: int, block_size: int, *, prefix_caching: bool = True, prefill_chunk: int = 0, **config: Any
) -> Scheduler[Stream]:
    pool = BlockPool(num_blocks, prefix_caching=prefix_caching)
    return Scheduler(SchedulerConfig(**config), pool, block_size, prefill_chunk)


def run_to_end(scheduler: Scheduler, stub: PagedStub, limit: int = 10_000) -> list[Plan[Stream]]:
    plans = []
    while scheduler.has_unfinished:
        plan = scheduler.schedule()
        scheduler.postprocess(plan, stub.run(plan))
        plans.append(plan)
        assert len(plans) < limit, "the scheduler makes no progress"
    return plans


@dataclass(frozen=True)
class Arrival:
    """One request of a scenario: when it comes, what it wants, and what befalls it."""

    step: int
    prompt: list[int]
    limit: int
    priority: int
    salt: str
    reads_cache: bool
    leaves_after: int | None
    fails_after: int | None


@dataclass(frozen=True)
class Scenario:
    num_blocks: int
    block_size: int
    prefix_caching: bool
    prefill_chunk: int
    config: SchedulerConfig
    arrivals: list[Arrival]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Crowds in pools that are too small for them; prompts are a piece of something common and an own tail."""
    block_size = draw(st.integers(1, 4))
    num_blocks = draw(st.integers(1, 20))
    room = num_blocks * block_size + 1  # the last token needs no slot
    chunked = draw(st.booleans())

    def arrival() -> Arrival:
        longest = max(1, (room - 1) // draw(st.sampled_from([1, 3, 6])))
        tail = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
        prompt = [*[draw(st.integers(0, 1))] * draw(st.integers(0, longest)), *tail][-longest:]
        fate = draw(st.sampled_from(["served"] * 6 + ["leaves", "fails"]))
        after = draw(st.integers(1, 12))
        return Arrival(
            step=draw(st.integers(0, 6)),
            prompt=prompt,
            limit=draw(st.integers(1, min(12, room - len(prompt)))),
            priority=draw(st.integers(0, 2)),
            salt=draw(st.sampled_from(["", "", "", "other"])),
            reads_cache=draw(st.sampled_from([True, True, True, False])),
            leaves_after=after if fate == "leaves" else None,
            fails_after=after if fate == "fails" else None,
        )

    return Scenario(
        num_blocks,
        block_size,
        prefix_caching=draw(st.sampled_from([True, True, False])),
        prefill_chunk=draw(st.sampled_from([0, 1, 5])),
        config=SchedulerConfig(
            max_num_seqs=draw(st.sampled_from([1, 2, 4, 6])),
            max_num_batched_tokens=draw(st.integers(1, 16)) if chunked else room,
            policy=draw(st.sampled_from(["fcfs", "priority"])),
            chunked_prefill=chunked,
        ),
        arrivals=[arrival() for _ in range(draw(st.integers(1, 12)))],
    )


class Simulation:
    """Plays a scenario and checks at every step what must hold at all times."""

    def __init__(self, scenario: Scenario) -> None:
        pool = BlockPool(scenario.num_blocks, prefix_caching=scenario.prefix_caching)
        self.config = scenario.config
        self.scheduler = Scheduler[Stream](scenario.config, pool, scenario.block_size, scenario.prefill_chunk)
        self.stub = PagedStub(scenario.num_blocks, scenario.block_size)
        self.expected = sorted(scenario.arrivals, key=lambda arrival: arrival.step)
        self.live: dict[Stream, Arrival] = {}
        self.age: dict[Stream, int] = {}

    def play(self) -> None:
        step = 0
        while self.expected or self.live:
            while self.expected and self.expected[0].step <= step:
                self.arrive(self.expected.pop(0))
            if self.live:
                self.step()
            step += 1
            assert step < 3_000, "no progress"
        assert not self.scheduler.has_unfinished
        assert self.scheduler.pool.num_available == self.scheduler.pool.num_blocks

    def arrive(self, arrival: Arrival) -> None:
        stream = Stream(
            arrival.prompt,
            arrival.limit,
            priority=arrival.priority,
            salt=arrival.salt,
            reads_cache=arrival.reads_cache,
        )
        self.live[stream] = arrival
        self.age[stream] = 0
        self.scheduler.add(stream)

    def step(self) -> None:
        plan = self.scheduler.schedule()
        assert plan.requests, "unfinished requests, and yet an empty step"
        assert all(length > 0 for length in plan.lengths)
        assert sum(plan.lengths) <= self.config.max_num_batched_tokens
        assert len(self.scheduler.running) <= self.config.max_num_seqs
        assert len({*plan.requests, *plan.preempted}) == len(plan.requests) + len(plan.preempted)
        result = self.stub.run(plan)
        for stream, arrival in list(self.live.items()):
            self.age[stream] += 1
            if arrival.leaves_after == self.age[stream]:
                self.scheduler.abort(stream)
                assert stream.finish == Finish("abort")
                del self.live[stream]
        for row, stream in enumerate(plan.requests):
            if stream in self.live and self.live[stream].fails_after == self.age[stream]:
                result.errors[row] = "layer 3"
                self.spoil(stream)
        self.collect(self.scheduler.postprocess(plan, result))
        held = {block for stream in self.live for block in stream.blocks}
        assert len(held) + self.scheduler.pool.num_available == self.scheduler.pool.num_blocks
        assert not any(stream.blocks for stream in self.scheduler.waiting)

    def spoil(self, failed: Stream) -> None:
        """What a failed request leaves behind must never be read again, by those who do not hold it already."""
        size = self.stub.block_size
        others = {block for stream in self.live if stream is not failed for block in stream.blocks}
        for block in set(failed.blocks) - others:
            self.stub.slots[block * size : (block + 1) * size] = [None] * size

    def collect(self, updated: list[Stream]) -> None:
        for stream in updated:
            if stream.finish is not None:
                arrival = self.live.pop(stream)
                if stream.finish.reason == "error":
                    assert stream.finish.message == "layer 3"
                else:
                    assert stream.output_ids == alone(arrival.prompt, arrival.limit)


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_whatever_happens_everybody_gets_the_answer_that_they_would_get_alone(scenario: Scenario) -> None:
    Simulation(scenario).play()


def started(scheduler: Scheduler[Stream], *streams: Stream) -> PagedStub:
    for stream in streams:
        scheduler.add(stream)
    return PagedStub(scheduler.pool.num_blocks, scheduler.block_size)


def test_a_long_prompt_is_split_and_does_not_hold_up_those_that_answer() -> None:
    scheduler = scheduler_of(40, 4, max_num_batched_tokens=10)
    quick, long = Stream([1], 9), Stream([2] * 30, 1)
    stub = started(scheduler, quick, long)
    plans = run_to_end(scheduler, stub)
    shares = [dict(zip(plan.requests, plan.lengths, strict=True)) for plan in plans]
    assert [share.get(long) for share in shares[:4]] == [9, 9, 9, 3]
    assert [share.get(quick) for share in shares] == [1] * 9
    assert all(plan.requests[0] is quick for plan in plans)


def test_prefill_chunk_limits_one_request_not_the_step() -> None:
    scheduler = scheduler_of(40, 4, prefill_chunk=3, max_num_batched_tokens=10)
    started(scheduler, *(Stream([number] * 9, 1) for number in range(4)))
    assert scheduler.schedule().lengths == [3, 3, 3, 1]


def test_whole_prompts_wait_for_a_step_with_enough_room() -> None:
    scheduler = scheduler_of(40, 4, max_num_batched_tokens=10, chunked_prefill=False)
    first, second = Stream([1] * 6, 1), Stream([2] * 6, 1)
    plans = run_to_end(scheduler, started(scheduler, first, second))
    assert [(plan.requests, plan.lengths) for plan in plans] == [([first], [6]), ([second], [6])]


def test_nobody_overtakes_the_first_who_waits() -> None:
    scheduler = scheduler_of(6, 4)
    running, large, small = Stream([1] * 16, 3), Stream([2] * 20, 1), Stream([3], 1)
    started(scheduler, running, large, small)
    assert scheduler.schedule().requests == [running]
    assert scheduler.waiting == [large, small]


def test_the_latest_is_preempted_first_and_the_first_never() -> None:
    scheduler = scheduler_of(6, 2, prefix_caching=False)
    streams = [Stream([number], 8) for number in range(3)]
    plans = run_to_end(scheduler, started(scheduler, *streams))
    assert next(request for plan in plans for request in plan.preempted) is streams[2]
    assert streams[0].num_preemptions == 0
    assert scheduler.num_preemptions == sum(stream.num_preemptions for stream in streams) > 0


def test_under_priority_the_least_urgent_is_preempted_whenever_it_came() -> None:
    scheduler = scheduler_of(6, 2, prefix_caching=False, policy="priority")
    streams = [Stream([number], 8, priority=priority) for number, priority in enumerate((2, 0, 1))]
    plans = run_to_end(scheduler, started(scheduler, *streams))
    assert next(request for plan in plans for request in plan.preempted) is streams[0]
    assert streams[1].num_preemptions == 0


def test_a_common_prefix_is_computed_once_although_its_requests_arrive_together() -> None:
    scheduler = scheduler_of(60, 4)
    streams = [Stream([1] * 16 + [number], 2) for number in range(4)]
    plans = run_to_end(scheduler, started(scheduler, *streams))
    assert [(len(plan.requests), sum(plan.lengths)) for plan in plans[:2]] == [(1, 17), (4, 4)]
    assert [stream.num_cached for stream in streams] == [0, 16, 16, 16]


def test_a_preempted_request_finds_its_own_blocks_again() -> None:
    scheduler = scheduler_of(6, 2)
    streams = [Stream([number] * 3, 7) for number in range(2)]
    plans = run_to_end(scheduler, started(scheduler, *streams))
    assert scheduler.num_preemptions > 0
    computed = sum(sum(plan.lengths) for plan in plans)
    assert computed < sum(stream.num_tokens + 3 for stream in streams)


def test_a_step_that_was_never_computed_is_planned_again() -> None:
    scheduler = scheduler_of(8, 4)
    stub = started(scheduler, Stream([1] * 5, 3), Stream([2] * 5, 3))
    first = scheduler.schedule()
    again = scheduler.schedule()
    assert (again.requests, again.lengths) == (first.requests, first.lengths)
    scheduler.postprocess(again, stub.run(again))
    run_to_end(scheduler, stub)


def test_what_a_failed_request_computed_before_is_not_reused() -> None:
    scheduler = scheduler_of(20, 4, max_num_batched_tokens=8)
    failed, later = Stream([1] * 12, 1), Stream([1] * 12, 1)
    stub = started(scheduler, failed)
    first = scheduler.schedule()
    scheduler.postprocess(first, stub.run(first))
    second = scheduler.schedule()
    stub.run(second)
    assert scheduler.postprocess(second, StepResult([None], {0: "layer 3"})) == [failed]
    scheduler.add(later)
    scheduler.schedule()
    assert later.num_cached == 0


def test_a_prompt_that_is_preempted_half_way_is_not_in_the_plan() -> None:
    scheduler = scheduler_of(8, 1, prefill_chunk=1)
    answering, prompt = Stream([1], 6), Stream([2] * 5, 1)
    stub = started(scheduler, answering, prompt)
    for _ in range(3):
        plan = scheduler.schedule()
        assert plan.requests == [answering, prompt]
        scheduler.postprocess(plan, stub.run(plan))
    plan = scheduler.schedule()
    assert (plan.requests, plan.preempted) == ([answering], [prompt])
