"""What the methods of a class do with `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from analyzers.configuration.annotations import type_names
from analyzers.configuration.outline import MethodFact
from analyzers.python.nodes import dotted, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

_TELLING = (
    *(ast.Attribute, ast.Constant, ast.Call, ast.For, ast.comprehension, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp),
)
"""What may say something of the object."""
_LOOKS_AT_ITS_CLASS = frozenset(("isinstance", "super", "type", "id"))
"""What may be given `self` without seeing its fields."""
_DUMPS = frozenset(("__dict__", "model_dump", "model_dump_json", "dict", "json"))


def read_method(node: Function) -> MethodFact:
    """A method, and what it has to do with the object that it belongs to."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    this = arguments[0].arg if arguments else ""
    nodes = [inner for inner in walk(node) if isinstance(inner, _TELLING)]
    chosen = {part for inner in nodes for part in _by_listed_names(inner, this)}
    return MethodFact(
        node.name,
        node.lineno,
        [name for decorator in node.decorator_list if (name := _called(decorator))],
        list(type_names(node.returns)),
        list(dict.fromkeys(_uses(nodes, this))),
        any(_hands_on(inner, this) for inner in nodes if inner not in chosen),
        [row for inner in nodes for row in _assigned(inner, this)],
    )


def _called(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node)


def _uses(nodes: Iterable[ast.AST], this: str) -> Iterator[str]:
    for inner in nodes:
        match inner:
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Load()) if owner == this:
                yield name
            case ast.AugAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner == this:
                yield name
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                yield name
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text


def _hands_on(node: ast.AST, this: str) -> bool:
    """Whether a node makes all of `self` available to somebody: `asdict(self)`, `vars(self)`, `for f in self`."""
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return owner == this and name in _DUMPS
        case ast.Call(func=function, args=arguments):
            called = dotted(function)
            given = [argument.id for argument in arguments if isinstance(argument, ast.Name)]
            if this not in given:
                return False
            if called in ("getattr", "hasattr"):
                return len(arguments) < 2 or not isinstance(arguments[1], ast.Constant)
            return called not in _LOOKS_AT_ITS_CLASS
        case ast.For(iter=ast.Name(id=owner)) | ast.comprehension(iter=ast.Name(id=owner)):
            return owner == this
    return False


def _by_listed_names(node: ast.AST, this: str) -> Iterator[ast.AST]:
    """What seems to make all of `self` available, but takes only the names that are written out beside it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner)) as dump, keywords=keywords) if owner == this:
            if any(keyword.arg == "include" and _lists_names(keyword.value) for keyword in keywords):
                yield dump
        case ast.For(target=ast.Name(id=name), iter=listed, body=body) if _lists_names(listed):
            yield from _gets_by(name, (inner for statement in body for inner in walk(statement)))
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            yield from _comprehended(node)


def _comprehended(node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> Iterator[ast.AST]:
    for part in node.generators:
        if isinstance(part.target, ast.Name) and _lists_names(part.iter):
            yield from _gets_by(part.target.id, walk(node))
        for test in part.ifs:
            match test:
                case ast.Compare(left=ast.Name() | ast.Attribute(), ops=[ast.In()], comparators=[listed]) if (
                    _lists_names(listed)
                ):
                    yield from (part, *walk(part.iter))


def _gets_by(name: str, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The calls of `getattr` by a variable."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Name(id=by), *_]) if by == name:
                yield node


def _lists_names(node: ast.expr) -> bool:
    if not isinstance(node, ast.Tuple | ast.List | ast.Set):
        return False
    return all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts)


def _assigned(node: ast.AST, this: str) -> Iterator[tuple[str, int, int]]:
    """The attribute that a statement assigns, and the lines of the statement."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)]):
            pass
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id=owner), attr=name)):
            pass
        case _:
            return
    if owner == this:
        yield name, node.lineno, node.end_lineno or node.lineno
