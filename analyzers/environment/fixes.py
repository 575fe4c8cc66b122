"""Adds stubs to a registry for variables that are read and not registered; everything else keeps its format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from analyzers.environment.policy import RegistryPolicy

_TODO = '"TODO"'


def with_stubs(text: str, registry: RegistryPolicy, names: Sequence[str]) -> str | None:
    """The text of a registry's file with a stub for each name.

    A stub is made like the last entry: a getter that reads the variable, or a record with `"TODO"` in every field that
    the registry needs.

    Returns:
        None where the file cannot be parsed, or its registry is not a display or class that could take one.
    """
    adder = _Adder(registry, names)
    try:
        changed = cst.parse_module(text).visit(adder)
    except (cst.ParserSyntaxError, RecursionError):
        return None
    return changed.code if adder.done else None


class _Adder(cst.CSTTransformer):
    """Changes the first binding of the registry's symbol at module level."""

    def __init__(self, registry: RegistryPolicy, names: Sequence[str]) -> None:
        super().__init__()
        self._registry = registry
        self._names = names
        self.done = False

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
        new: list[Any]
        match value:
            case cst.Dict(elements=elements):
                last = elements[-1].value if elements else None
                new = [cst.DictElement(cst.SimpleString(f'"{n}"'), self._value(last, n)) for n in self._names]
            case cst.List(elements=elements) | cst.Tuple(elements=elements, lpar=[_]):
                new = [cst.Element(self._record(elements, name)) for name in self._names]
            case _:
                return value
        self.done = True
        return _extended(value, new)

    def _value(self, last: cst.BaseExpression | None, name: str) -> cst.BaseExpression:
        """An entry of a mapping, made like the last one."""
        if isinstance(last, cst.Call):
            return cst.parse_expression(f"{_source(last.func)}({self._fields()})")
        return cst.parse_expression(f'lambda: os.getenv("{name}")')

    def _record(self, elements: Sequence[cst.BaseElement], name: str) -> cst.BaseExpression:
        last = elements[-1].value if elements else None
        if not isinstance(last, cst.Call):
            return cst.SimpleString(f'"{name}"')
        fields = self._fields()
        return cst.parse_expression(f'{_source(last.func)}(name="{name}"{", " if fields else ""}{fields})')

    def _fields(self) -> str:
        values = {need: _TODO for need in self._registry.needs if need != "name"}
        if self._registry.default in values:
            values[self._registry.default] = "None"
        return ", ".join(f"{name}={value}" for name, value in values.items())

    def _attribute(self, body: cst.IndentedBlock) -> str:
        """The value of an attribute, made like the last one that is a call."""
        for statement in reversed(body.body):
            match statement:
                case cst.SimpleStatementLine(body=[cst.Assign(value=cst.Call() as last)]):
                    return f"{_source(last.func)}(None)"
        return "None"


def _extended(value: cst.Dict | cst.List | cst.Tuple, new: Sequence[Any]) -> cst.BaseExpression:
    """A display with more elements: each on a line of its own where those that are there stand so.

    What follows on the last element, such as a comment, is a part of the closing bracket; it stays with the element.
    """
    elements: list[Any] = list(value.elements)
    opening, closing = _brackets(value)
    lines = opening.whitespace_after
    apart: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if isinstance(lines, cst.ParenthesizedWhitespace):
        apart = cst.ParenthesizedWhitespace(indent=lines.indent, last_line=lines.last_line)
    end = elements[-1].comma if elements else cst.MaybeSentinel.DEFAULT
    before = closing.whitespace_before
    joint = apart
    if elements and isinstance(before, cst.ParenthesizedWhitespace) and isinstance(apart, cst.ParenthesizedWhitespace):
        joint = before.with_changes(indent=apart.indent, last_line=apart.last_line)
        before = cst.ParenthesizedWhitespace(indent=before.indent, last_line=before.last_line)
    for element in new:
        if elements:
            elements[-1] = elements[-1].with_changes(comma=cst.Comma(whitespace_after=joint))
            joint = apart
        elements.append(element)
    if isinstance(value, cst.Tuple) and len(elements) == 1:
        end = cst.Comma()
    elements[-1] = elements[-1].with_changes(comma=end)
    return _with_closing(value.with_changes(elements=elements), closing.with_changes(whitespace_before=before))


def _brackets(value: cst.Dict | cst.List | cst.Tuple) -> tuple[Any, Any]:
    match value:
        case cst.Dict():
            return value.lbrace, value.rbrace
        case cst.List():
            return value.lbracket, value.rbracket
    return value.lpar[0], value.rpar[0]


def _with_closing(value: cst.Dict | cst.List | cst.Tuple, closing: Any) -> cst.BaseExpression:
    match value:
        case cst.Dict():
            return value.with_changes(rbrace=closing)
        case cst.List():
            return value.with_changes(rbracket=closing)
    return value.with_changes(rpar=[closing])


def _source(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
