"""Adds stubs to a registry for variables that are read and not registered; everything else keeps its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from analyzers.environment.policy import RegistryPolicy

_TODO = '"TODO"'
_Space = cst.BaseParenthesizableWhitespace
_COPIES = frozenset(("dict", "OrderedDict", "MappingProxyType", "tuple", "list", "set", "frozenset"))
"""What makes a registry of another collection."""


class NoPlaceError(Exception):
    """A file has no place for a stub; the text says why."""


def with_stubs(text: str, registry: RegistryPolicy, names: Sequence[str]) -> str:
    """The text of a registry's file with a stub for each name.

    A stub is made like the last entry: a getter that reads the variable, or a record with `"TODO"` in every field that
    the registry needs.

    Raises:
        NoPlaceError: the file cannot be parsed, or its registry is not a display or class that could take one.
    """
    if not registry.symbol:
        raise NoPlaceError(f"what `{registry.decorator}` marks is written by hand")
    adder = _Adder(registry, names)
    try:
        changed = cst.parse_module(text).visit(adder)
    except (cst.ParserSyntaxError, RecursionError):
        raise NoPlaceError("it cannot be parsed") from None
    if not adder.done:
        raise NoPlaceError(f"`{registry.symbol}` is made in another way than by a display, `dict(...)` or a class body")
    return (_with_os(changed) if adder.needs_os else changed).code


def _with_os(module: cst.Module) -> cst.Module:
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor

    context = CodemodContext()
    AddImportsVisitor.add_needed_import(context, "os")
    return AddImportsVisitor(context).transform_module(module)


class _Adder(cst.CSTTransformer):
    """Changes the first binding of the registry's symbol at module level."""

    def __init__(self, registry: RegistryPolicy, names: Sequence[str]) -> None:
        super().__init__()
        self._registry = registry
        self._names = names
        self.done = False
        self.needs_os = False
        """Whether a stub names the module `os`."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:  # noqa: N802 - libcst's name
        return False

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:  # noqa: N802
        if len(updated_node.targets) == 1 and self._is_registry(updated_node.targets[0].target):
            return updated_node.with_changes(value=self._with_entries(updated_node.value))
        return updated_node

    def leave_AnnAssign(self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign) -> cst.AnnAssign:  # noqa: N802
        if updated_node.value is not None and self._is_registry(updated_node.target):
            return updated_node.with_changes(value=self._with_entries(updated_node.value))
        return updated_node

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:  # noqa: N802
        if (
            self.done
            or not self._is_registry(updated_node.name)
            or not isinstance(updated_node.body, cst.IndentedBlock)
        ):
            return updated_node
        self.done = True
        body = updated_node.body
        stubs = [cst.parse_statement(f"{name} = {self._attribute(body)}\n") for name in self._names]
        return updated_node.with_changes(body=body.with_changes(body=[*body.body, *stubs]))

    def _is_registry(self, target: cst.CSTNode) -> bool:
        return not self.done and isinstance(target, cst.Name) and target.value == self._registry.symbol

    def _with_entries(self, value: cst.BaseExpression) -> cst.BaseExpression:
        """The registry with the stubs; itself where it takes none."""
        match value:
            case cst.Dict(elements=elements):
                self.done = True
                pairs = [element for element in elements if isinstance(element, cst.DictElement)]
                last = pairs[-1] if pairs else None
                return _extended(value, [cst.DictElement(_quoted(n), self._value(last, n)) for n in self._names])
            case cst.List(elements=elements) | cst.Set(elements=elements) | cst.Tuple(elements=elements, lpar=[_]):
                self.done = True
                return _extended(value, [cst.Element(self._record(elements, name)) for name in self._names])
            case cst.BinaryOperation(operator=cst.BitOr() | cst.Add()):
                right = self._with_entries(value.right)
                left = value.left if self.done else self._with_entries(value.left)
                return value.with_changes(left=left, right=right)
            case cst.Call(func=cst.Name(made_by) | cst.Attribute(attr=cst.Name(made_by))) if made_by in _COPIES:
                return self._with_arguments(value)
        return value

    def _with_arguments(self, call: cst.Call) -> cst.BaseExpression:
        """The stubs in what is copied; in `dict(NAME=...)` as further keywords."""
        if call.args and call.args[0].keyword is None and not call.args[0].star:
            first = call.args[0].with_changes(value=self._with_entries(call.args[0].value))
            return call.with_changes(args=[first, *call.args[1:]])
        last = call.args[-1] if call.args else None
        if last is None or last.keyword is None:
            return call
        self.done = True
        pair = cst.DictElement(_quoted(last.keyword.value), last.value)
        new = [cst.Arg(self._value(pair, name), cst.Name(name), equal=last.equal) for name in self._names]
        closing = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
        old = [*call.args[:-1], _followed_by(last, cst.SimpleWhitespace(""))]
        elements, closing = _joined(old, new, call.whitespace_before_args, closing)
        return call.with_changes(args=[*elements[:-1], _followed_by(elements[-1], closing)])

    def _value(self, last: cst.DictElement | None, name: str) -> cst.BaseExpression:
        """An entry of a mapping, made like the last one."""
        fields = self._fields()
        match last:
            case cst.DictElement(key, cst.Call(func=function, args=arguments)):
                takes_name = bool(arguments) and _source(arguments[0].value) == _source(key)
                return _call(function, [f'"{name}"'] if takes_name else [], fields)
            case cst.DictElement(value=cst.Dict(elements=elements)):
                keys = [element.key for element in elements if isinstance(element, cst.DictElement)]
                return _dict(fields or {key.raw_value: _TODO for key in keys if isinstance(key, cst.SimpleString)})
            case None if fields:
                return _dict(fields)
            case None | cst.DictElement(value=cst.Lambda() | cst.Name() | cst.Attribute()):
                self.needs_os = True
                return cst.parse_expression(f'lambda: os.getenv("{name}")')
            case cst.DictElement(value=cst.SimpleString()):
                return cst.parse_expression(_TODO)
        return cst.parse_expression("None")

    def _record(self, elements: Sequence[cst.BaseElement], name: str) -> cst.BaseExpression:
        last = elements[-1].value if elements else None
        if not isinstance(last, cst.Call):
            return _quoted(name)
        return _call(last.func, [f'name="{name}"'], self._fields())

    def _fields(self) -> dict[str, str]:
        """The source of each field that the registry needs."""
        values = {need: _TODO for need in self._registry.needs if need != "name"}
        if self._registry.default in values:
            values[self._registry.default] = "None"
        return values

    def _attribute(self, body: cst.IndentedBlock) -> str:
        """The value of an attribute, made like the last one that is a call."""
        for statement in reversed(body.body):
            match statement:
                case cst.SimpleStatementLine(body=[cst.Assign(value=cst.Call() as last)]):
                    return f"{_source(last.func)}(None)"
        return "None"


def _quoted(name: str) -> cst.SimpleString:
    return cst.SimpleString(f'"{name}"')


def _call(function: cst.BaseExpression, arguments: Sequence[str], fields: Mapping[str, str]) -> cst.BaseExpression:
    given = [*arguments, *(f"{name}={value}" for name, value in fields.items())]
    return cst.parse_expression(f"{_source(function)}({', '.join(given)})")


def _dict(fields: Mapping[str, str]) -> cst.BaseExpression:
    return cst.parse_expression("{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}")


def _followed_by(argument: cst.Arg, space: _Space) -> cst.Arg:
    """An argument with the space before the closing bracket, which is a part of its comma if it has one."""
    if isinstance(argument.comma, cst.Comma):
        return argument.with_changes(comma=argument.comma.with_changes(whitespace_after=space))
    return argument.with_changes(whitespace_after_arg=space)


_Display = cst.Dict | cst.List | cst.Set | cst.Tuple


def _extended(value: _Display, new: Sequence[Any]) -> cst.BaseExpression:
    """A display with more elements."""
    opening, closing = _brackets(value)
    elements, before = _joined(value.elements, new, opening.whitespace_after, closing.whitespace_before)
    if isinstance(value, cst.Tuple) and len(elements) == 1:
        elements[-1] = elements[-1].with_changes(comma=cst.Comma())
    return _with_closing(value.with_changes(elements=elements), closing.with_changes(whitespace_before=before))


def _joined(old: Sequence[Any], new: Sequence[Any], opening: _Space, closing: _Space) -> tuple[list[Any], _Space]:
    """Elements with more behind them, each on a line of its own where those that are there stand so; and the space
    before the closing bracket.

    What follows on the last element, such as a comment, is a part of that space; it stays with the element.
    """
    elements = list(old)
    apart: _Space = cst.SimpleWhitespace(" ")
    if isinstance(opening, cst.ParenthesizedWhitespace):
        apart = cst.ParenthesizedWhitespace(indent=opening.indent, last_line=opening.last_line)
    end = elements[-1].comma if elements else cst.MaybeSentinel.DEFAULT
    joint = apart
    if elements and isinstance(closing, cst.ParenthesizedWhitespace) and isinstance(apart, cst.ParenthesizedWhitespace):
        joint = closing.with_changes(indent=apart.indent, last_line=apart.last_line)
        closing = cst.ParenthesizedWhitespace(indent=closing.indent, last_line=closing.last_line)
    for element in new:
        if elements:
            elements[-1] = elements[-1].with_changes(comma=cst.Comma(whitespace_after=joint))
            joint = apart
        elements.append(element)
    elements[-1] = elements[-1].with_changes(comma=end)
    return elements, closing


def _brackets(value: _Display) -> tuple[Any, Any]:
    match value:
        case cst.Dict() | cst.Set():
            return value.lbrace, value.rbrace
        case cst.List():
            return value.lbracket, value.rbracket
    return value.lpar[0], value.rpar[0]


def _with_closing(value: _Display, closing: Any) -> cst.BaseExpression:
    match value:
        case cst.Dict() | cst.Set():
            return value.with_changes(rbrace=closing)
        case cst.List():
            return value.with_changes(rbracket=closing)
    return value.with_changes(rpar=[closing])


def _source(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
