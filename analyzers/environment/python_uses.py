"""Uses of the environment in a parsed Python module."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from analyzers.environment.keys import UNKNOWN, Key, KeyReader
from analyzers.environment.patched import writes_by_tests
from analyzers.environment.scopes import Binding, Reader, Scope
from analyzers.environment.uses import Access
from analyzers.environment.wrappers import Site, Wrappers, argument

_ENVIRONMENTS = frozenset(("os.environ", "os.environb", "posix.environ"))
_FUNCTIONS: Mapping[str, Access] = {
    "os.getenv": "read",
    "os.getenvb": "read",
    "os.putenv": "write",
    "os.unsetenv": "delete",
}
_METHODS: Mapping[str, Access] = {
    "get": "read",
    "__getitem__": "read",
    "__contains__": "read",
    "setdefault": "read+write",
    "pop": "read+delete",
    "__setitem__": "write",
    "__delitem__": "delete",
}
_SUBSCRIPTS: Mapping[type[ast.expr_context], Access] = {ast.Load: "read", ast.Store: "write", ast.Del: "delete"}
_TRANSPARENT = (ast.BoolOp, ast.IfExp, ast.NamedExpr)
_IMPORTERS = frozenset(("__import__", "importlib.import_module"))
_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|(\w+))")
_DEEPEST = 12


class Found(NamedTuple):
    """What one reading of a module gives."""

    sites: list[Site]
    wrappers: list[str]
    """Functions that read the variable that their first argument names."""
    carriers: set[str]
    """Names of the module through which other statements of it may use the environment."""
    missing: set[str]
    """Names that keys are made of and that the module, as far as it was parsed, does not bind."""


def read_module(module: ast.Module, lines: Sequence[int], wrappers: Collection[str], keys: KeyReader) -> Found:
    """Every use in a module.

    Args:
        module: all or some of a file's statements.
        lines: where something stands that may matter, in order; functions without such a line are not looked at.
        wrappers: names of functions, defined anywhere, that read the variable that their first argument names.
        keys: takes the names of variables apart.
    """
    return _ModuleReader(Reader(module, lines), keys).read(wrappers)


class _ModuleReader:
    def __init__(self, reader: Reader, keys: KeyReader) -> None:
        self._reader = reader
        self._keys = keys
        self._paths: dict[tuple[Scope, str], str] = {}

    def read(self, wrappers: Collection[str]) -> Found:
        sites = [
            site
            for node, scope in (*self._reader.references, *filter(_is_getattr, self._reader.calls))
            if (path := self.path(node, scope))
            for site in self._reference(node, path, scope)
        ]
        sites += writes_by_tests(self._reader, self._keys, self._is_environment)
        through = Wrappers(self._reader, self._keys, wrappers)
        sites = through.followed(sites)
        carriers = {
            name
            for scope in self._reader.scopes
            for name, bound in (*scope.bindings.items(), *scope.attributes.items())
            if self._carries(bound)
        }
        return Found(sites, through.exported, carriers | through.names, self._keys.missing)

    def path(self, node: ast.expr, scope: Scope, depth: int = 0) -> str:
        """The dotted path that an expression was imported by; empty where it is something else."""
        match node if depth < _DEEPEST else None:
            case ast.Name(id=name):
                return self._of_name(name, scope, depth)
            case ast.Attribute(value=ast.Name(id="self" | "cls" as owner), attr=name):
                holder = scope.class_of(owner)
                return self._of_name(name, holder, depth) if holder else ""
            case ast.Attribute(value=value, attr=name):
                base = self.path(value, scope, depth + 1)
                return f"{base}.{name}" if base else ""
            case ast.BoolOp(values=values):
                return next(filter(None, (self.path(value, scope, depth + 1) for value in values)), "")
            case ast.IfExp(body=first, orelse=second):
                return self.path(first, scope, depth + 1) or self.path(second, scope, depth + 1)
            case ast.NamedExpr(value=value):
                return self.path(value, scope, depth + 1)
            case ast.Subscript(value=value, slice=ast.Constant(value=str(name))):
                return name if self.path(value, scope, depth + 1) == "sys.modules" else ""
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_]):
                base = self.path(value, scope, depth + 1)
                return f"{base}.{name}" if base else ""
            case ast.Call(func=function, args=[ast.Constant(value="os"), *_]):
                name = function.id if isinstance(function, ast.Name) else self.path(function, scope, depth + 1)
                return "os" if name in _IMPORTERS else ""
        return ""

    def _of_name(self, name: str, scope: Scope, depth: int) -> str:
        """The path of a name, or of an attribute where the scope is that of a class; each is looked up once."""
        if (scope, name) not in self._paths:
            self._paths[scope, name] = ""  # what is made of itself is nothing
            bindings = [*scope.lookup(name), *scope.attributes.get(name, ())]
            self._paths[scope, name] = self._first(bindings, depth)
        return self._paths[scope, name]

    def _first(self, bindings: Iterable[Binding], depth: int) -> str:
        for binding in bindings:
            path = binding.imported
            if binding.value is not None and binding.element_of is None:
                path = self.path(binding.value, binding.scope, depth + 1)
            if path:
                return path
        return ""

    def _carries(self, bindings: Iterable[Binding]) -> bool:
        path = self._first(bindings, 0)
        return path in _FUNCTIONS or path in _ENVIRONMENTS or path.rpartition(".")[0] in _ENVIRONMENTS

    def _is_environment(self, node: ast.expr, scope: Scope) -> bool:
        return self.path(node, scope) in _ENVIRONMENTS or (
            isinstance(node, ast.Constant) and node.value in _ENVIRONMENTS
        )

    def _reference(self, node: ast.expr, path: str, scope: Scope) -> Iterator[Site]:
        if path in _ENVIRONMENTS:
            yield from self._environment(node, scope)
            return
        base, _, method = path.rpartition(".")
        parent = self._reader.parents[node]
        called = isinstance(parent, ast.Call) and parent.func is node
        access = _METHODS.get(method) if base in _ENVIRONMENTS else _FUNCTIONS.get(path)
        if access and isinstance(parent, ast.Call):
            keys = self._keys.read(argument(parent, 0), scope) if called else self._handed_over(parent, node, scope)
            discarded = access != "read" and isinstance(self._reader.parents[parent], ast.Expr)
            yield from (Site(key, access, parent, scope, discarded) for key in keys)
        elif path == "os.path.expandvars" and called and isinstance(parent, ast.Call):
            yield from self._expanded(parent, scope)
        elif base in _ENVIRONMENTS and called and isinstance(parent, ast.Call):
            yield from self._updated(parent, scope) if method == "update" else [_whole(node, scope)]

    def _environment(self, node: ast.expr, scope: Scope) -> Iterator[Site]:
        """What happens to the mapping itself; its methods are references of their own."""
        child: ast.AST = node
        parent = self._reader.parents[node]
        while isinstance(parent, _TRANSPARENT):
            child, parent = parent, self._reader.parents[parent]
        if _is_alias(node) and not isinstance(parent, ast.AugAssign):
            return
        match parent:
            case ast.Attribute() | ast.arguments() | ast.Expr():
                return
            case ast.Assign(value=value) | ast.AnnAssign(value=value) if value is child:
                return
            case ast.Subscript(value=value, slice=key, ctx=context) if value is child:
                changed = isinstance(self._reader.parents[parent], ast.AugAssign)
                access = "read+write" if changed else _SUBSCRIPTS[type(context)]
                yield from (Site(read, access, parent, scope) for read in self._keys.read(key, scope))
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]) if right is child:
                yield from (Site(read, "read", parent, scope) for read in self._keys.read(left, scope))
            case ast.AugAssign(value=value):
                yield from self._written(value, node, scope)
            case ast.Call(func=ast.Attribute(attr="setitem" | "delitem" | "dict")):
                return
            case ast.Call() if _is_getattr((parent, scope)) and self.path(parent, scope):
                return
            case _:
                yield _whole(node, scope)

    def _handed_over(self, call: ast.Call, node: ast.expr, scope: Scope) -> list[Key]:
        """The keys of a function that is given to a call: with many of them, as to `map`, or one, as to `partial`."""
        position = next((index for index, given in enumerate(call.args) if given is node), len(call.args))
        names = call.args[position + 1] if position + 1 < len(call.args) else None
        found = self._keys.contents(names, scope)
        if found is not None:
            return [key for value in found for key in self._keys.read(value.node, value.scope)]
        return self._keys.read(names or next((k.value for k in call.keywords if k.arg == "key"), None), scope)

    def _expanded(self, call: ast.Call, scope: Scope) -> Iterator[Site]:
        """`os.path.expandvars("$NAME/${NAME}")`; what the text holds that is not known is some path."""
        for key in self._keys.read(argument(call, 0), scope):
            for part in key:
                for braced, plain in _VARIABLE.findall(part if isinstance(part, str) else ""):
                    yield Site((braced or plain,), "read", call, scope)

    def _updated(self, call: ast.Call, scope: Scope) -> Iterator[Site]:
        """`environ.update(mapping, NAME=value)`."""
        for keyword in call.keywords:
            yield Site((keyword.arg,) if keyword.arg else UNKNOWN, "write", call, scope)
        for mapping in call.args:
            yield from self._written(mapping, call, scope)

    def _written(self, mapping: ast.expr, node: ast.expr, scope: Scope) -> Iterator[Site]:
        yield from (Site(key, "write", node, scope) for key in self._keys.of_mapping(mapping, scope))


def _is_alias(node: ast.expr) -> bool:
    """Whether another name for the mapping is bound anew here, which does no harm."""
    match node:
        case ast.Name(ctx=ast.Store()):
            return True
        case ast.Attribute(ctx=ast.Store(), attr=name):
            return f"os.{name}" not in _ENVIRONMENTS
    return False


def _is_getattr(placed: tuple[ast.Call, Scope]) -> bool:
    return isinstance(placed[0].func, ast.Name) and placed[0].func.id == "getattr"


def _whole(node: ast.expr, scope: Scope) -> Site:
    return Site((), "whole", node, scope)
