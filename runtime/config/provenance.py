"""Where values come from: what others may state, and what a resolved setting remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from runtime.config.schema import RuntimeConfig

Source = Literal["explicit", "environment", "platform", "model", "declared", "derived", "safety"]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a platform or a model would choose where the user does not.

    Attributes:
        source: who says so, such as `sm70`.
        values: owner path -> (value, reason).
    """

    source: str
    values: Mapping[str, tuple[object, str]]


@dataclass(frozen=True, slots=True)
class Override:
    """A value that safety demands. It wins over everything, an explicit value too.

    Attributes:
        owner_path: the setting that it replaces.
        when: whether it applies to a configuration; sees every effective value.
        value: what the setting becomes.
        reason: why anything else would be wrong.
        source: who demands it.
    """

    owner_path: str
    when: Callable[[RuntimeConfig], bool]
    value: object
    reason: str
    source: str = "runtime"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One value that was stated for a setting.

    Attributes:
        source: which step of the precedence stated it.
        origin: who exactly: the environment variable, the platform, the model, the setting it follows.
    """

    value: object
    source: Source
    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Why a setting has its value: the candidate that won, and those that it beat, strongest first."""

    chosen: Candidate
    overridden: tuple[Candidate, ...] = ()

    def replaced_by(self, candidate: Candidate) -> Provenance:
        """The provenance after a stronger candidate has come."""
        return Provenance(candidate, (self.chosen, *self.overridden))


@dataclass(frozen=True)
class Resolved:
    """A final configuration, and the provenance of each of its settings by owner path."""

    config: RuntimeConfig
    provenance: Mapping[str, Provenance]

    def __post_init__(self) -> None:
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __reduce__(self) -> tuple[type[Resolved], tuple[RuntimeConfig, dict[str, Provenance]]]:
        # A mapping proxy cannot be pickled, and workers must receive this object.
        return Resolved, (self.config, dict(self.provenance))
