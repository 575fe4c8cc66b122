"""What `astroid` infers for expressions that plain syntax does not resolve, such as attributes of instances.

Only the file itself is looked at. No import is followed, so that the answer depends on nothing but the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice

import astroid
from astroid import nodes
from astroid.manager import AstroidManager

_MOST = 64
"""An expression that may be more than this is not known."""


class _EveryModule(set[str]):
    """The modules that `astroid` must not import: all but its own model of the builtins."""

    def __contains__(self, name: object) -> bool:
        return name != "builtins"


@lru_cache(maxsize=1)
def inference_of(text: str) -> Inference:
    """The last one is kept: registries and uses of one file are read one after another."""
    return Inference(text)


class Inference:
    """Infers expressions of one text, which is parsed when the first of them is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def texts(self, expression: ast.expr) -> list[str]:
        """Every text that an expression of the file may be; empty where that cannot be told."""
        place = [getattr(expression, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")]
        node = self._nodes.get(tuple(place))
        try:
            values = [] if node is None else list(islice(node.infer(), _MOST + 1))
        except Exception:  # the plug-ins of astroid fail in many ways
            return []
        found = [value.value for value in values if isinstance(value, nodes.Const) and isinstance(value.value, str)]
        return list(dict.fromkeys(found)) if len(found) == len(values) <= _MOST else []

    @cached_property
    def _nodes(self) -> dict[tuple[int | None, ...], nodes.NodeNG]:
        """The expressions by first line and column, and last ones."""
        AstroidManager.brain["module_denylist"] = _EveryModule()
        try:
            module = astroid.parse(self._text)
        except Exception:  # there is syntax that it does not know
            return {}
        _forget_guesses()
        found: dict[tuple[int | None, ...], nodes.NodeNG] = {}
        for node in _expressions(module):
            if isinstance(node, nodes.Call) and node.func.as_string() == "str":
                _leave_open(node)
            # Before Python 3.12 the parts of an f-string stand where the whole does.
            found.setdefault((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), node)
        return found


def _unknown(node: nodes.NodeNG, context: object = None) -> Iterator[object]:
    yield astroid.Uninferable


_leave_open = astroid.inference_tip(_unknown)
"""For calls of `str`: a plug-in has each return an empty text."""


def _forget_guesses() -> None:
    """`astroid` has every method of a text return an empty one; a name that is made with one would then be wrong."""
    for kind in ("str", "bytes"):
        members = AstroidManager().builtins_module[kind].locals
        for name, found in list(members.items()):
            if any(isinstance(method, nodes.FunctionDef) and method.body for method in found):
                del members[name]


def _expressions(module: nodes.Module) -> Iterator[nodes.NodeNG]:
    """Every node that is no statement, before those below it."""
    waiting: list[nodes.NodeNG] = [module]
    while waiting:
        node = waiting.pop()
        if not node.is_statement:
            yield node
        waiting += node.get_children()
