"""The class that owns a tree's configuration: of all configuration classes, the one that leads to the most others."""

from __future__ import annotations

import re
from collections import defaultdict

from msgspec import Struct

from gates.init.blocks import block_after

_CLASS = re.compile(rb"\nclass[ \t]++(\w*(?:Config|Args|Settings))\b[^\n]*+")
_FIELD = re.compile(rb"\n[ \t]++[a-z]\w*+[ \t]*+:([^=\n#]++)")
_NAME = re.compile(rb"\w*(?:Config|Args|Settings)\b")
_LEAST_REACHED = 3
_LEAST_SHARE = 0.1
"""A class that leads to less of the configuration classes than this owns a part of the tree at most."""


class Owner(Struct, frozen=True):
    """A class that no other configuration class has a field of."""

    name: str
    """Dotted."""
    package: str
    """Where configuration is declared: the package that the class is in if it is called so, else its module."""
    reached: int
    """How many other classes the annotations of its fields lead to."""


class OwnerSurvey:
    """Takes in one Python file after the other. Classes are told apart by their bare names only: good enough to ask."""

    def __init__(self) -> None:
        self._modules: defaultdict[str, list[str]] = defaultdict(list)
        self._fields: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, module: str, data: bytes) -> None:
        data = b"\n" + data
        for found in _CLASS.finditer(data):
            name = found[1].decode()
            self._modules[name].append(module)
            for annotation in _FIELD.findall(block_after(data, found.end())):
                self._fields[name].update(word.decode() for word in _NAME.findall(annotation))

    def owner(self) -> Owner | None:
        """The one that reaches the most others; None where none reaches several, or two are alike."""
        known = {name: self._fields[name] & self._modules.keys() - {name} for name in self._modules}
        held = set().union(*known.values()) if known else set()
        reach = {name: len(_reachable(name, known)) for name in known if name not in held}
        best = max(reach, key=lambda name: (reach[name], name), default="")
        least = max(_LEAST_REACHED, _LEAST_SHARE * len(known))
        if reach.get(best, 0) < least or len(self._modules[best]) > 1:
            return None
        module = self._modules[best][0]
        parent = module.rpartition(".")[0]
        return Owner(f"{module}.{best}", parent if "config" in parent.rpartition(".")[2] else module, reach[best])


def _reachable(start: str, fields: dict[str, set[str]]) -> set[str]:
    """What fields lead to from a class, without the class itself."""
    seen, waiting = {start}, [start]
    while waiting:
        new = fields[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen - {start}
