"""The engine behind asyncio: a thread steps it, any number of clients read their streams."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from queue import Empty, SimpleQueue

from runtime.engine.engine import Engine, EngineStats
from runtime.engine.generation import Generation
from runtime.engine.outputs import RequestOutput
from runtime.engine.sampling_params import SamplingParams
from runtime.errors import RequestError, VoltgateError


class EngineStoppedError(VoltgateError):
    """The engine was shut down, or has failed; the failure is its cause."""


class _Client:
    """One stream's reader, in the event loop that it lives in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[RequestOutput | VoltgateError] = asyncio.Queue()

    def deliver(self, item: RequestOutput | VoltgateError) -> None:
        """Hand over from the engine's thread. A client whose loop is closed has nobody left to tell."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, item)

    async def next(self) -> RequestOutput:
        item = await self._arrived.get()
        if isinstance(item, VoltgateError):
            raise item
        return item


class AsyncEngine:
    """Runs an engine in a thread of its own.

    Args:
        engine: only `prepare` and `stats` of it may be called from outside from now on.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._clients: dict[str, _Client] = {}  # of the requests that the engine has
        self._draining = False
        self._commands: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._gate = threading.Lock()  # guards the two below: once stopped, nobody may begin to wait
        self._waiting: set[_Client] = set()
        self._stopped: tuple[str, Exception | None] | None = None
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()

    async def generate(
        self,
        prompt: str | Sequence[int],
        params: SamplingParams | None = None,
        *,
        request_id: str | None = None,
        priority: int = 0,
        cache_salt: str = "",
    ) -> AsyncIterator[RequestOutput]:
        """Stream the snapshots of one request; see `Engine.prepare` for the arguments.

        To leave the iteration, by `break`, by an exception or by cancelling the task, aborts the request.

        Raises:
            RequestError: the request can never be served.
            EngineStoppedError: nothing is served any more.
        """
        self._check_open()
        generation = await asyncio.to_thread(
            self._engine.prepare, prompt, params, request_id=request_id, priority=priority, cache_salt=cache_salt
        )
        client = _Client()
        finished = False
        self._post(lambda: self._submit(generation, client), waits=client)
        try:
            while not finished:
                output = await client.next()
                finished = output.finished
                yield output
        finally:
            with self._gate:
                self._waiting.discard(client)
            if not finished:
                self._try_post(lambda: self._leave(generation.request_id, client))

    def abort(self, request_id: str) -> None:
        """End a request, if it is not finished: its stream gets a last snapshot with finish reason "abort"."""
        self._try_post(lambda: self._abort(request_id))

    def stats(self) -> EngineStats:
        """Return the engine's counters, as of some moment within its latest step."""
        return self._engine.stats()

    async def shutdown(self, *, drain: bool = False) -> None:
        """Stop for good. What is unfinished is aborted, or with `drain` served to its end. New requests are refused."""
        self._try_post(lambda: self._stop(drain))
        await asyncio.to_thread(self._thread.join)

    def _check_open(self) -> None:
        if self._stopped is not None:
            raise _stopped(*self._stopped)

    def _post(self, command: Callable[[], None], waits: _Client | None = None) -> None:
        with self._gate:
            self._check_open()
            if waits is not None:
                self._waiting.add(waits)
            self._commands.put(command)

    def _try_post(self, command: Callable[[], None]) -> None:
        with contextlib.suppress(EngineStoppedError):  # a stopped engine has no request left that this could concern
            self._post(command)

    # All below runs in the engine's thread.

    def _serve(self) -> None:
        try:
            while not self._draining or self._engine.has_unfinished:
                self._run_commands()
                for output in self._engine.step():
                    self._deliver(output)
            self._stop_serving("the engine was shut down", None)
        except Exception as error:
            self._stop_serving(f"the engine failed and serves no more: {type(error).__name__}: {error}", error)

    def _run_commands(self) -> None:
        """Do what was asked; wait for something to do if the engine has nothing."""
        while True:
            try:
                command = self._commands.get(block=not (self._engine.has_unfinished or self._draining))
            except Empty:
                return
            command()

    def _submit(self, generation: Generation, client: _Client) -> None:
        if self._draining:
            client.deliver(_stopped("the engine is shutting down", None))
            return
        try:
            self._engine.submit(generation)
        except RequestError as refusal:
            client.deliver(refusal)
        else:
            self._clients[generation.request_id] = client

    def _leave(self, request_id: str, client: _Client) -> None:
        """A client has gone. By now its id may be another's, or it may have been refused for being another's."""
        if self._clients.get(request_id) is client:
            del self._clients[request_id]
            self._engine.abort(request_id)

    def _abort(self, request_id: str) -> None:
        output = self._engine.abort(request_id)
        if output is not None:
            self._deliver(output)

    def _stop(self, drain: bool) -> None:
        self._draining = True
        if not drain:
            for output in self._engine.abort_all():
                self._deliver(output)

    def _deliver(self, output: RequestOutput) -> None:
        client = self._clients.pop(output.request_id) if output.finished else self._clients[output.request_id]
        client.deliver(output)

    def _stop_serving(self, message: str, cause: Exception | None) -> None:
        """Let nobody wait for what will not come, neither those who are served nor those who have just asked."""
        with self._gate:
            self._stopped = (message, cause)
            for client in self._waiting:
                client.deliver(_stopped(message, cause))


def _stopped(message: str, cause: Exception | None) -> EngineStoppedError:
    error = EngineStoppedError(message)
    error.__cause__ = cause
    return error
