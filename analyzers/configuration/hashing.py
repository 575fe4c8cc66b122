"""What the hash of a configuration class takes in."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.configuration.classes import ConfigClass, Method
from analyzers.configuration.program import Definition


class HashMethod:
    """A method that computes a hash, with the methods of its class that it calls."""

    def __init__(self, owner: ConfigClass, method: Method) -> None:
        self.method = method
        self._owner = owner
        steps = list(self._steps(method, set()))
        self.takes_all = any(step.fact.whole for step in steps)
        """Whether it walks through every field, less those that it names."""
        self._uses = {name for step in steps for name in step.fact.uses}

    def takes(self, field: str) -> bool:
        """Whether a field is part of the hash, or named as one that is not."""
        return self.takes_all or field in self._uses

    def _steps(self, method: Method, seen: set[tuple[Definition, str]]) -> Iterator[Method]:
        identity = (method.owner, method.fact.name)
        if identity in seen:
            return
        seen.add(identity)
        yield method
        for name in method.fact.uses:
            above = self._owner.overridden(method) if name == method.fact.name else self._owner.methods.get(name)
            if above is not None:
                yield from self._steps(above, seen)
