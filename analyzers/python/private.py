"""Uses of a private name that belongs to another object or module."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from string import ascii_letters, digits

from analyzers.python.blocks import Blocks
from analyzers.python.facts import PrivateAccess
from analyzers.python.imports import Statement, bound_names, imported_names
from analyzers.python.lexer import Lexed
from analyzers.python.literals import IDENTIFIER, normal, read_template

PUBLIC = frozenset(
    (
        *("_asdict", "_field_defaults", "_fields", "_make", "_replace"),
        *("_generate_next_value_", "_ignore_", "_missing_", "_name_", "_order_", "_value_"),
        *("_exit", "_getframe"),
        *("_anonymous_", "_as_parameter_", "_fields_", "_pack_"),
    )
)
"""Names that the standard library documents for anyone's use: of namedtuple, enum, os and sys, ctypes."""

_REACH = 120
"""How many characters of an owner or of the targets of an assignment are looked at: what bounds the time that
any one line can take."""

_NAME = rf"_{IDENTIFIER}*"
_BLANK = r"[ \t]"
_SELF = r"(?:self|cls|mcs)"
_ACCESS = re.compile(rf"\.(?<!(?<![\w.])self\.)(?<!(?<![\w.])cls\.){_BLANK}*({_NAME})")
_SELF_OWNER = re.compile(rf"{_SELF}(?:\.__class__)?|__class__|super\(\w*\)|type\({_SELF}\)")
_PRIVATE_WORD = re.compile(rf"_(?<!{IDENTIFIER}_)")
_WORD = re.compile(IDENTIFIER)
_DOTTED = re.compile(rf"(?:{IDENTIFIER}|\.)+")
_WORD_OR_DOT = re.compile(rf"{IDENTIFIER}|\.")
_BLANKS = " \t"
_ANNOTATION = re.compile(rf"{_BLANK}*:(?!=)")
_MORE_TARGETS = rf",[^\x00-\x08\x0a-\x1f!-)+\-/:-@\[-^`{{-\x7f]{{0,{_REACH}}}"
"""Names, dots, commas, stars and blanks. Written as what they are not, since that compiles thirty times as fast."""
_LAST_TARGETS = re.compile(rf"{_BLANK}*(?:(?:{_MORE_TARGETS})?|//|>>|<<|\*\*|[-+*/%@&|^])=(?!=)")
_FIRST_TARGETS = ascii_letters + digits + "_.,*= \t"


def private_accesses(lexed: Lexed, blocks: Blocks, statements: Sequence[Statement]) -> list[PrivateAccess]:
    """Every `owner._name`, and every private name imported from another module, that the file does not define.

    A dot in one of the import statements is no attribute access. The owner is what stands before the dot, with
    what a call or subscript holds left out unless it is a single word: `make()`, `layers[0]`.
    """
    found = [
        PrivateAccess(statement.origin, name, *lexed.position(at), blocks.symbol_at(at), _absolute(statement.origin))
        for statement in statements
        if statement.origin.strip(".") and _PRIVATE_WORD.search(lexed.code, statement.names, statement.end)
        for name, at in imported_names(lexed.code, statement)
        if _is_private(name)
    ]
    code = _with_fields(lexed)
    starts = [statement.start for statement in statements]
    for use in _ACCESS.finditer(code):
        name, at = normal(use[1]), use.start(1)
        if not _is_private(name) or _covers(statements, starts, at):
            continue
        owner = _owner(code, use.start())
        if owner and not _SELF_OWNER.fullmatch(owner):
            found.append(PrivateAccess(owner, name, *lexed.position(at), blocks.symbol_at(at), ""))
    if not found:
        return []
    own = {symbol.name.rpartition(".")[2] for symbol in blocks.symbols}
    names = {access.name for access in found}
    padded = "\n" + code
    foreign = {name for name in names if name not in own and not _is_set(padded, name)}
    if not foreign:
        return []
    origins = _origins(lexed.code, statements)
    return sorted(
        (
            access if access.origin else access._replace(origin=_origin(access.owner, origins))
            for access in found
            if access.name in foreign
        ),
        key=lambda access: access[2:4],
    )


def _origins(code: str, statements: Sequence[Statement]) -> dict[str, str]:
    """The absolute module that each imported name is or is taken from; empty where statements disagree."""
    origins: dict[str, str] = {}
    for statement in statements:
        for name, module in bound_names(code, statement):
            module = _absolute(module)
            known = origins.setdefault(name, module)
            if known.partition(".")[0] != module.partition(".")[0]:
                origins[name] = ""
    return origins


def _origin(owner: str, origins: Mapping[str, str]) -> str:
    """The module that an owner is, or is an attribute of a name from."""
    return origins.get(owner.partition(".")[0], "") if _DOTTED.fullmatch(owner) else ""


def _absolute(module: str) -> str:
    """The module, unless it is relative and so a part of the tree."""
    return "" if module.startswith(".") else module


def _is_private(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and name != "_" and not dunder and name not in PUBLIC


def _covers(statements: Sequence[Statement], starts: list[int], offset: int) -> bool:
    index = bisect_right(starts, offset) - 1
    return index >= 0 and offset < statements[index].end


def _with_fields(lexed: Lexed) -> str:
    """The code, with the expressions inside f-strings laid open wherever they may hold a private access."""
    text, code = lexed.text, lexed.code
    pieces: list[str] = []
    done = at = 0
    while (at := text.find("._", at)) >= 0:
        if code[at] == '"':
            start, end = lexed.string_at(at)
            template = read_template(text, start) if _TEMPLATE.match(text, start) else None
            if template and template.end == end:
                pieces += (code[done:start], template.code)
                done = end
            at = end
        else:
            at += 1
    return "".join((*pieces, code[done:])) if pieces else code


_TEMPLATE = re.compile(r"[rR]?[fFtT][rR]?[\"']")


_OPENING = {")": "(", "]": "[", "}": "{"}
_BACKWARD = re.compile(rf"({IDENTIFIER}+)|\"+|[^ \t]")


def _owner(code: str, dot: int) -> str:
    """The expression before a dot; empty where there is none."""
    parts: list[str] = []
    inside: list[str] = []
    depth = 0
    after_name = False
    for token in _BACKWARD.finditer(code[max(0, dot - _REACH) : dot][::-1]):
        character = token[0][0]
        if depth:
            depth += (character in ")]}") - (character in "([{")
            if depth:
                inside.append(token[1] or "")
            else:
                parts[-1] = f"{character}{inside[0][::-1] if len(inside) == 1 else ''}{parts[-1]}"
        elif after_name:
            if character != ".":
                break
            parts.append(".")
            after_name = False
        elif character in _OPENING:
            depth = 1
            inside = []
            parts.append(character)
        elif token[1] and not iskeyword(token[1][::-1]):
            parts.append(normal(token[1][::-1]))
            after_name = True
        else:
            if character == '"':
                parts.append('""')
            break
    return "".join(reversed(parts)).lstrip(".")


def _is_set(code: str, name: str) -> bool:
    """Whether the file speaks of `self._name`, or assigns or annotates `_name` in a statement that starts its
    line or follows on a `;`."""
    if any(any(_bare_uses(code, f"{owner}.{name}")) for owner in ("self", "cls", "mcs")):
        return True
    for start in _bare_uses(code, name):
        end = start + len(name)
        if _ANNOTATION.match(code, end):
            before = _BLANKS
        elif _LAST_TARGETS.match(code, end):
            before = _FIRST_TARGETS
        else:
            continue
        if code[max(0, start - _REACH) : start].rstrip(before)[-1:] in ("\n", ";"):
            return True
    return False


def _bare_uses(code: str, name: str) -> Iterator[int]:
    """Where the name stands on its own: neither part of a longer one nor an attribute."""
    end = 0
    while (start := code.find(name, end)) >= 0:
        end = start + len(name)
        if not _WORD_OR_DOT.match(code, start - 1) and not _WORD.match(code, end):
            yield start
