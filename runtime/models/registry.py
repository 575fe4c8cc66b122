"""Model families register themselves here, and nothing else knows their names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from runtime.config import Defaults
from runtime.errors import CheckpointError
from runtime.models.config import DecoderConfig
from runtime.models.fields import Fields
from runtime.models.naming import GGUF_NAMES, HF_NAMES

_FAMILIES = "runtime.models.families"
_NO_DEFAULTS = Defaults("model", {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """All that is particular to one family.

    Attributes:
        names: the `model_type` of its Hugging Face configs and the `general.architecture` of its GGUF files.
        from_hf: reads a config.json.
        from_gguf: reads GGUF metadata, under the architecture's prefix.
        hf_names, gguf_names: role -> tensor name without `.weight` or `.bias`; see `naming`.
        hf_norms_less_one: whether Hugging Face norm weights are stored as w - 1. GGUF files hold w.
        gguf_rows_in_pairs: whether GGUF query and key rows lie in the order of a rotation of neighbours.
        defaults: the settings that the family would choose where the user does not.
    """

    names: tuple[str, ...]
    from_hf: Callable[[Fields], DecoderConfig]
    from_gguf: Callable[[Fields], DecoderConfig]
    hf_names: Mapping[str, str] = field(default_factory=lambda: HF_NAMES)
    gguf_names: Mapping[str, str] = field(default_factory=lambda: GGUF_NAMES)
    hf_norms_less_one: bool = False
    gguf_rows_in_pairs: bool = False
    defaults: Defaults = _NO_DEFAULTS


_adapters: dict[str, Adapter] = {}


def register(adapter: Adapter) -> None:
    """Make a family known. A name belongs to one family.

    Raises:
        ValueError: another family has one of the names.
    """
    for name in adapter.names:
        if _adapters.setdefault(name, adapter) is not adapter:
            raise ValueError(f"two model families are called {name!r}")


def adapter_for(architecture: str, place: str) -> Adapter:
    """The family of a checkpoint.

    Args:
        architecture: `model_type` or `general.architecture`.
        place: the file and key that name it, for the error.

    Raises:
        CheckpointError: no family has that name.
    """
    _import_families()
    adapter = _adapters.get(architecture)
    if adapter is None:
        known = ", ".join(sorted(_adapters))
        raise CheckpointError(f"{place}: architecture {architecture!r} is not supported; supported: {known}.")
    return adapter


@cache
def _import_families() -> None:
    """Import every module of the families' folder, which registers what it defines."""
    for module in pkgutil.iter_modules(importlib.import_module(_FAMILIES).__path__):
        importlib.import_module(f"{_FAMILIES}.{module.name}")
