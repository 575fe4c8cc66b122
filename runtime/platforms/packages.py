"""Packages that the runtime can do without: whether one is here, and the command that installs it. Imports none."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

RUNTIME_INSTALL = "pip install 'voltgate[runtime]'"
"""The command that installs what the runtime cannot do without."""

V100_INSTALL = "pip install 'voltgate[v100]'"
"""The command that installs the last torch whose binaries hold sm_70 code, with what fits it."""

NVRTC_INSTALL = "pip install nvidia-cuda-nvrtc-cu12==12.8.93"
"""The command that installs the last NVRTC that compiles for compute capability 7.0."""


@dataclass(frozen=True, slots=True)
class Package:
    """An optional package.

    Attributes:
        module: by which it is imported.
        install: the command that installs it.
    """

    module: str
    install: str

    def folder(self) -> Path | None:
        """Where this process would import it from; None where it could not."""
        spec = find_spec(self.module)
        folders = spec.submodule_search_locations if spec else None
        return Path(next(iter(folders))) if folders else None

    def refusal(self) -> str | None:
        """Why it cannot be used, with the remedy; None where it is here."""
        return None if self.folder() else f"it is not installed; run `{self.install}`"


TRITON = Package("triton", "pip install triton==3.6.0")


def missing_packages() -> tuple[tuple[str, str], ...]:
    """The packages that kernels may require and that are not here, by module, each with the reason."""
    refusal = TRITON.refusal()
    return () if refusal is None else ((TRITON.module, refusal),)
