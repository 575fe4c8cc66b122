"""The Voltgate runtime: an LLM inference engine for NVIDIA V100 that also runs on a plain CPU.

`LLM` and `SamplingParams` are imported when first used: the command line and the declarations need no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.engine.sampling_params import SamplingParams
    from runtime.llm import LLM

__all__ = ["LLM", "SamplingParams"]


def __getattr__(name: str) -> object:
    if name == "LLM":
        from runtime.llm import LLM

        return LLM
    if name == "SamplingParams":
        from runtime.engine.sampling_params import SamplingParams

        return SamplingParams
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
