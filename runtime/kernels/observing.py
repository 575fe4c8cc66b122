"""Who is told of the kernels that this thread launches: a trace, while one is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

Observer = Callable[[str, Sequence[object]], None]
"""Is told the name of a variant and the arguments that it is launched with, before it runs."""

OBSERVER: ContextVar[Observer | None] = ContextVar("observer of launches", default=None)
"""Launchers look at it at each launch, which is all that they do for it where there is none."""
