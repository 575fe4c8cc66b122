"""Imports that no import statement shows: calls with a literal name, and tables of lazily imported names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from analyzers.python.blocks import Blocks
from analyzers.python.facts import Import, ImportFlag
from analyzers.python.imports import Statement
from analyzers.python.lexer import Lexed, closing_bracket
from analyzers.python.literals import IDENTIFIER
from analyzers.python.parsing import Places, parse
from analyzers.python.tables import constants, strings, table_entries

_FUNCTIONS = {
    "import_module": "importlib",
    "__import__": "builtins",
    "importorskip": "pytest",
    "resolve_name": "pkgutil",
}
"""What imports a module by its name, and where it comes from."""
_TAKEN = re.compile(rf"({IDENTIFIER}+)(?:[ \t]+as[ \t]+({IDENTIFIER}+))?")
_REBOUND = re.compile(
    rf"(?<![^\n;])[ \t]*({IDENTIFIER}+)[ \t]*=[ \t]*((?:{IDENTIFIER}+[ \t]*\.[ \t]*)?{IDENTIFIER}+)[ \t]*(?![^\n;])"
)
_LAZY_MODULE = re.compile(r"LazyModule(?<!class LazyModule)(?<!class _LazyModule)[ \t]*\(")
_ATTACH = re.compile(r"\battach(?:_stub)?[ \t]*\(")
_MODULE = re.compile(r"(\.*)([^\W\d]\w*(?:\.[^\W\d]\w*)*|(?<=\.))(?::([^\W\d]\w*)(?:\.[^\W\d]\w*)*)?")
"""A module as a string names it: leading dots, dotted name, and the attribute after a colon."""

Target = tuple[str, list[str], int]
"""Module, names and level, as an `Import` has them."""


class _Call(NamedTuple):
    """A call of something that imports a module by its name."""

    start: int
    function: str
    node: ast.Call

    @property
    def module(self) -> ast.expr | None:
        """The argument that says which."""
        return _argument(self.node, 0, "modname" if self.function == "importorskip" else "name")


def dynamic_imports(lexed: Lexed, blocks: Blocks, statements: Sequence[Statement]) -> Iterator[Import]:
    """The calls that import a module by a name that can be read, flagged DYNAMIC, and the entries of the tables that
    other such calls take names from, flagged LAZY.

    The calls are those of `import_module`, `__import__`, `pytest.importorskip` and `pkgutil.resolve_name`, also under
    another name; a name can be read that is a literal, or a variable that the file binds once, at module level, to
    one. Something called `...LazyModule` and what `lazy_loader` attaches takes names from tables as well.

    An entry is any string in a dict, list, tuple or set, or in a subscript, that reads as a dotted name or as
    "module:attribute"; leading dots give its level. It stands for an import only where it resolves, and one of level
    0 may name a module beside the file (`"configuration_llama"`) or an absolute one (`"vllm.config"`): the resolver
    tries both, the nearer first. Tables come from `ast`; a file that it does not take has none.
    """
    calls = list(_calls(lexed, statements))
    lazy = [match.start() for match in _LAZY_MODULE.finditer(lexed.code)]
    if "lazy_loader" in lexed.code:
        lazy += (match.start() for match in _ATTACH.finditer(lexed.code))
    computed = any(_targets(call, {}) is None for call in calls)
    module = parse(lexed.text) if lazy or computed else None
    known = constants(module) if computed and isinstance(module, ast.Module) else {}
    for call in calls:
        targets = _targets(call, known)
        if targets is None:
            lazy.append(call.start)
        literal = isinstance(call.module, ast.Constant)
        at = lexed.code.find('"', call.start) if literal else call.start
        for target in targets or ():
            yield _record(lexed, blocks, at, target, ImportFlag.DYNAMIC)
    if lazy and isinstance(module, ast.Module):
        lines = frozenset(lexed.position(offset)[0] for offset in lazy)
        places = Places(lexed.text)
        for node, text in table_entries(module, lines):
            if match := _MODULE.fullmatch(text):
                dots, name, attribute = match.groups("")
                target = (name, [attribute] if attribute else [], len(dots))
                line, column = places.of(node)
                yield _record(lexed, blocks, lexed.line_start(line) + column - 1, target, ImportFlag.LAZY)


def _record(lexed: Lexed, blocks: Blocks, offset: int, target: Target, flag: ImportFlag) -> Import:
    symbol, flags = blocks.around(offset)
    return Import(*target, *lexed.position(offset), symbol, flags | flag.value)


def _calls(lexed: Lexed, statements: Sequence[Statement]) -> Iterator[_Call]:
    """The calls that import by name, without those among the arguments of another."""
    code = lexed.code
    if not any(function in code for function in _FUNCTIONS):
        return
    names = _names(code, statements)
    spelled = "|".join(sorted((re.escape(name).replace(r"\.", r"[ \t]*\.[ \t]*") for name in names), key=len)[::-1])
    called = re.compile(rf"(?<![\w.])(?<!def )({spelled})[ \t]*\(")
    end = 0
    while call := called.search(code, end):
        end = _call_end(code, call.end())
        tree = parse(lexed.text[call.start() : end], "eval")
        if isinstance(tree, ast.Expression) and isinstance(tree.body, ast.Call):
            yield _Call(call.start(), names["".join(call[1].split())], tree.body)


def _names(code: str, statements: Sequence[Statement]) -> dict[str, str]:
    """What a file calls the functions that import by name: `il.import_module` -> `import_module`."""
    names = {"import_module": "import_module", "__import__": "__import__"}
    names |= {f"{module}.{function}": function for function, module in _FUNCTIONS.items()}
    for statement in statements:
        for taken, alias in _TAKEN.findall(code, statement.names, statement.end):
            if _FUNCTIONS.get(taken) == statement.origin:
                names[alias or taken] = taken
            elif alias and not statement.origin:
                names |= {f"{alias}.{function}": function for function, module in _FUNCTIONS.items() if module == taken}
    for name, bound in _REBOUND.findall(code):
        if function := names.get("".join(bound.split())):
            names[name] = function
    return names


def _call_end(code: str, start: int) -> int:
    """The end of the call whose parenthesis is open at `start`, or of its line."""
    line_end = code.find("\n", start)
    line_end = line_end if line_end >= 0 else len(code)
    return closing_bracket(code, start - 1, line_end) or line_end


def _targets(call: _Call, known: Mapping[str, str]) -> list[Target] | None:
    """What one call imports, given what some variables are; None where that is computed."""
    match call.module:
        case ast.Constant(value=str(text)):
            pass
        case ast.Name(id=name) if name in known:
            text = known[name]
        case _:
            return None
    match = _MODULE.fullmatch(text)
    if not match:
        return []
    dots, module, attribute = match.groups("")
    if call.function == "resolve_name" and not dots:
        package, _, last = module.rpartition(".")
        return [(module, [attribute], 0)] if attribute else [(package or module, [last] if package else [], 0)]
    if attribute:
        return []
    match call.function:
        case "import_module":
            return _import_module(call.node, module, len(dots))
        case "__import__" if not dots:
            return _dunder_import(call.node, module)
        case "importorskip" if not dots:
            return [(module, [], 0)]
    return []


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[index] if index < len(call.args) else None


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


def _dunder_import(call: ast.Call, module: str) -> list[Target]:
    """`__import__(name, globals, locals, fromlist, level)`."""
    level = _argument(call, 4, "level")
    depth = level.value if isinstance(level, ast.Constant) and isinstance(level.value, int) else 0
    names = [name for _, name in strings(_argument(call, 3, "fromlist")) if name.isidentifier() or name == "*"]
    return [(module, names, depth)]
