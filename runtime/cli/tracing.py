"""The trace of what a command's model runs, for commands that offer one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.config.hashing import compute_hash
from runtime.errors import ConfigError
from runtime.llm import LLM
from runtime.native.trace import NativeDispatchTrace


@contextmanager
def traced(llm: LLM, path: Path | None) -> Iterator[None]:
    """Observe every operator that runs meanwhile, and write that to a file at the end; None observes nothing."""
    if path is None:
        yield
        return
    trace = NativeDispatchTrace(
        platform=llm.platform.name,
        device=llm.platform.device,
        configuration=compute_hash(llm.resolved.config),
        binary=llm.native.identity,
        interpreted=os.environ.get("TRITON_INTERPRET") == "1",
    )
    with _told(path):
        path.open("a").close()  # what cannot be written is refused before anything runs
    with trace:
        yield
    with _told(path):
        trace.write(path)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}; name another --trace") from None
