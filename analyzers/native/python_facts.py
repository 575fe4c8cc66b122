"""Operators that Python source registers with `torch.library`, probes and calls.

Source: the documentation of `torch.library` and of `torch.ops`, PyTorch 2.10.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from analyzers.native.facts import CallSite, Definition, Implementation, Mention, NativeFacts, RouteUse
from analyzers.native.names import CUSTOM, Names, literal_strings, read_names
from analyzers.native.operators import base_name, gives_fake, named_by_schema, operator_of
from analyzers.native.vocabulary import Registrar, Vocabulary
from analyzers.python.parsing import Places

_TORCH = ("torch.ops", "torch.library", "torch import ops", "torch import library")
_LIBRARY = "torch.library."
_FAKE = frozenset(("torch.library.register_fake", "torch.library.impl_abstract"))
_LONGEST = 200
"""Characters kept of a condition or an argument."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def read_python(text: str, vocabulary: Vocabulary) -> NativeFacts:
    """Read one file; one that cannot matter is not parsed."""
    words = {*_words(vocabulary)}
    if not any(word in text for word in (*_TORCH, *words)):
        return NativeFacts()
    try:
        read = read_names(text, words)
        if read is None:
            return NativeFacts(parsed=False)
        module, names = read
        visitor = _Visitor(names, Places(text), vocabulary)
        visitor.visit(module)
    except RecursionError:
        return NativeFacts(parsed=False)
    return visitor.facts


def _words(vocabulary: Vocabulary) -> Iterable[str]:
    """The last parts of the names that a tree adds to those of PyTorch."""
    yield from (registrar.function.rpartition(".")[2] for registrar in vocabulary.registrars)
    yield from (function.rpartition(".")[2] for function in (*vocabulary.fakes, *vocabulary.probes))
    yield from (module.rpartition(".")[2] for module in vocabulary.modules)
    yield from (function.rpartition(".")[2] for function, _ in vocabulary.routes)


class _Visitor(ast.NodeVisitor):
    """Walks one module and keeps track of the scope and of the conditions around a node."""

    def __init__(self, names: Names, places: Places, vocabulary: Vocabulary) -> None:
        self.facts = NativeFacts()
        self._names = names
        self._places = places
        self._vocabulary = vocabulary
        self._scope: list[str] = []
        self._conditions: list[tuple[ast.expr, bool]] = []
        """Tests, each with whether it holds."""
        self._called: set[int] = set()
        """Nodes that are the function of a call that has been read already."""

    def visit(self, node: ast.AST) -> None:
        """Pass over statements in which no word stands that matters."""
        if not isinstance(node, ast.stmt) or self._names.lines.touch(node):
            super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._define(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._define(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._define(node)

    def visit_If(self, node: ast.If) -> None:
        self._branch(node.test, node.body, node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._branch(node.test, [node.body], [node.orelse])

    def visit_While(self, node: ast.While) -> None:
        self._branch(node.test, node.body, [])
        self._visit_all(node.orelse)

    def visit_Call(self, node: ast.Call) -> None:
        name = self._names.of(node.func)
        self._read_call(node, name)
        operator = self._operator(name)
        if operator:
            self._called.add(id(node.func))
            told = [*map(ast.unparse, node.args), *(_keyword(keyword) for keyword in node.keywords)]
            self._called_operator(node, operator, [text[:_LONGEST] for text in told])
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if id(node) in self._called:
            return
        operator = operator_of(self._names.of(node))
        if operator:
            self._called_operator(node, operator, [])
        else:
            self.generic_visit(node)

    def _define(self, node: _Definition) -> None:
        outer, self._conditions = self._conditions, []
        for decorator in node.decorator_list:
            self._decorated(decorator, node.name)
            self.visit(decorator)
        self._scope.append(node.name)
        self._visit_all(ast.iter_child_nodes(node), besides=node.decorator_list)
        self._scope.pop()
        self._conditions = outer

    def _branch(self, test: ast.expr, body: Iterable[ast.AST], orelse: Iterable[ast.AST]) -> None:
        self.visit(test)
        for branch, holds in ((body, True), (orelse, False)):
            self._conditions.append((test, holds))
            self._visit_all(branch)
            self._conditions.pop()

    def _visit_all(self, nodes: Iterable[ast.AST], besides: Iterable[ast.AST] = ()) -> None:
        passed = {id(node) for node in besides}
        for node in nodes:
            if id(node) not in passed:
                self.visit(node)

    def _place(self, node: ast.expr) -> tuple[int, int, str]:
        return *self._places.of(node), ".".join(self._scope)

    def _operator(self, name: str) -> str:
        """The operator that a called name is; empty where it is none."""
        for module in self._vocabulary.modules:
            if name.startswith(f"{module}."):
                return f"{module.rpartition('.')[2]}::{name.removeprefix(f'{module}.')}"
        return operator_of(name)

    def _called_operator(self, node: ast.expr, operator: str, arguments: list[str]) -> None:
        line, column, symbol = self._place(node)
        conditions = [_condition(test, holds) for test, holds in self._conditions]
        self.facts.calls.append(CallSite(operator, line, column, symbol, conditions, arguments))

    def _decorated(self, decorator: ast.expr, function: str) -> None:
        """A decorator that defines an operator by the function's own name."""
        call = decorator if isinstance(decorator, ast.Call) else None
        name = self._names.of(call.func if call else decorator)
        registrar = self._registrar(name)
        if registrar is not None and not (call and _operator_argument(call)):
            self._registered(decorator, registrar, function, call.keywords if call else ())
        elif name.endswith(".register_fake") and self._names.operator_named(name.rpartition(".")[0]):
            self._mention(self.facts.fakes, self._names.operator_named(name.rpartition(".")[0]), decorator)
        elif call and name in CUSTOM:
            self._implement(decorator, self._named(call), "", self._names.own(function))

    def _read_call(self, node: ast.Call, name: str) -> None:
        last = name.rpartition(".")[2]
        registrar = self._registrar(name)
        if registrar is not None:
            told = _operator_argument(node)
            given = node.args[0] if node.args else None
            if told or isinstance(given, ast.Name):
                self._registered(node, registrar, told or ast.unparse(given or node), node.keywords)
        elif name.startswith(_LIBRARY):
            self._library_function(node, name)
        elif isinstance(node.func, ast.Attribute) and (library := self._names.library(node.func.value)) is not None:
            self._library_method(node, last, library)
        elif last in ("hasattr", "getattr"):
            self._attribute(node, last)
        elif _ends_with(name, self._vocabulary.fakes):
            self._mention(self.facts.fakes, self._named(node), node)
        elif _ends_with(name, self._vocabulary.probes):
            for text in literal_strings(node):
                self._mention(self.facts.probes, text, node)
        for function, where in self._vocabulary.routes:
            if _ends_with(name, (function,)):
                self._route(node, function, where)

    def _library_function(self, node: ast.Call, name: str) -> None:
        if name in CUSTOM:
            self._definition(node, self._named(node), "")
        elif name == "torch.library.define":
            schema = literal_strings(node)
            self._definition(node, self._named(node), "".join(schema[1:2]))
        elif name in _FAKE:
            self._mention(self.facts.fakes, self._named(node), node)
        elif name == "torch.library.impl":
            library = self._names.library(node.args[0]) if node.args else None
            texts = literal_strings(node)
            if library is not None and texts:
                self._implement(node, f"{library}::{texts[0]}", "".join(texts[1:2]), "")
            elif texts:
                function = self._names.of(node.args[2]) if len(node.args) > 2 else ""
                self._implement(node, texts[0], "".join(texts[1:2]), function)

    def _library_method(self, node: ast.Call, method: str, namespace: str) -> None:
        texts = literal_strings(node)
        told = texts[0] if texts else self._names.of(node.args[0]) if node.args else ""
        name = operator_of(told) or named_by_schema(told)
        if not name:
            return
        operator = name if "::" in name else f"{namespace}::{name}"
        if method == "define":
            self._definition(node, operator, told)
        elif method == "impl":
            function = self._names.of(node.args[1]) if len(node.args) > 1 else ""
            self._implement(node, operator, "".join(texts[1:2]), function)
        elif method in ("_register_fake", "register_fake"):
            self._mention(self.facts.fakes, operator, node)

    def _registrar(self, name: str) -> Registrar | None:
        return next((known for known in self._vocabulary.registrars if _ends_with(name, (known.function,))), None)

    def _registered(self, node: ast.expr, registrar: Registrar, name: str, keywords: Iterable[ast.keyword]) -> None:
        operator = name if "::" in name else f"{registrar.namespace}::{name}"
        self._definition(node, operator, "")
        given = {keyword.arg for keyword in keywords if not _is_none(keyword.value)}
        if registrar.always_fake or given.intersection(registrar.fakes):
            self._mention(self.facts.fakes, operator, node)

    def _attribute(self, node: ast.Call, function: str) -> None:
        """`hasattr(torch.ops.ns, "name")` and `getattr(torch.ops.ns, "name", None)` ask whether an operator exists."""
        texts = literal_strings(node)
        if len(node.args) < 2 or not texts:
            return
        operator = operator_of(f"{self._names.of(node.args[0])}.{texts[0]}")
        if not operator:
            return
        if function == "hasattr" or len(node.args) > 2:
            self._mention(self.facts.probes, operator, node)
        if function == "getattr":
            self._called_operator(node, operator, [])

    def _route(self, node: ast.Call, function: str, where: int | str) -> None:
        given = [keyword.value for keyword in node.keywords if keyword.arg == where]
        if isinstance(where, int):
            given = node.args[where : where + 1]
        waiting = list(given)
        while waiting:
            match waiting.pop():
                case ast.IfExp(body=body, orelse=orelse):
                    waiting += (orelse, body)
                case ast.Constant(value=str(route)):
                    self.facts.uses.append(RouteUse(function, route, *self._place(node)))
                case _:
                    self.facts.uses.append(RouteUse(function, "", *self._place(node)))

    def _named(self, node: ast.Call) -> str:
        """The operator that a call's first argument names: by text, as `torch.ops.ns.name`, or as its function."""
        if not node.args:
            return "".join(literal_strings(node)[:1])
        match node.args[0]:
            case ast.Constant(value=str(text)):
                return named_by_schema(text)
            case given:
                name = self._names.of(given)
                return operator_of(name) or self._names.operator_named(name)

    def _definition(self, node: ast.expr, operator: str, schema: str) -> None:
        if "::" in operator:
            self.facts.definitions.append(Definition(base_name(operator), schema, "python", *self._place(node)))

    def _implement(self, node: ast.expr, operator: str, key: str, function: str) -> None:
        if "::" not in operator:
            return
        if gives_fake(key):
            self._mention(self.facts.fakes, operator, node)
        elif function:
            place = self._place(node)
            self.facts.implementations.append(Implementation(base_name(operator), key, function, *place))

    def _mention(self, where: list[Mention], operator: str, node: ast.expr) -> None:
        if operator:
            where.append(Mention(base_name(operator), self._places.of(node)[0]))


def _operator_argument(call: ast.Call) -> str:
    """The name that a registrar is given: its first text, positional or by keyword."""
    for given in (*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("op_name", "name"))):
        match given:
            case ast.Constant(value=str(text)):
                return named_by_schema(text)
    return ""


def _condition(test: ast.expr, holds: bool) -> str:
    told = ast.unparse(test)[:_LONGEST]
    return told if holds else f"not ({told})"


def _ends_with(name: str, functions: Iterable[str]) -> bool:
    """Whether a dotted name is one of the functions, or a method or import of that name."""
    return any(name == function or name.endswith(f".{function}") for function in functions)


def _keyword(keyword: ast.keyword) -> str:
    return f"{keyword.arg}={ast.unparse(keyword.value)}" if keyword.arg else f"**{ast.unparse(keyword.value)}"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
