"""The protocol of a platform, and the part of it that follows from the declaration alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.config import Defaults, Override, RuntimeConfig
from runtime.config.fields import flatten
from runtime.errors import ConfigError
from runtime.platforms.declarations import PLATFORM_SPECS, PlatformSpec, Replacement


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a platform runs something; true in a condition where it does."""

    admitted: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.admitted


class Platform(Protocol):
    """Where the engine runs."""

    @property
    def spec(self) -> PlatformSpec:
        """The declaration."""

    @property
    def name(self) -> str:
        """`sm70`, `cpu` or `cuda`."""

    @property
    def qualified(self) -> bool:
        """Whether results and speed on it are vouched for."""

    @property
    def device(self) -> str:
        """The torch device, such as `cpu` or `cuda:0`."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Floating-point formats that it runs."""

    @property
    def default_dtype(self) -> str:
        """The format that it runs best."""

    def supports(self, codec: str) -> Support:
        """Whether it runs a KV-cache codec, with the reason where it does not."""

    def memory_bytes(self) -> int:
        """Bytes of the device's memory that can still be allocated."""

    def defaults(self) -> Defaults:
        """What it chooses where the user does not."""

    def overrides(self) -> Sequence[Override]:
        """What it cannot do without."""


@dataclass(frozen=True, slots=True)
class DeclaredPlatform:
    """The answers of a platform that its declaration gives: enough to plan and to explain without its hardware."""

    spec: PlatformSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def qualified(self) -> bool:
        return self.spec.qualified

    @property
    def dtypes(self) -> tuple[str, ...]:
        return self.spec.dtypes

    @property
    def default_dtype(self) -> str:
        return str(self.spec.defaults["model.dtype"][0])

    def supports(self, codec: str) -> Support:
        if codec in self.spec.codecs:
            return Support(True)
        for replacement in self.spec.replacements:
            if (replacement.owner_path, replacement.refused) == ("cache.codec", codec):
                return Support(False, replacement.reason)
        return Support(False, f"{self.name} runs {', '.join(self.spec.codecs)}")

    def defaults(self) -> Defaults:
        return Defaults(self.name, self.spec.defaults)

    def overrides(self) -> Sequence[Override]:
        return [_override(self.name, replacement) for replacement in self.spec.replacements]


def declared(name: str) -> DeclaredPlatform:
    """A platform by its name, without looking for its hardware.

    Raises:
        ConfigError: there is no such platform.
    """
    for spec in PLATFORM_SPECS:
        if spec.name == name:
            return DeclaredPlatform(spec)
    raise ConfigError(f"platform {name!r}: must be one of auto, {', '.join(spec.name for spec in PLATFORM_SPECS)}")


def _override(source: str, replacement: Replacement) -> Override:
    def applies(config: RuntimeConfig) -> bool:
        return flatten(config)[replacement.owner_path] == replacement.refused

    return Override(replacement.owner_path, applies, replacement.value, replacement.reason, source)
