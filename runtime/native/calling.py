"""From a declared name to what can be called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from runtime.native.schemas import NAMESPACE, find_operator

Resolver = Callable[[str], Callable[..., Any]]
"""`kernel_of` or `fallback_of`."""


@functools.cache
def kernel_of(operator: str) -> Callable[..., Any]:
    """The launcher of an operator. Its module, and the compiler that this needs, are imported at the first call."""
    return _load(find_operator(operator).kernel)


@functools.cache
def fallback_of(operator: str) -> Callable[..., Any]:
    """The reference that runs an operator on a CPU."""
    return _load(find_operator(operator).fallback)


@functools.cache
def torch_operator(operator: str) -> Callable[..., Any]:
    """The operator as torch dispatches it."""
    # Only here: whoever launches kernels without a trace needs no registration.
    import runtime.native.registration  # noqa: F401

    overload: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), operator).default
    return overload


def require(condition: bool, message: str) -> None:
    """What an operator without data checks of a call. Raises ValueError."""
    if not condition:
        raise ValueError(message)


def _load(place: str) -> Callable[..., Any]:
    module, _, function = place.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), function)
    return loaded
