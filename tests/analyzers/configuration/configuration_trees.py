"""What the fixtures are that read a small tree."""

from __future__ import annotations

from collections.abc import Callable

from analyzers.configuration.configuration import Configuration

Configure = Callable[..., Configuration]
Broken = Callable[..., list[tuple[str, str]]]
