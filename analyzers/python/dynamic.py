"""Imports that no import statement shows: calls with a literal name, and tables of lazily imported names.

The few files that hold one of these are parsed. A file that does not parse keeps its import statements only.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

from analyzers.python.blocks import Blocks
from analyzers.python.facts import Import, ImportFlag
from analyzers.python.lexer import Lexed

_TRIGGERS = ("import_module", "__import__", "LazyModule", "lazy_loader")
_MODULE = re.compile(r"(\.*)([^\W\d]\w*(?:\.[^\W\d]\w*)*|(?<=\.))(?::([^\W\d]\w*))?")
"""A module as a string names it: leading dots, dotted name, and the attribute after a colon."""


def dynamic_imports(lexed: Lexed, blocks: Blocks) -> Iterator[Import]:
    """The calls of `import_module` and `__import__` with a literal name, flagged DYNAMIC, and, where the file has
    a mechanism for lazy imports, the entries of its module-level tables, flagged LAZY.

    A mechanism is a module-level `__getattr__`, a call of something named `...LazyModule`, `lazy_loader.attach`,
    or an import whose name is computed. An entry is any string in a dict, list, tuple or set, or in a subscript,
    that reads as a dotted name or as "module:attribute"; leading dots give its level. It stands for an import only
    where it resolves, and one of level 0 may name a module beside the file (`"configuration_llama"`) or an
    absolute one (`"vllm.config"`): the resolver tries both, the nearer first.
    """
    lazy = any(symbol.name == "__getattr__" for symbol in blocks.symbols)
    if not lazy and not any(trigger in lexed.code for trigger in _TRIGGERS):
        return
    tree = _parse(lexed.text)
    if tree is None:
        return
    names = _Names(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if names.is_lazy_loader(call.func):
            lazy = True
        elif names.is_import_module(call.func) or names.is_dunder_import(call.func):
            read = _import_module if names.is_import_module(call.func) else _dunder_import
            targets = read(call)
            lazy = lazy or targets is None
            for module, name, level in targets or ():
                yield _record(lexed, blocks, call, module, name, level, ImportFlag.DYNAMIC)
    if lazy:
        for node, text in _table_entries(tree.body):
            if match := _MODULE.fullmatch(text):
                dots, module, name = match.groups("")
                yield _record(lexed, blocks, node, module, name, len(dots), ImportFlag.LAZY)


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _record(
    lexed: Lexed, blocks: Blocks, node: ast.expr, module: str, name: str, level: int, flag: ImportFlag
) -> Import:
    """The import that starts where the node does."""
    start = lexed.line_start(node.lineno)
    head = lexed.text[start : start + node.col_offset].encode("utf-8", "surrogatepass")[: node.col_offset]
    offset = start + len(head.decode("utf-8", "ignore"))
    flags = blocks.flags_at(offset) | flag.value
    return Import(module, name, level, *lexed.position(offset), blocks.symbol_at(offset), flags)


class _Names:
    """What the file calls `importlib` and `lazy_loader`, and the functions that it takes from them."""

    def __init__(self, tree: ast.Module) -> None:
        self._bound: dict[str, str] = {"__import__": "builtins.__import__"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._bound[bound] = alias.name if alias.asname else bound
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    self._bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def is_import_module(self, function: ast.expr) -> bool:
        return self._meaning(function) == "importlib.import_module"

    def is_dunder_import(self, function: ast.expr) -> bool:
        return self._meaning(function) == "builtins.__import__"

    def is_lazy_loader(self, function: ast.expr) -> bool:
        meaning = self._meaning(function)
        return meaning.endswith("LazyModule") or meaning in ("lazy_loader.attach", "lazy_loader.attach_stub")

    def _meaning(self, function: ast.expr) -> str:
        """The dotted name of what is called; empty where it is not a name."""
        match function:
            case ast.Name(id=name):
                return self._bound.get(name, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                return f"{self._bound.get(name, name)}.{attribute}"
        return ""


Target = tuple[str, str, int]
"""Module, name and level, as an `Import` has them."""


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[index] if index < len(call.args) else None


def _module_name(node: ast.expr | None) -> tuple[str, int] | None:
    """The dotted name and the number of leading dots of a literal module name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = _MODULE.fullmatch(node.value)
        if match and match[3] is None:
            return match[2], len(match[1])
    return None


def _import_module(call: ast.Call) -> list[Target] | None:
    """What `import_module(name, package)` imports; None where that is computed."""
    literal = _module_name(_argument(call, 0, "name"))
    if literal is None:
        return None
    module, level = literal
    if not level:
        return [(module, "", 0)]
    match _argument(call, 1, "package"):
        case ast.Name(id="__package__" | "__name__"):
            return [(module, "", level)]
        case ast.Constant(value=str(package)):
            base = package.split(".")
            kept = base[: len(base) - level + 1]
            return [(".".join((*kept, module)) if module else ".".join(kept), "", 0)] if kept else []
    return None


def _dunder_import(call: ast.Call) -> list[Target] | None:
    """What `__import__(name, globals, locals, fromlist, level)` imports; None where that is computed."""
    literal = _module_name(_argument(call, 0, "name"))
    if literal is None or literal[1]:
        return None
    level = _argument(call, 4, "level")
    depth = level.value if isinstance(level, ast.Constant) and isinstance(level.value, int) else 0
    names = [name for _, name in _strings(_argument(call, 3, "fromlist"))]
    return [(literal[0], name, depth) for name in names or ("",)]


Text = tuple[ast.Constant, str]
"""A string literal and its value."""


def _table_entries(body: Iterable[ast.stmt]) -> Iterator[Text]:
    """The strings of every table that a module's statements build, also under `if`, `try` and the like."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Assign(targets=targets, value=value):
                for part in (*targets, value):
                    yield from _strings(part)
            case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                yield from _strings(target)
                yield from _strings(value)
            case ast.Expr(value=value):
                yield from _strings(value)
        for field in ("body", "orelse", "finalbody"):
            yield from _table_entries(getattr(statement, field, ()))
        for handler in getattr(statement, "handlers", ()):
            yield from _table_entries(handler.body)


def _strings(node: ast.expr | None) -> Iterator[Text]:
    """The strings that containers in an expression hold, and those that subscripts in it name."""
    match node:
        case ast.Dict(keys=keys, values=values):
            yield from _elements((*keys, *values))
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            yield from _elements(elements)
        case ast.Subscript(value=value, slice=key):
            yield from _strings(value)
            yield from _elements((key,))
        case ast.Call(func=function, args=arguments, keywords=keywords):
            for part in (function, *arguments, *(keyword.value for keyword in keywords)):
                yield from _strings(part)
        case ast.Attribute(value=value) | ast.Starred(value=value):
            yield from _strings(value)
        case ast.BinOp(left=left, right=right):
            yield from _strings(left)
            yield from _strings(right)


def _elements(nodes: Iterable[ast.expr | None]) -> Iterator[Text]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value
        else:
            yield from _strings(node)
