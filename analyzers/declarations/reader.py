"""Reads declared expressions across the modules of a tree, and runs none of them.

What it understands: constants, names that are bound once at module level, lists, tuples, sets, mappings with or
without `**`, `|` of sets or of mappings, `frozenset(...)`, members of enumerations, constructors of dataclasses and
named tuples, and dotted names of modules that were declared to it. Anything else is an error that quotes the
expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from analyzers.declarations.classes import Field, fields_of, is_enumeration, is_record
from analyzers.declarations.expressions import CALL, CONSTANT, MAPPING, NAME, SEQUENCE, SET, UNION, Row, quoted
from analyzers.declarations.modules import DeclaredModule, ModuleIndex
from analyzers.declarations.values import EnumMember, Place, Record, Reference, Value
from analyzers.nearest import nearest

_FIELD_MESSAGES = {
    "unknown": "`{record}` declares no field `{field}`",
    "surplus": "`{record}` takes no {field} by position",
    "missing": "the field `{field}` of `{record}` is missing",
    "doubled": "the field `{field}` of `{record}` is given twice",
}


class UnreadableError(Exception):
    """An expression says more than data can say, or what it names cannot be found."""

    def __init__(self, place: Place, expression: str, reason: str) -> None:
        super().__init__(f"`{expression}` {reason}")
        self.place = place
        self.expression = expression


class MissingError(Exception):
    """A dotted name leads to nothing."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.known = known
        """The names that it might have been."""


class FieldProblem(Struct, frozen=True):
    """A constructor is not given what its class declares."""

    place: Place
    class_name: str
    field: str
    kind: str
    """"unknown", "surplus", "missing" or "doubled"."""
    known: tuple[str, ...]
    """The fields that there are."""

    @property
    def record(self) -> str:
        """The class without its module."""
        return self.class_name.rpartition(".")[2]

    @property
    def subject(self) -> str:
        """What is wrong, in words that survive edits elsewhere."""
        return f"{self.record}: {self.kind} {self.field}"

    @property
    def message(self) -> str:
        return _FIELD_MESSAGES[self.kind].format(record=self.record, field=self.field)

    @property
    def hint(self) -> str:
        near = nearest(self.field, self.known) if self.kind == "unknown" else ""
        return f"Did you mean `{near}`?" if near else f"It has {', '.join(self.known)}."


class Expression(Struct, frozen=True):
    """An expression where it is written; names are followed to what they are bound to."""

    reader: Reader
    module: DeclaredModule
    row: Row
    symbol: str = ""
    """The name that it was reached by, if any."""

    @property
    def place(self) -> Place:
        return Place(self.module.path, self.row[1], self.row[2])

    def value(self) -> Value:
        """What it means. Raises UnreadableError."""
        return self.reader.value(self.module, self.row)

    @property
    def is_mapping(self) -> bool:
        """Whether it is a mapping as it is written; one that `|` makes is not."""
        return bool(self.row[0] == MAPPING)

    def followed(self) -> Expression:
        """What it is bound to where it is a name of a binding, and else itself. Raises UnreadableError."""
        return self.reader.follow(self.module, self.row)

    def items(self) -> Iterator[Expression]:
        """The parts of a list, tuple or set, and of those that `|` joins. Raises UnreadableError for anything else."""
        if self.row[0] not in (SEQUENCE, SET, UNION):
            raise self.error("is no list, tuple or set")
        for row in self.row[3]:
            part = Expression(self.reader, self.module, row)
            yield from part.followed().items() if self.row[0] == UNION else (part,)

    def pairs(self) -> Iterator[tuple[Expression, Expression]]:
        """The keys and values of a mapping, and of those that `|` joins, with every doubled key.

        Raises UnreadableError for anything else.
        """
        if self.row[0] == UNION:
            for row in self.row[3]:
                yield from Expression(self.reader, self.module, row).followed().pairs()
        elif self.row[0] == MAPPING:
            for key, value in self.row[3]:
                yield Expression(self.reader, self.module, key), Expression(self.reader, self.module, value)
        else:
            raise self.error("is no mapping")

    def argument(self) -> Expression | None:
        """The only argument of a call that has no other; None for anything else."""
        if self.row[0] != CALL or len(self.row[4]) != 1 or self.row[5]:
            return None
        return Expression(self.reader, self.module, self.row[4][0])

    def constant(self, value: str) -> Expression:
        """A string that is a part of this one, written at the same place."""
        return Expression(self.reader, self.module, [CONSTANT, *self.row[1:3], value])

    def error(self, reason: str) -> UnreadableError:
        return _error(self.module, self.row, reason)


class Reader:
    """Reads what some modules declare."""

    def __init__(self, modules: Mapping[str, DeclaredModule], is_outside: Callable[[str], bool]) -> None:
        """Take in the modules.

        Args:
            modules: by dotted name, those that may be read.
            is_outside: whether a dotted name belongs to a declared module outside of the tree; it stands for itself.
        """
        self._modules = modules
        self._index = ModuleIndex(modules)
        self._is_outside = is_outside
        self._open: set[tuple[str, str]] = set()
        self._values: dict[tuple[str, str], Value] = {}
        self._problems: dict[FieldProblem, None] = {}

    @property
    def problems(self) -> list[FieldProblem]:
        """What was wrong with the constructors that have been read."""
        return list(self._problems)

    def expression(self, name: str) -> Expression:
        """What a dotted name is bound to.

        Raises:
            MissingError: there is no such module, or it binds no such name.
            UnreadableError: it is bound in no plain way.
        """
        module, symbol = self._split(name)
        outline = module.outline
        if symbol not in outline.names and symbol not in outline.unfit:
            raise MissingError(name, [f"{module.name}.{known}" for known in outline.names])
        return self.follow(module, [NAME, 1, 1, symbol])

    def fields(self, class_name: str) -> tuple[Field, ...]:
        """The fields of a dataclass or named tuple. Raises MissingError, and UnreadableError as `expression` does."""
        module, symbol = self._split(class_name)
        if not is_record(self._index, module, symbol):
            known = [name for name in module.outline.classes if is_record(self._index, module, name)]
            raise MissingError(class_name, [f"{module.name}.{name}" for name in known])
        return fields_of(self._index, module, symbol)

    def construct(self, class_name: str, place: Place, given: Sequence[Expression], named: Named) -> Record:
        """What the constructor of a class that has `fields` makes of arguments. Raises UnreadableError."""
        return self._construct(*self._split(class_name), place, given, named)

    def follow(self, module: DeclaredModule, row: Row) -> Expression:
        """The expression itself, or what it names where that is bound to another one. Raises UnreadableError."""
        symbol = ""
        seen = set()
        while row[0] == NAME:
            found = self._binding(module, str(row[3]))
            if found is None:
                break
            if found in seen:
                raise _error(module, row, "is defined by itself")
            seen.add(found)
            module, symbol = self._modules[found[0]], found[1]
            row = module.outline.names[symbol]
        return Expression(self, module, row, symbol)

    def value(self, module: DeclaredModule, row: Row) -> Value:
        """What an expression of a module means. Raises UnreadableError."""
        match row:
            case [kind, _, _, value] if kind == CONSTANT:
                return value
            case [kind, _, _, str(name)] if kind == NAME:
                return self._named(module, row, name)
            case [kind, _, _, list(items)] if kind == SEQUENCE:
                return tuple(self.value(module, item) for item in items)
            case [kind, _, _, list(items)] if kind == SET:
                return self._set(module, row, [self.value(module, item) for item in items])
            case [kind, _, _, list(pairs)] if kind == MAPPING:
                try:
                    return {self.value(module, key): self.value(module, value) for key, value in pairs}
                except TypeError:
                    raise _error(module, row, "has a key that no mapping can have") from None
            case [kind, _, _, list(operands)] if kind == UNION:
                return self._union(module, row, [self.value(module, operand) for operand in operands])
            case [kind, _, _, str(name), _, _] if kind == CALL:
                return self._call(module, row, name)
        raise _error(module, row, "is not one of the expressions that declarations are made of")

    def _split(self, name: str) -> tuple[DeclaredModule, str]:
        module, _, symbol = name.rpartition(".")
        if module not in self._modules:
            raise MissingError(name, [f"{known}.{symbol}" for known in self._modules])
        found = self._modules[module]
        if not found.outline.parsed:
            raise UnreadableError(
                Place(found.path, 1, 0), symbol, "stands in a file that cannot be read or does not parse"
            )
        return found, symbol

    def _binding(self, module: DeclaredModule, name: str) -> tuple[str, str] | None:
        """Module and symbol of the binding that a name stands for; None where it stands for something else."""
        owner = self._index.owner(module, name)
        if owner is None:
            return None
        home, symbol = owner
        if symbol in home.outline.unfit:
            line, reason = home.outline.unfit[symbol]
            raise UnreadableError(Place(home.path, line, 0), symbol, reason)
        if (home.name, symbol) in self._changes:
            raise UnreadableError(self._changes[home.name, symbol], symbol, "is changed after it is bound")
        return (home.name, symbol) if symbol in home.outline.names else None

    @cached_property
    def _changes(self) -> dict[tuple[str, str], Place]:
        """Where one of the modules changes what a binding holds, by module and symbol."""
        found: dict[tuple[str, str], Place] = {}
        for module in self._modules.values():
            for change in module.outline.changes:
                owner = self._index.owner(module, change.name, change.imported)
                while owner is not None:
                    home, symbol = owner[0], owner[1].partition(".")[0]
                    if (home.name, symbol) in found:
                        break
                    found[home.name, symbol] = Place(module.path, change.line, 0)
                    row = home.outline.names.get(symbol)
                    owner = self._index.owner(home, str(row[3])) if row is not None and row[0] == NAME else None
        return found

    def _named(self, module: DeclaredModule, row: Row, name: str) -> Value:
        found = self._binding(module, name)
        if found is not None:
            return self._bound(module, row, found)
        owner = self._index.owner(module, name)
        if owner is not None:
            return self._defined(module, row, *owner)
        full = self._index.absolute(module, name)
        if self._is_outside(full):
            return Reference(full)
        raise _error(module, row, "is neither bound here nor a name of a declared module")

    def _bound(self, module: DeclaredModule, row: Row, found: tuple[str, str]) -> Value:
        if found in self._values:
            return self._values[found]
        if found in self._open:
            raise _error(module, row, "is defined by itself")
        home = self._modules[found[0]]
        self._open.add(found)
        try:
            self._values[found] = self.value(home, home.outline.names[found[1]])
        finally:
            self._open.discard(found)
        return self._values[found]

    def _defined(self, module: DeclaredModule, row: Row, home: DeclaredModule, symbol: str) -> Value:
        """What a class, a function or a member of an enumeration stands for."""
        class_name, _, name = symbol.rpartition(".")
        if is_enumeration(self._index, home, class_name):
            for member in home.outline.classes[class_name].members:
                if member.name == name and member.value is not None:
                    held = member.value[3] if member.value[0] == CONSTANT else name
                    return EnumMember(f"{home.name}.{class_name}", name, held)
        if symbol in home.outline.functions or symbol in home.outline.classes:
            return Reference(f"{home.name}.{symbol}")
        raise _error(module, row, f"is nothing that {home.name} declares")

    def _set(self, module: DeclaredModule, row: Row, items: Sequence[Value]) -> frozenset[Value]:
        try:
            return frozenset(items)
        except TypeError:
            raise _error(module, row, "holds what no set can hold") from None

    def _union(self, module: DeclaredModule, row: Row, operands: Sequence[Value]) -> Value:
        if all(isinstance(operand, frozenset) for operand in operands):
            return frozenset().union(*operands)
        if all(isinstance(operand, dict) for operand in operands):
            return {key: value for operand in operands for key, value in operand.items()}
        raise _error(module, row, "joins what is neither sets nor mappings")

    def _call(self, module: DeclaredModule, row: Row, name: str) -> Value:
        arguments, named = row[4], row[5]
        owner = self._index.owner(module, name)
        if owner is not None and is_record(self._index, *owner):
            given = [Expression(self, module, argument) for argument in arguments]
            pairs = [(key, Expression(self, module, value)) for key, value in named]
            return self._construct(*owner, Place(module.path, row[1], row[2]), given, pairs)
        if name == "frozenset" and owner is None and not named and len(arguments) <= 1:
            items = self.value(module, arguments[0]) if arguments else ()
            if isinstance(items, tuple | frozenset | dict):
                return self._set(module, row, tuple(items))
        raise _error(module, row, f"calls `{name}`, which is no class of declared fields")

    def _construct(
        self, home: DeclaredModule, symbol: str, place: Place, given: Sequence[Expression], named: Named
    ) -> Record:
        fields = fields_of(self._index, home, symbol)
        known = tuple(field.name for field in fields)
        positional = [field.name for field in fields if not field.keyword_only]
        values: dict[str, Value] = {}

        def complain(field: str, kind: str, where: Place) -> None:
            self._problems[FieldProblem(where, f"{home.name}.{symbol}", field, kind, known)] = None

        for argument in given[len(positional) :]:
            complain(f"argument {given.index(argument) + 1}", "surplus", argument.place)
        pairs = [*zip(positional, given, strict=False), *named]
        for name, argument in pairs:
            if name not in known:
                complain(name, "unknown", argument.place)
            elif name in values:
                complain(name, "doubled", argument.place)
            else:
                values[name] = argument.value()
        for field in fields:
            if field.name in values:
                continue
            if field.default is None:
                complain(field.name, "missing", place)
            else:
                values[field.name] = self.value(field.home, field.default)
        return Record(f"{home.name}.{symbol}", tuple((name, values[name]) for name in known if name in values))


Named = Sequence[tuple[str, Expression]]
"""Keyword arguments."""


def _error(module: DeclaredModule, row: Row, reason: str) -> UnreadableError:
    return UnreadableError(Place(module.path, row[1], row[2]), quoted(row), reason)
