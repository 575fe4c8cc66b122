"""Facts: extracted once for each content, in parallel where there is much to do, and remembered."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeVar

from msgspec import Struct, field

from analyzers.cache import Fact, FactCache, decoded, encoded
from analyzers.decoding import decode
from analyzers.errors import UserError
from analyzers.source import Problem, Source
from analyzers.trees.tree import Tree, blob_digest

if TYPE_CHECKING:
    from concurrent.futures import Executor

_BATCH = 100
"""The most files in one unit of work, so that its results do not take much memory."""
_PARALLEL_FROM = 100
"""Fewer files than this are read faster by one process than two can be started."""
_MEANWHILE_FROM = 8
"""Fewer files than this are not worth a process in the background."""

T = TypeVar("T")


class Extractor(Protocol):
    """Reads one kind of fact from one file: a pure function of the text and of the extractor's own fields."""

    @property
    def kind(self) -> str:
        """Names the fact, the version of its reader, and the settings that matter to it."""
        ...

    def extract(self, source: Source) -> Any:
        """The fact, as a value that JSON can hold."""
        ...


class Need(Struct, frozen=True):
    """What an analyser asks for: one kind of fact of some files."""

    extractor: Extractor
    paths: Sequence[str]
    vital: bool = True
    """Whether the analyser's answer is incomplete without these files: then one that cannot be read is a finding."""
    then: Callable[[FactBase], Sequence[Need]] | None = None
    """What the gathered facts show to be needed as well: it is read while whoever asked for the first goes on."""


class _Job(NamedTuple):
    path: str
    extractors: tuple[tuple[str, Extractor], ...]
    """Each with its kind, which takes longer to name than some facts take to read."""
    checked: bool
    """Whether it is known already if the file parses."""


class _Result(NamedTuple):
    path: str
    digest: str
    problem: Problem | None
    facts: list[tuple[str, str]]
    """(kind, JSON) of each extractor."""


_Batches = Generator[list[_Result], None, None]

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of all."""


class FactBase(Struct, eq=False):
    """The facts of one tree."""

    tree: Tree
    cache: FactCache | None = None
    problems: dict[str, Problem] = field(default_factory=dict)
    """Why a file could not be read, or not as what it claims to be. What can be read of such a file is still read."""
    _facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    _seen: dict[tuple[str, Callable[[Any], Any]], dict[str, Any]] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _checked: set[str] = field(default_factory=set)
    """Files of which it is known whether they parse: in this run, or because facts of theirs are stored."""
    _meanwhile: _Batches | None = None
    """What is being read in the background."""

    def of(self, extractor: Extractor, paths: Iterable[str] | None = None) -> Mapping[str, Any]:
        """The facts of one kind, by path, of every file that was asked for and could be decoded.

        Args:
            extractor: names the kind.
            paths: only these files, where another analyser may have asked for more.
        """
        facts = self._facts.get(extractor.kind, {})
        return facts if paths is None else {path: facts[path] for path in paths if path in facts}

    def seen(self, extractor: Extractor, view: Callable[[Any], T]) -> Mapping[str, T]:
        """The same facts as `view` makes them of what is stored: each is made once, whoever asks for it."""
        made: dict[str, T] = self._seen.setdefault((extractor.kind, view), {})
        stored = self.of(extractor)
        made.update((path, view(fact)) for path, fact in stored.items() if path not in made)
        return made

    def gather(self, needs: Sequence[Need], progress: Progress = lambda done, total: None) -> None:
        """Make the facts available, from the cache where it has them.

        Raises:
            SyntaxCheckerError: the syntax checker cannot be run.
        """
        if self._meanwhile is not None:
            begun, self._meanwhile = self._meanwhile, None
            self._take(begun)
        jobs = self._missing(needs)
        self._take(_run(self.tree, jobs, _PARALLEL_FROM), lambda done: progress(done, len(jobs)))
        further = [need for first in needs if first.then is not None for need in first.then(self)]
        if further:
            self._meanwhile = _run(self.tree, self._missing(further), _MEANWHILE_FROM)

    def stop(self) -> None:
        """Give up what is being read in the background and was not asked for."""
        if self._meanwhile is not None:
            self._meanwhile.close()
            self._meanwhile = None

    def _missing(self, needs: Sequence[Need]) -> list[_Job]:
        """What the cache does not have."""
        unknown = {path for need in needs for path in need.paths} - self._digests.keys()
        if unknown and self.cache is not None and not self.cache.is_empty():
            self._digests.update(self.tree.digests(unknown))
        missing: dict[str, dict[str, Extractor]] = {}
        """By path and kind: several analysers may ask for the same."""
        for need in needs:
            kind = need.extractor.kind
            known = self._facts.setdefault(kind, {})
            remembered = self._remembered(kind, (path for path in need.paths if path not in known))
            known.update(remembered)
            self._checked.update(remembered)
            for path in need.paths:
                if path not in known:
                    missing.setdefault(path, {})[kind] = need.extractor
        return [_Job(path, (*wanted.items(),), path in self._checked) for path, wanted in sorted(missing.items())]

    def _remembered(self, kind: str, paths: Iterable[str]) -> dict[str, Any]:
        if self.cache is None:
            return {}
        digests = {path: self._digests[path] for path in paths if path in self._digests}
        stored = self.cache.lookup(kind, digests.values())
        values = {path: stored[digest] for path, digest in digests.items() if digest in stored}
        try:
            return dict(zip(values, decoded(values.values()), strict=True))
        except ValueError:
            return {}

    def _take(self, begun: _Batches, progress: Callable[[int], None] = lambda done: None) -> None:
        done = 0
        with closing(begun) as batches:
            for results in batches:
                self._keep(results)
                done += len(results)
                progress(done)

    def _keep(self, results: list[_Result]) -> None:
        values = iter(decoded(value for result in results for _, value in result.facts))
        for result in results:
            if result.problem is not None:
                self.problems[result.path] = result.problem
            self._checked.add(result.path)
            for (kind, _), value in zip(result.facts, values, strict=False):
                self._facts[kind][result.path] = value
        if self.cache is not None:
            self.cache.store([fact for result in results for fact in self._storable(result)])
            learnt = {r.path: r.digest for r in results if r.digest and r.path not in self._digests}
            self._digests.update(learnt)
            self.tree.remember(learnt)

    def _storable(self, result: _Result) -> Iterator[Fact]:
        """That facts are stored says that there was no problem; a file with one is read again each time."""
        if result.path not in self.problems:
            yield from (Fact(result.digest, kind, value) for kind, value in result.facts)


def _run(tree: Tree, jobs: list[_Job], parallel_from: int) -> _Batches:
    """The results of some jobs. Processes begin at once where there are so many jobs that they share them."""
    workers = min(os.cpu_count() or 1, 16)
    # Several batches for each, since no two take the same time.
    size = max(1, min(_BATCH, -(-len(jobs) // (4 * workers))))
    batches = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    if len(jobs) < parallel_from or workers < 2:
        return _with_syntax_errors(tree, jobs, (_extract_batch(tree, batch) for batch in batches))
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(workers, initializer=_start_worker)
    # This forks, so it comes before there is a thread.
    extracted = pool.map(_extract_then_collect, [tree] * len(batches), batches)
    collected = _collected(pool, _with_syntax_errors(tree, jobs, extracted))
    next(collected)
    return collected


def _collected(pool: Executor, batches: _Batches) -> _Batches:
    """The batches, after an empty one: whoever has taken that has the pool shut down by closing this."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield []
        yield from batches
    except BrokenProcessPool:
        raise UserError("a worker process was killed while it read files; is there enough memory?") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _with_syntax_errors(tree: Tree, jobs: list[_Job], batches: Iterable[list[_Result]]) -> _Batches:
    """The results, with the syntax errors of files on disk: these are checked all at once, while others read them."""
    unknown = [job.path for job in jobs if _is_python(job.path) and not job.checked]
    files = {path: file for path in unknown if (file := tree.on_disk(path))}
    if not files:
        yield from batches
        return
    from analyzers.python.syntax import checking_syntax

    with checking_syntax(files) as problems:
        for results in batches:
            yield [r if r.problem else r._replace(problem=problems().get(r.path)) for r in results]


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi"))


def _start_worker() -> None:
    _follow_parent()
    # Syntax trees come and go by the million; looking for cycles among them again and again takes a tenth of the time.
    gc.disable()
    gc.freeze()


def _extract_then_collect(tree: Tree, jobs: Sequence[_Job]) -> list[_Result]:
    """What a worker does with a batch: the cycles of all its files are collected at once."""
    results = _extract_batch(tree, jobs)
    gc.collect()
    return results


def _follow_parent() -> None:
    """End when the parent does, however it ends, and leave Ctrl-C, which reaches the whole group, to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        Thread(target=_outlive, args=(parent.sentinel,), daemon=True).start()


def _outlive(sentinel: int) -> NoReturn:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _extract_batch(tree: Tree, jobs: Sequence[_Job]) -> list[_Result]:
    results: dict[str, _Result] = {}
    texts: dict[str, str] = {}  # what the syntax checker cannot read on its own
    for (path, data), job in zip(tree.read_many([job.path for job in jobs]), jobs, strict=True):
        if isinstance(data, Problem):
            results[path] = _Result(path, "", data, [])
            continue
        text = decode(path, data)
        if isinstance(text, Problem):
            results[path] = _Result(path, "", text, [])
            continue
        if _is_python(path) and not job.checked and not (tree.on_disk(path) and _is_utf8(data)):
            texts[path] = text
        source = Source(path, text)
        facts = [(kind, encoded(extractor.extract(source))) for kind, extractor in job.extractors]
        results[path] = _Result(path, blob_digest(data), None, facts)
    if texts:
        from analyzers.python.syntax import check_syntax

        for path, problem in check_syntax(texts).items():
            results[path] = results[path]._replace(problem=problem)
    return list(results.values())
