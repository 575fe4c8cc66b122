"""The scopes of parsed Python: what each name is bound to, and what stands around each expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzers.python.nodes import module_statements
from analyzers.python.words import any_within

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.Constant)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "items")
_STAR_OF_OS = ("environ", "environb", "getenv", "getenvb", "putenv", "unsetenv")
_SET_UP = frozenset(("__init__", "__new__", "__post_init__", "__set_name__"))
_OWNERS = frozenset(("self", "cls"))


class Binding(NamedTuple):
    """One of the things that a name may stand for."""

    scope: Scope
    """Where `value` is evaluated; for a function or class its own scope."""
    value: ast.expr | None = None
    """What was assigned; for a parameter its default. None where that cannot be told."""
    imported: str = ""
    """The dotted path that was imported."""
    element_of: tuple[int, ...] | None = None
    """The name stands for the elements of `value`; a position for each tuple that the target takes apart."""
    parameter: Scope | None = None
    """The function whose parameter the name is."""
    defines: bool = False
    """The name is that of the function or class whose scope this is."""


class Scope:
    """A module, class, function, lambda or comprehension."""

    def __init__(self, node: ast.AST, parent: Scope | None, name: str = "") -> None:
        self.node = node
        self.parent = parent
        self.symbol: str = ".".join(filter(None, (parent.symbol if parent else "", name)))
        self.bindings: dict[str, list[Binding]] = {}
        self.attributes: dict[str, list[Binding]] = {}
        """What methods assign to attributes of `self`, where this is a class."""
        self.globals: set[str] = set()

    @property
    def module(self) -> Scope:
        return self.parent.module if self.parent else self

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, _FUNCTIONS)

    def lookup(self, name: str) -> list[Binding]:
        """What a name may stand for here; nothing where the module does not bind it."""
        scope: Scope | None = self
        while scope:
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope.bindings[name]
            scope = scope.parent
        return []

    def attribute(self, name: str) -> list[Binding]:
        """What this class binds a name to, in its body or as an attribute of `self`."""
        return [*self.bindings.get(name, ()), *self.attributes.get(name, ())]

    def class_of(self, name: str) -> Scope | None:
        """The class that `self`, `cls` or a name of a class stands for here."""
        if name not in _OWNERS:
            bound = self.lookup(name)
            return bound[0].scope if len(bound) == 1 and bound[0].defines and bound[0].scope.is_class else None
        scope: Scope | None = self
        while scope and not scope.is_class:
            scope = scope.parent
        return scope

    def function(self) -> Scope | None:
        """The innermost function around."""
        scope: Scope | None = self
        while scope and not scope.is_function:
            scope = scope.parent
        return scope


class Reader:
    """Reads a module into scopes, and keeps every name and attribute that is used.

    Of a function on none of the `lines` nothing is read, unless it sets up an object, and of another statement only
    what it binds.
    """

    def __init__(self, module: ast.Module, lines: Sequence[int]) -> None:
        self._lines = lines
        self.parents: dict[ast.AST, ast.AST] = {}
        self.references: list[tuple[ast.Name | ast.Attribute, Scope]] = []
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.scopes: list[Scope] = []
        self.functions: dict[ast.AST, Scope] = {}
        self.module = self._scope(module, None)
        self._children(module, self.module)

    def _scope(self, node: ast.AST, parent: Scope | None, name: str = "") -> Scope:
        self.scopes.append(Scope(node, parent, name))
        return self.scopes[-1]

    def _children(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            self._child(child, node, scope)

    def _child(self, node: ast.AST, parent: ast.AST, scope: Scope) -> None:
        if isinstance(node, _LEAVES):
            return
        self.parents[node] = parent
        self._bind(node, scope)
        if isinstance(node, _FUNCTIONS):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            inner = self._scope(node, scope, node.name)
            self._add(scope, node.name, Binding(inner, defines=True))
            for child in ast.iter_child_nodes(node):
                self._child(child, node, inner if isinstance(child, ast.stmt) else scope)
        elif isinstance(node, ast.stmt) and not self._matters(node):
            self._bodies(node, scope)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, scope)
        else:
            if isinstance(node, ast.Name | ast.Attribute):
                self.references.append((node, scope))
            elif isinstance(node, ast.Call):
                self.calls.append((node, scope))
            self._children(node, scope)

    def _bodies(self, node: ast.AST, scope: Scope) -> None:
        """The statements below one that does not matter: they may still bind names."""
        for block in _BLOCKS:
            for child in getattr(node, block, ()):
                if isinstance(child, ast.stmt):
                    self._child(child, node, scope)
                else:
                    self._bind(child, scope)
                    self._bodies(child, scope)

    def _function(self, node: FunctionNode, scope: Scope) -> None:
        name = "" if isinstance(node, ast.Lambda) else node.name
        inner = self.functions[node] = self._scope(node, scope, name)
        if name:
            self._add(scope, name, Binding(inner, defines=True))
        for parameter, default in parameters(node.args):
            self._add(inner, parameter, Binding(scope, default, parameter=inner))
        if name in _SET_UP or self._matters(node):
            body = {node.body} if isinstance(node, ast.Lambda) else set(node.body)
            for child in ast.iter_child_nodes(node):
                self._child(child, node, inner if child in body else scope)

    def _matters(self, node: FunctionNode | ast.stmt) -> bool:
        decorators = getattr(node, "decorator_list", ())
        first = decorators[0].lineno if decorators else node.lineno
        return any_within(self._lines, first, node.end_lineno or node.lineno)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope) -> None:
        inner = self._scope(node, scope)
        for generator in node.generators:
            self._targets(generator.target, inner, Binding(inner, generator.iter, element_of=()))
        self._children(node, inner)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    self._add(scope, alias.asname or top, Binding(scope, imported=alias.name if alias.asname else top))
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = "." * level + (module or "")
                taken = [(alias.asname or alias.name, alias.name) for alias in names if alias.name != "*"]
                if origin == "os" and not taken:
                    taken = [(name, name) for name in _STAR_OF_OS]
                for bound, name in taken:
                    self._add(scope, bound, Binding(scope, imported=f"{origin}.{name}"))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._targets(target, scope, Binding(scope, value))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._targets(target, scope, Binding(scope, value))
            case ast.NamedExpr(target=target, value=value):
                self._targets(target, scope.function() or scope.module, Binding(scope, value))
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                self._targets(target, scope, Binding(scope, value, element_of=()))
            case ast.AugAssign(target=target):
                self._targets(target, scope, Binding(scope))
            case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
                self._targets(target, scope, Binding(scope, value))
            case ast.Global(names=names):
                scope.globals.update(names)
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name) if name:
                self._add(scope, name, Binding(scope))

    def _targets(self, target: ast.expr, scope: Scope, binding: Binding) -> None:
        match target:
            case ast.Name(id=name):
                self._add(scope, name, binding)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in _OWNERS:
                if holder := scope.class_of(owner):
                    holder.attributes.setdefault(name, []).append(binding)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for index, inner in enumerate(targets):
                    self._targets(inner, scope, _part(binding, index))

    def _add(self, scope: Scope, name: str, binding: Binding) -> None:
        owner = scope.module if name in scope.globals else scope
        owner.bindings.setdefault(name, []).append(binding)


def _part(binding: Binding, index: int) -> Binding:
    """What one of the targets gets of a value that is taken apart."""
    if binding.element_of is not None:
        return binding._replace(element_of=(*binding.element_of, index))
    match binding.value:
        case ast.Tuple(elts=values) | ast.List(elts=values) if index < len(values):
            return binding._replace(value=values[index])
        case ast.Call() | ast.Subscript() as value:
            return binding._replace(value=ast.Subscript(value, ast.Constant(index), ast.Load()))
    return Binding(binding.scope)


def parameters(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Every parameter in order of position, with its default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        yield argument.arg, arguments.defaults[index - missing] if index >= missing else None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument.arg, default
    for rest in filter(None, (arguments.vararg, arguments.kwarg)):
        yield rest.arg, None


def returned(function: Scope) -> list[ast.expr]:
    """What the `return` statements of a function give, not those of functions in it."""
    if isinstance(function.node, ast.Lambda):
        return [function.node.body]
    assert isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef)
    inside = module_statements(ast.Module(function.node.body, []))
    return [node.value for node in inside if isinstance(node, ast.Return) and node.value is not None]
