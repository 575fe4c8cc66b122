"""Every error that the runtime raises on purpose. Its text is written for the person who sees it."""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """What an error says behind a name that is not known: up to three that are near it, or `otherwise`."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else otherwise


class VoltgateError(Exception):
    """Base of all of them: the message says what is wrong, where, and what to do about it."""


class ConfigError(VoltgateError):
    """A setting, an environment variable or a platform choice that cannot be honoured."""


class CheckpointError(VoltgateError):
    """A model's files are missing, damaged, hostile or of a kind that is not supported."""


class RequestError(VoltgateError):
    """A request that can never be served: refused before anything is allocated for it."""


class RouteError(VoltgateError):
    """A route that is not declared, or that cannot take the call it was forced to take."""


class KernelError(VoltgateError):
    """A kernel that cannot be compiled, loaded or launched here."""


class CompilationError(KernelError):
    """A kernel that its compiler refuses: what is wrong is the kernel, and not the machine. Its name is not told."""


class NumericsError(VoltgateError):
    """A value that is not finite reached the logits.

    Args:
        layer: the first part of the model whose output was not finite, such as `layers.7.mlp`.
    """

    def __init__(self, layer: str, message: str) -> None:
        super().__init__(message)
        self.layer = layer
