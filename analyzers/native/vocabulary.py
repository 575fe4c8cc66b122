"""The words by which a tree registers, probes and calls: what its own functions add to those of PyTorch."""

from __future__ import annotations

from typing import NamedTuple


class Registrar(NamedTuple):
    """A function or decorator of the tree that defines an operator."""

    function: str
    namespace: str
    fakes: tuple[str, ...]
    """Keywords that give it a fake implementation."""
    always_fake: bool
    """Whether it gives it one of its own accord."""


class Vocabulary(NamedTuple):
    registrars: tuple[Registrar, ...] = ()
    fakes: tuple[str, ...] = ()
    """Functions and decorators that give an operator, named by their first argument, a fake implementation."""
    probes: tuple[str, ...] = ()
    """Functions that ask whether the operators exist that their literal arguments name."""
    modules: tuple[str, ...] = ()
    """Python modules whose functions are native."""
    macros: tuple[tuple[str, str], ...] = ()
    """What macros stand for that C++ names namespaces by."""
    routes: tuple[tuple[str, int | str], ...] = ()
    """Functions that name a route, each with the position or keyword of that argument."""
