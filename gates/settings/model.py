"""The root table: `[tool.gates]`, or the whole of gates.toml."""

from __future__ import annotations

import datetime

from pydantic import Field

from analyzers.configuration.policy import ConfigPolicy
from analyzers.doclinks.policy import DocsPolicy
from analyzers.environment.policy import EnvironmentPolicy
from analyzers.layering.policy import LayeringPolicy
from analyzers.policy import Glob, Table
from analyzers.routes.policy import RoutesPolicy


class Waiver(Table):
    """Findings that may stand until a date, because a named person gave a reason."""

    rule: str
    scope: Glob
    owner: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: datetime.date


class Settings(Table):
    exclude: tuple[Glob, ...] = ()
    source_roots: tuple[str, ...] = ()
    """Folders that Python's import path starts from; detected where none is named."""
    baselines: str = "baselines"
    waivers: tuple[Waiver, ...] = ()
    layering: LayeringPolicy | None = None
    docs: DocsPolicy | None = None
    config: ConfigPolicy | None = None
    routes: RoutesPolicy | None = None
    env: EnvironmentPolicy | None = None
