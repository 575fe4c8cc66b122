"""Every compiled kernel variant that a selector can choose, as the modules of kernels declare them."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Iterator
from importlib import import_module

from runtime.errors import KernelError
from runtime.kernels.variants import CudaVariant, TritonVariant
from runtime.platforms.packages import TRITON

Variant = TritonVariant | CudaVariant

_FOLDERS = ("runtime.kernels.cuda", "runtime.kernels.triton")


def all_variants() -> tuple[Variant, ...]:
    """The variants of every module that has a function `variants`, by name.

    Raises:
        KernelError: Triton is not installed, or two variants have one name.
    """
    if not TRITON.folder():
        raise KernelError(f"compiling kernels, and reading what was compiled, needs Triton; run `{TRITON.install}`")
    found = sorted(_declared(), key=lambda variant: variant.name)
    if twice := [name for name, count in Counter(variant.name for variant in found).items() if count > 1]:
        raise KernelError(f"two kernel variants are called {twice[0]!r}; name what tells them apart")
    return tuple(found)


def _declared() -> Iterator[Variant]:
    for folder in _FOLDERS:
        for module in pkgutil.iter_modules(import_module(folder).__path__, f"{folder}."):
            yield from getattr(import_module(module.name), "variants", tuple)()
