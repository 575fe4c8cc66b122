"""Of which expressions `astroid` may know more than syntax: it takes long to load, so that nothing is asked in vain."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from analyzers.environment.scopes import Binding, Scope, returned

_INFERRED = frozenset(("dict", "frozenset", "getattr", "list", "set", "super", "tuple", "type"))
"""The builtins of which it knows what they return; `str` is read by syntax alone."""
_OPAQUE = frozenset(dir(builtins)) - _INFERRED


class Inferable:
    """Tells expressions that lead to something the file makes from those that nobody can know from the file: what a
    caller gives, what is imported, and what a builtin function makes of something."""

    def __init__(self, missing: set[str]) -> None:
        """`missing` takes the names that matter here and that nothing which was parsed binds."""
        self._missing = missing
        self._known: dict[ast.expr, bool] = {}

    def may_be(self, node: ast.expr, scope: Scope) -> bool:
        """Whether there is any point in asking what an expression is.

        Args:
            node: the expression.
            scope: where it is evaluated.
        """
        if node not in self._known:
            self._known[node] = False  # what is made of itself is nothing
            self._known[node] = self._may_be(node, scope)
        return self._known[node]

    def _may_be(self, node: ast.expr, scope: Scope) -> bool:
        if bindings := self._bindings(node, scope):
            return any(map(self._bound, bindings))
        match node:
            case ast.Name(id=name):
                self._missing.add(name)
                return name not in _OPAQUE
            case ast.Attribute(value=ast.Name(id=owner)) if scope.class_of(owner) or _is_defined(owner, scope):
                return True  # anything may set it
            case ast.Call(func=function, args=arguments, keywords=keywords):
                given = [*arguments, *(keyword.value for keyword in keywords)]
                follows = bool(self._bindings(function, scope)) and any(self.may_be(value, scope) for value in given)
                return follows or self.may_be(function, scope)
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.FormattedValue(value=value):
                return self.may_be(value, scope)
            case ast.BinOp(left=left, right=right):
                return self.may_be(left, scope) and self.may_be(right, scope)
            case ast.JoinedStr(values=values):
                return all(self.may_be(value, scope) for value in values)
        return True

    def _bound(self, binding: Binding) -> bool:
        if binding.defines and binding.scope.is_function:
            return any(self.may_be(value, binding.scope) for value in returned(binding.scope))
        if binding.value is not None:
            return self.may_be(binding.value, binding.scope)
        return not binding.imported and binding.parameter is None

    def _bindings(self, node: ast.expr, scope: Scope) -> list[Binding]:
        """What a name is bound to, or an attribute of a class of the file, which that may inherit."""
        match node:
            case ast.Name(id=name):
                return scope.lookup(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if holder := scope.class_of(owner):
                lineage = [holder]
                for above in lineage:
                    if bindings := above.attribute(name):
                        return bindings
                    lineage += [base for base in self._bases(above) if base not in lineage]
        return []

    def _bases(self, holder: Scope) -> Iterator[Scope]:
        """Those in the file that were parsed."""
        for base in holder.node.bases if isinstance(holder.node, ast.ClassDef) else ():
            if isinstance(base, ast.Name):
                if found := holder.class_of(base.id):
                    yield found
                elif not holder.lookup(base.id):
                    self._missing.add(base.id)


def _is_defined(name: str, scope: Scope) -> bool:
    """Whether a name is that of a function or class of the file."""
    return any(binding.defines for binding in scope.lookup(name))
