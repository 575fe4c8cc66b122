"""What tests do to the environment: `monkeypatch.setenv` and `patch.dict`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from analyzers.environment.keys import UNKNOWN, Key, KeyReader
from analyzers.environment.scopes import Reader, Scope
from analyzers.environment.wrappers import Site, argument

IsEnvironment = Callable[[ast.expr, Scope], bool]
_OPTIONS_OF_PATCH = frozenset(("clear", "values", "in_dict"))


def writes_by_tests(reader: Reader, keys: KeyReader, is_environment: IsEnvironment) -> Iterator[Site]:
    """Every variable that a test sets or deletes for its own time."""
    for call, scope in reader.calls:
        for key in _written(call, scope, keys, is_environment):
            yield Site(key, "test-write", call, scope)


def _written(call: ast.Call, scope: Scope, keys: KeyReader, is_environment: IsEnvironment) -> list[Key]:
    match call.func:
        case ast.Attribute(value=receiver, attr="setenv" | "delenv") if _is_monkeypatch(receiver, scope):
            return keys.read(argument(call, 0), scope)
        case ast.Attribute(attr="setitem" | "delitem"):
            if len(call.args) > 1 and is_environment(call.args[0], scope):
                return keys.read(call.args[1], scope)
        case ast.Attribute(value=ast.Name(id="patch") | ast.Attribute(attr="patch"), attr="dict"):
            if call.args and is_environment(call.args[0], scope):
                return _patched(call, scope, keys)
    return []


def _patched(call: ast.Call, scope: Scope, keys: KeyReader) -> list[Key]:
    """`patch.dict(os.environ, {...}, NAME=value)`."""
    named: list[Key] = [(k.arg,) if k.arg else UNKNOWN for k in call.keywords if k.arg not in _OPTIONS_OF_PATCH]
    values = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "values")]
    return [*named, *(key for mapping in values for key in keys.of_mapping(mapping, scope))]


def _is_monkeypatch(receiver: ast.expr, scope: Scope) -> bool:
    """Whether this is pytest's fixture, by its name or by what it is bound to."""
    match receiver:
        case ast.Name(id=name):
            values = [binding.value for binding in scope.lookup(name) if binding.value is not None]
            return _is_name_of_one(name) or any("MonkeyPatch" in ast.unparse(value) for value in values)
        case ast.Attribute(attr=name):
            return _is_name_of_one(name)
    return False


def _is_name_of_one(name: str) -> bool:
    return name == "mp" or "monkeypatch" in name.lower()
