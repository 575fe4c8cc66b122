"""What the fixtures are that read a small tree, and a tree's configuration for them to read."""

from __future__ import annotations

from collections.abc import Callable

from analyzers.configuration.configuration import Configuration

Configure = Callable[..., Configuration]
Broken = Callable[..., list[tuple[str, str]]]

CONFIG = """
from __future__ import annotations
from dataclasses import dataclass, field
from functools import cached_property

@dataclass
class Model:
    dtype: str = "auto"

@dataclass
class Root:
    model: Model = field(default_factory=Model)
    models: list[Model] = field(default_factory=list)
    seed: int = 0

    @cached_property
    def first(self) -> Model:
        return self.models[0]

    @classmethod
    def load(cls):
        return cls()

def current() -> Root:
    return Root()
"""
"""A module of configuration, rooted at `Root`."""
