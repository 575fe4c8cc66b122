"""What the names of a Python module stand for, and which of its lines can say something about operators or routes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from analyzers.native.operators import named_by_schema
from analyzers.python.lexer import lex
from analyzers.python.nodes import dotted, every_statement
from analyzers.python.parsing import parse_module, surely_parses
from analyzers.python.statements import Statement, binds_imports, parse, statements
from analyzers.python.words import any_within, offsets

CUSTOM = frozenset(("torch.library.custom_op", "torch.library.triton_op"))
"""Decorators that make an operator of a function."""
_LIBRARIES = frozenset(("torch.library.Library", "torch.library._scoped_library"))
_WORDS = ("ops", "library")
"""The last parts of PyTorch's modules that matter."""
_OF_TORCH = ("torch.ops", "torch.library")


class Lines:
    """The lines of a text that hold one of some words, so that nothing else need be looked at."""

    def __init__(self, text: str, words: Iterable[str]) -> None:
        self._numbers: list[int] = []
        number, counted = 1, 0
        for offset in offsets(text, words):
            number += text.count("\n", counted, offset)
            counted = offset
            self._numbers.append(number)

    def touch(self, statement: ast.stmt) -> bool:
        """Whether one of them is the statement's, or one of its decorators'."""
        first = min((node.lineno for node in getattr(statement, "decorator_list", ())), default=statement.lineno)
        return any_within(self._numbers, first, statement.end_lineno or first)


class Names:
    """Imports, aliases of `torch.ops.ns`, `Library` objects and custom operators of one module."""

    def __init__(self, module: ast.Module, text: str, words: Iterable[str]) -> None:
        """Look through a module.

        Args:
            module: its tree.
            text: its source.
            words: names of functions and modules that matter besides those of PyTorch, without dots.
        """
        self._full: dict[str, str] = {}
        self._libraries: dict[str, str] = {}
        self._operators: dict[str, str] = {}
        statements = [*every_statement(module)]
        for statement in statements:
            self._import(statement)
        imported = {name for name, full in self._full.items() if full.startswith(_OF_TORCH)}
        wanted = {*_WORDS, *words, *imported}
        lines = Lines(text, wanted)
        for statement in filter(lines.touch, statements):
            wanted |= {*self._bind(statement)}
        self.words = wanted
        """One of these stands wherever something may be said."""
        self.lines = Lines(text, wanted)
        """Where they stand."""

    def of(self, node: ast.expr) -> str:
        """The dotted name of an expression, in full where an import or alias says what it is; empty for no name."""
        name = dotted(node)
        first, _, rest = name.partition(".")
        full = self._full.get(first, first)
        return f"{full}.{rest}" if rest else full

    def own(self, function: str) -> str:
        """The name of a function of the module itself, as `of` gives it."""
        return self._full.get(function, function)

    def library(self, node: ast.expr) -> str | None:
        """The namespace of a `Library`; None for anything else."""
        if isinstance(node, ast.Call):
            return self._namespace(node)
        return self._libraries.get(dotted(node))

    def operator_named(self, function: str) -> str:
        """The operator that a function of the module was decorated to be; empty where it was not."""
        return self._operators.get(function, "")

    def _import(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    if alias.asname:
                        self._full[alias.asname] = alias.name
            case ast.ImportFrom(module=str(source), names=names, level=0):
                for alias in names:
                    self._full[alias.asname or alias.name] = f"{source}.{alias.name}"

    def _bind(self, statement: ast.stmt) -> Iterator[str]:
        """Take note of what a statement binds; the words by which that is used."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value)
                | ast.AnnAssign(target=ast.Name() | ast.Attribute() as target, value=ast.expr() as value)
            ):
                yield from self._assign(dotted(target), value)
            case ast.With(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        yield from self._assign(dotted(item.optional_vars), item.context_expr)
            case ast.FunctionDef(name=name, decorator_list=decorators):
                for decorator in decorators:
                    if isinstance(decorator, ast.Call) and self.of(decorator.func) in CUSTOM:
                        self._operators[name] = "".join(map(named_by_schema, literal_strings(decorator)[:1]))
                        yield name

    def _assign(self, name: str, value: ast.expr) -> Iterator[str]:
        if isinstance(value, ast.Call):
            namespace = self._namespace(value)
            if namespace is not None and name:
                self._libraries[name] = namespace
                yield name.rpartition(".")[2]
        elif name and "." not in name and self.of(value).startswith("torch.ops."):
            self._full.setdefault(name, self.of(value))
            yield name

    def _namespace(self, call: ast.Call) -> str | None:
        texts = literal_strings(call)
        return texts[0] if texts and self.of(call.func) in _LIBRARIES else None


def read_names(text: str, words: Iterable[str]) -> tuple[ast.Module, Names] | None:
    """The statements of a file in which something may be said, and its names; None where it does not parse.

    Args:
        text: the file.
        words: as `Names` takes them.
    """
    lexed = lex(text)
    if not surely_parses(lexed):
        module = parse_module(text)
        return None if module is None else (module, Names(module, text, words))
    every = statements(lexed)

    def chosen(wanted: Iterable[str]) -> list[Statement]:
        at = offsets(text, wanted)
        return [s for s in every if any_within(at, s.start, s.end) or binds_imports(s, lexed)]

    telling = chosen({*_WORDS, *words})
    while True:
        parsed = parse(text, telling)
        if parsed.failed:
            return None
        names = Names(parsed.module, text, words)
        more = chosen(names.words)
        if len(more) == len(telling):
            return parsed.module, names
        telling = more


def literal_strings(call: ast.Call) -> list[str]:
    """The positional arguments of a call that are strings, in order, and the keyword ones after them."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return [node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)]
