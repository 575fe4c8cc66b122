"""Imports that no import statement shows: calls with a literal name, and tables of lazily imported names."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from analyzers.python.blocks import Blocks
from analyzers.python.facts import Import, ImportFlag
from analyzers.python.imports import Statement
from analyzers.python.lexer import Lexed, Span
from analyzers.python.literals import IDENTIFIER

_ALIAS = re.compile(rf"(?<!{IDENTIFIER})(importlib|import_module)[ \t]+as[ \t]+({IDENTIFIER}+)")
_LAZY_MODULE = re.compile(r"LazyModule(?<!class LazyModule)(?<!class _LazyModule)[ \t]*\(")
_BRACKET = re.compile(r"[()\[\]{}\n]")
_MODULE = re.compile(r"(\.*)([^\W\d]\w*(?:\.[^\W\d]\w*)*|(?<=\.))(?::([^\W\d]\w*))?")
"""A module as a string names it: leading dots, dotted name, and the attribute after a colon."""

Target = tuple[str, list[str], int]
"""Module, names and level, as an `Import` has them."""


def dynamic_imports(lexed: Lexed, blocks: Blocks, statements: list[Statement]) -> Iterator[Import]:
    """The calls of `import_module` and `__import__` with a literal name, flagged DYNAMIC, and, where the file has
    a mechanism for lazy imports, the entries of its module-level tables, flagged LAZY.

    A mechanism is a module-level `__getattr__`, a call of something named `...LazyModule`, `lazy_loader`, or an
    import whose name is computed. An entry is any string in a dict, list, tuple or set, or in a subscript, that
    reads as a dotted name or as "module:attribute"; leading dots give its level. It stands for an import only
    where it resolves, and one of level 0 may name a module beside the file (`"configuration_llama"`) or an
    absolute one (`"vllm.config"`): the resolver tries both, the nearer first. Tables come from `ast`; a file that
    it does not take has none.
    """
    lazy = (
        any(symbol.name == "__getattr__" for symbol in blocks.symbols)
        or "lazy_loader" in lexed.code
        or _LAZY_MODULE.search(lexed.code) is not None
    )
    for start, end in _calls(lexed, statements):
        targets = _targets(lexed.text[start:end])
        lazy = lazy or targets is None
        for target in targets or ():
            yield _record(lexed, blocks, lexed.code.find('"', start), target, ImportFlag.DYNAMIC)
    if lazy:
        tree = _parse(lexed.text)
        for node, text in _table_entries(tree) if isinstance(tree, ast.Module) else ():
            if match := _MODULE.fullmatch(text):
                dots, module, name = match.groups("")
                target = (module, [name] if name else [], len(dots))
                yield _record(lexed, blocks, _offset(lexed, node), target, ImportFlag.LAZY)


def _record(lexed: Lexed, blocks: Blocks, offset: int, target: Target, flag: ImportFlag) -> Import:
    flags = blocks.flags_at(offset) | flag.value
    return Import(*target, *lexed.position(offset), blocks.symbol_at(offset), flags)


def _offset(lexed: Lexed, node: ast.expr) -> int:
    """Where a node starts; `ast` counts its column in bytes of UTF-8."""
    start = lexed.line_start(node.lineno)
    head = lexed.text[start : start + node.col_offset].encode()[: node.col_offset]
    return start + len(head.decode(errors="ignore"))


def _parse(text: str, mode: str = "exec") -> ast.AST | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text, mode=mode)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _calls(lexed: Lexed, statements: list[Statement]) -> Iterator[Span]:
    """The calls of `import_module` and `__import__`, without those among the arguments of another."""
    code = lexed.code
    if "import_module" not in code and "__import__" not in code:
        return
    modules, functions = {"importlib"}, {"import_module", "__import__"}
    for statement in statements:
        for name, alias in _ALIAS.findall(code, statement.start, statement.end):
            (modules if name == "importlib" else functions).add(alias)
    owned = rf"(?:{'|'.join(modules)})[ \t]*\.[ \t]*import_module|builtins\.__import__"
    called = re.compile(rf"(?<![\w.])(?<!def )(?:{owned}|{'|'.join(functions)})[ \t]*\(")
    end = 0
    while call := called.search(code, end):
        end = _call_end(code, call.end())
        yield call.start(), end


def _call_end(code: str, start: int) -> int:
    """The end of the call whose parenthesis is open at `start`, or of its line."""
    depth = 1
    for bracket in _BRACKET.finditer(code, start):
        if bracket[0] == "\n":
            return bracket.start()
        depth += 1 if bracket[0] in "([{" else -1
        if not depth:
            return bracket.end()
    return len(code)


def _targets(source: str) -> list[Target] | None:
    """What one call imports; None where that is computed."""
    tree = _parse(source, "eval")
    if not isinstance(tree, ast.Expression) or not isinstance(tree.body, ast.Call):
        return []
    call = tree.body
    literal = _module_name(_argument(call, 0, "name"))
    if literal is None:
        return None
    dunder = "__import__" in ast.unparse(call.func)
    return _dunder_import(call, *literal) if dunder else _import_module(call, *literal)


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


def _import_module(call: ast.Call, module: str, level: int) -> list[Target] | None:
    """`import_module(name, package)`."""
    if not level:
        return [(module, [], 0)]
    match _argument(call, 1, "package"):
        case ast.Name(id="__package__" | "__name__"):
            return [(module, [], level)]
        case ast.Constant(value=str(package)):
            base = package.split(".")
            kept = base[: max(0, len(base) - level + 1)]
            return [(".".join((*kept, module) if module else kept), [], 0)] if kept else []
    return None


def _dunder_import(call: ast.Call, module: str, dots: int) -> list[Target]:
    """`__import__(name, globals, locals, fromlist, level)`, which takes no leading dots."""
    if dots:
        return []
    level = _argument(call, 4, "level")
    depth = level.value if isinstance(level, ast.Constant) and isinstance(level.value, int) else 0
    return [(module, [name for _, name in _strings(_argument(call, 3, "fromlist"))], depth)]


Text = tuple[ast.Constant, str]
"""A string literal and its value."""


def _table_entries(module: ast.Module) -> Iterator[Text]:
    """The strings of every table that a module's statements build, also under `if`, `try` and the like."""
    waiting: list[ast.AST] = [module]
    while waiting:
        statement = waiting.pop()
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Assign(targets=targets, value=value):
                yield from _strings(*targets, value)
            case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                yield from _strings(target, value)
            case ast.Expr(value=value):
                yield from _strings(value)
        for field in ("body", "orelse", "finalbody", "handlers"):
            waiting += getattr(statement, field, ())


def _strings(*nodes: ast.expr | None) -> Iterator[Text]:
    """The strings that containers in the expressions hold, and those that subscripts in them name."""
    waiting = list(nodes)
    while waiting:
        held: list[ast.expr | None] = []
        match waiting.pop():
            case ast.Dict(keys=keys, values=values):
                held = [*keys, *values]
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                held = [*elements]
            case ast.Subscript(value=value, slice=key):
                held = [key]
                waiting.append(value)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                waiting += (function, *arguments, *(keyword.value for keyword in keywords))
            case ast.Attribute(value=value) | ast.Starred(value=value):
                waiting.append(value)
            case ast.BinOp(left=left, right=right):
                waiting += (left, right)
        for node in held:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node, node.value
            else:
                waiting.append(node)
