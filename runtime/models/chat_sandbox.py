"""Where chat templates run: programs that come with a model, which nobody vouches for.

jinja2's sandbox keeps them from reaching Python. This one also keeps them from running or growing without end:
rendering has a budget, and every step of a loop, call, filter and operation pays for itself and for what it makes.
Jinja has no other way to spend time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

BUDGET = 1 << 27
"""What one rendering may spend: about 2 million steps, or 128 million characters. Real conversations take under 1 %."""

_STEP = 64
_CALL = 1024
"""Prices of a step and of a call in characters: making so many takes about as long."""

_MAX_COUNT = 1 << 16
"""The largest number that a filter or a method may be given besides its subject: it could be a width or a count."""

_MAX_BITS = 4096
"""Integers may not be longer."""

_WIDE_PADDING = re.compile(r"\d{7}|\*")
"""A width in a format string that is too large, or that is taken from elsewhere."""

_left: ContextVar[list[int]] = ContextVar("budget of the rendering in progress")


@contextmanager
def budget() -> Iterator[None]:
    """Everything in this context spends from one new budget."""
    token = _left.set([BUDGET])
    try:
        yield
    finally:
        _left.reset(token)


def _pay(price: int) -> None:
    left = _left.get()
    left[0] -= price
    if left[0] < 0:
        raise SecurityError("it takes more than any conversation could need, as an endless loop would")


def _paid(value: Any) -> Any:
    """Take the price of a value that was just made."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise SecurityError(f"it calculates with integers of more than {_MAX_BITS} bits")
    _pay(_STEP + (len(value) if isinstance(value, str | bytes | list | tuple | dict) else 0))
    return value


def _steps(items: Iterable[Any], price: int) -> Iterator[Any]:
    """Let a loop pay for each of its steps."""
    for item in items:
        _pay(_STEP + price)
        yield item


def _check_counts(arguments: Iterable[Any]) -> None:
    for argument in arguments:
        if isinstance(argument, int) and abs(argument) > _MAX_COUNT:
            raise SecurityError(f"it asks a function for more than {_MAX_COUNT} of something")


def _check_format(template: Any) -> None:
    if isinstance(template, str) and _WIDE_PADDING.search(template):
        raise SecurityError("it pads a text to a width that is too large or not written out")


def _guarded(filter_: Callable[..., Any]) -> Callable[..., Any]:
    subject = 1 if hasattr(filter_, "jinja_pass_arg") else 0

    @functools.wraps(filter_)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        _check_counts((*args[subject + 1 :], *kwargs.values()))
        if filter_ is FILTERS["format"]:
            _check_format(args[subject])
        return _paid(filter_(*args, **kwargs))

    return guarded


class _Meter(NodeTransformer):
    """Puts the collection of fees into a parsed template."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 (jinja2 looks it up by this name)
        if node.recursive:
            raise SecurityError(f"line {node.lineno}: recursive loops are not supported")
        self.generic_visit(node)
        text = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        node.iter = _filtered(node.iter, "steps", [nodes.Const(text)])
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, "paid", [])


def _filtered(node: nodes.Node, name: str, arguments: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(node, name, arguments, [], None, None, lineno=node.lineno)


class _Generation(Extension):
    """`{% generation %}` marks what the model wrote, for training; when rendering, it is what it encloses."""

    tags = {"generation"}  # noqa: RUF012 (declared so by jinja2)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatSandbox(ImmutableSandboxedEnvironment):
    """jinja2 as `transformers` sets it up for chat templates, within a budget. Compile and render inside `budget()`."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self, functions: Mapping[str, Callable[..., Any]], filters: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # nothing is worked out before it is paid for
            extensions=[loopcontrols, _Generation],
            finalize=pass_context(lambda context, value: _paid(value)),
        )
        del self.globals["lipsum"]
        self.globals |= functions
        self.filters = {name: _guarded(filter_) for name, filter_ in {**self.filters, **filters}.items()}
        self.filters |= {"steps": _steps, "paid": _paid}

    def compiled(self, source: str) -> Template:
        """A template that pays its way."""
        return self.from_string(_Meter().visit(self.parse(source)))

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Every call in a template comes through here."""
        _pay(_CALL)
        if isinstance(getattr(function, "__self__", None), str | bytes | int):
            _check_counts((*args, *kwargs.values()))
        return _paid(super().call(context, function, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`format` and `format_map` of a text come through here."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            _check_format(value.__self__)
        return wrapped

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Every intercepted operation comes through here, before it is done."""
        if operator == "**":
            _check_counts((right,))
            _pay(left.bit_length() * max(right, 0) if isinstance(left, int) and isinstance(right, int) else _STEP)
        elif operator == "*":
            _pay(max(_repeated(left, right), _repeated(right, left)))
        elif operator == "%":
            _check_format(left)
        return _paid(super().call_binop(context, operator, left, right))


def _repeated(sequence: Any, count: Any) -> int:
    """Length of `sequence * count`."""
    return len(sequence) * max(count, 0) if isinstance(count, int) and hasattr(sequence, "__len__") else 0
