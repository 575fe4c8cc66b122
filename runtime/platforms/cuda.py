"""CUDA devices as platforms: a Volta card is sm70, any other runs unqualified."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.errors import ConfigError
from runtime.platforms.declarations import PLATFORM_SPECS
from runtime.platforms.packages import V100_INSTALL
from runtime.platforms.protocol import DeclaredPlatform


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """One card that torch sees: its index, name and compute capability."""

    index: int
    name: str
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CudaPlatform(DeclaredPlatform):
    """One card, under the declaration that its compute capability selects."""

    card: CudaDevice

    @property
    def device(self) -> str:
        return f"cuda:{self.card.index}"

    def memory_bytes(self) -> int:
        import torch

        free, _ = torch.cuda.mem_get_info(self.card.index)
        return free


@dataclass(frozen=True, slots=True)
class CudaMachine:
    """What torch sees here.

    Attributes:
        devices: the cards, none where the build has no CUDA or no driver answers.
        architectures: what the build holds code for, such as `sm_70`; empty where there are no devices.
    """

    devices: tuple[CudaDevice, ...]
    architectures: tuple[str, ...]

    def platforms(self) -> tuple[CudaPlatform, ...]:
        """Every card as a platform, qualified ones first."""
        specs = {spec.capability: spec for spec in PLATFORM_SPECS if spec.capability is not None}
        other = next(spec for spec in PLATFORM_SPECS if spec.name == "cuda")
        cards = [CudaPlatform(specs.get(card.capability, other), card) for card in self.devices]
        return tuple(sorted(cards, key=lambda platform: not platform.qualified))

    def require_code_for(self, platform: CudaPlatform) -> None:
        """Check that the build can run kernels on a qualified card.

        Raises:
            ConfigError: it holds no code for the card.
        """
        major, minor = platform.card.capability
        wanted = f"sm_{major}{minor}"
        if platform.qualified and wanted not in self.architectures:
            raise ConfigError(
                f"platform {platform.name}: {platform.card.name} is present, but this torch build holds no {wanted} "
                f"code ({', '.join(self.architectures)}); run `{V100_INSTALL}`, or choose the platform cpu"
            )


def visible() -> CudaMachine:
    """Ask torch for the cards.

    Raises:
        ConfigError: torch cannot be imported.
    """
    try:
        import torch
    except (ImportError, OSError) as error:
        raise ConfigError(f"torch cannot be imported: {error}; `v100 doctor` says what is wrong") from error
    if not torch.cuda.is_available():
        return CudaMachine((), ())
    devices = tuple(
        CudaDevice(index, torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index))
        for index in range(torch.cuda.device_count())
    )
    return CudaMachine(devices, tuple(torch.cuda.get_arch_list()))
