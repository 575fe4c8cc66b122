"""Which platform the engine runs on."""

from __future__ import annotations

from collections.abc import Callable

from runtime.errors import ConfigError
from runtime.platforms.cpu import CpuPlatform
from runtime.platforms.cuda import CudaMachine, CudaPlatform, visible
from runtime.platforms.packages import V100_INSTALL
from runtime.platforms.protocol import Platform, declared


def current(name: str = "auto", machine: Callable[[], CudaMachine] = visible) -> Platform:
    """The platform with that name, or the best one here: a Volta card, then another CUDA card, then the CPU.

    Args:
        machine: finds the cards.

    Raises:
        ConfigError: there is no such platform, or not here; or a V100 is present that this torch build cannot drive.
            The last is an error for `auto` too, since running on the CPU instead would be a silent loss of speed.
    """
    if name != "auto":
        declared(name)
    if name == "cpu":
        return _cpu()
    found = machine()
    cards = [card for card in found.platforms() if name in ("auto", card.name)]
    if cards:
        found.require_code_for(cards[0])
        return cards[0]
    if name == "auto":
        return _cpu()
    raise ConfigError(f"platform {name}: {_absence(name, found.platforms())}; `v100 doctor` says what is missing")


def _cpu() -> CpuPlatform:
    return CpuPlatform(declared("cpu").spec)


def _absence(name: str, cards: tuple[CudaPlatform, ...]) -> str:
    if not cards:
        return (
            f"torch sees no CUDA device here; a V100 needs its driver and `{V100_INSTALL}`; or choose the platform cpu"
        )
    seen = ", ".join(f"{card.card.name} ({card.name})" for card in cards)
    return f"the cards here are of another kind: {seen}; choose the platform {cards[0].name}"
