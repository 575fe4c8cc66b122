"""Functions that read the variable that their caller names: the read is where the name is given."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from analyzers.environment.keys import Key, KeyReader, Parameter, substituted
from analyzers.environment.scopes import Binding, Reader, Scope, parameters
from analyzers.environment.uses import Access

_MOST = 10_000
"""Sites that are followed in one file: a function may call itself with ever longer names."""


class Site(NamedTuple):
    """A use; its key may hold parameters of the functions around it."""

    key: Key
    access: Access
    node: ast.expr
    scope: Scope
    discarded: bool = False
    """A call that reads and changes, and whose value nobody takes."""


class Wrappers:
    """Follows parameters to the calls that give them, in one module."""

    def __init__(self, reader: Reader, keys: KeyReader, foreign: Collection[str]) -> None:
        self._reader = reader
        self._keys = keys
        self._foreign = foreign
        self._calls: dict[Scope, list[tuple[ast.Call, Scope, bool]]] = {}
        """The calls of each function of the module, with the scope and whether its first parameter is bound."""
        self._seen: set[tuple[ast.Call, Key, Access]] = set()
        self.names: set[str] = set()
        """The functions of the module that are wrappers."""
        self.exported: list[str] = []
        """Those among them whose first argument is the whole name of a variable that they read."""

    def followed(self, sites: Iterable[Site]) -> list[Site]:
        """The sites, with those of a wrapper replaced by those of its calls, and those of foreign wrappers."""
        sites = list(sites)
        sites += self._resolve_calls()
        found: list[Site] = []
        for _ in range(_MOST):
            if not sites:
                break
            site = sites.pop()
            functions = {part.function for part in site.key if isinstance(part, Parameter)}
            self._note(site, functions)
            sites += [given for function in functions for given in self._given(site, function)]
            if not functions or not all(self._is_called(function) for function in functions):
                found.append(site)
        return [*found, *sites]

    def _resolve_calls(self) -> Iterator[Site]:
        for call, scope in self._reader.calls:
            function, bound = self._callee(call.func, scope)
            if function is not None:
                self._calls.setdefault(function, []).append((call, scope, bound))
            elif self._foreign and _last_name(call.func) in self._foreign:
                yield from (Site(key, "read", call, scope) for key in self._keys.read(argument(call, 0), scope))

    def _callee(self, node: ast.expr, scope: Scope) -> tuple[Scope | None, bool]:
        """The function of this module that is called, and whether its first parameter is given by that."""
        match node:
            case ast.Name(id=name):
                return self._function(scope.lookup(name)), False
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                holder = scope.class_of(owner)
                function = self._function(holder.bindings.get(name, [])) if holder else None
                return function, function is not None and _binds_first(function.node, owner)
        return None, False

    def _function(self, bindings: list[Binding]) -> Scope | None:
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        if binding.defines:
            return binding.scope if binding.scope.is_function else None
        return self._reader.functions.get(binding.value) if isinstance(binding.value, ast.Lambda) else None

    def _is_called(self, function: Scope) -> bool:
        return function in self._calls or _name(function) in self._foreign

    def _note(self, site: Site, functions: Iterable[Scope]) -> None:
        for function in functions:
            name = _name(function)
            self.names |= {name} - {""}
            if site.key == (Parameter(function, _first_parameter(function)),) and site.access == "read":
                self.exported += [name] if name not in self.exported else []

    def _given(self, site: Site, function: Scope) -> Iterator[Site]:
        """The same use, once for each call of the function."""
        wanted = [part.name for part in site.key if isinstance(part, Parameter) and part.function is function]
        for call, scope, bound in self._calls.get(function, ()):
            if (call, site.key, site.access) in self._seen:
                continue
            self._seen.add((call, site.key, site.access))
            arguments = self._keys.arguments(call, scope, function, bound=bound, wanted=wanted)
            for key in substituted(site.key, function, arguments):
                yield Site(key, site.access, call, scope, site.discarded)


def argument(call: ast.Call, index: int) -> ast.expr | None:
    """A positional argument; where there are fewer, the first keyword's value."""
    if index < len(call.args):
        value = call.args[index]
        return None if isinstance(value, ast.Starred) else value
    return call.keywords[0].value if call.keywords and call.keywords[0].arg else None


def _name(function: Scope) -> str:
    """What callers call it: a lambda by the name that it is bound to."""
    if not isinstance(function.node, ast.Lambda):
        return function.symbol.rpartition(".")[2]
    around = function.parent.bindings.items() if function.parent else ()
    return next((name for name, bound in around if any(binding.value is function.node for binding in bound)), "")


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _first_parameter(function: Scope) -> str:
    """The first that callers give."""
    assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    names = [name for name, _ in parameters(function.node.args)]
    method = function.parent is not None and function.parent.is_class and not _is_static(function.node)
    return next(iter(names[method:]), "")


def _binds_first(node: ast.AST, owner: str) -> bool:
    """Whether a method that is looked up on `owner` is given its first argument."""
    if _is_static(node):
        return False
    return owner in ("self", "cls") or "classmethod" in _decorators(node)


def _is_static(node: ast.AST) -> bool:
    return "staticmethod" in _decorators(node)


def _decorators(node: ast.AST) -> list[str]:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return [decorator.id for decorator in decorators if isinstance(decorator, ast.Name)]
