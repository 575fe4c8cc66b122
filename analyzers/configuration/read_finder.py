"""From a syntax tree to the places that get at configuration."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.configuration.classes import PROPERTIES
from analyzers.configuration.reads import Attribute, Parser, Read, Vocabulary
from analyzers.configuration.scopes import ClassScope, Origin, Scope, Typing, bound_by, dumped_by
from analyzers.configuration.survey import Body, survey
from analyzers.python.nodes import children, dotted, last_part
from analyzers.python.parsing import Places

Function = ast.FunctionDef | ast.AsyncFunctionDef

_Link = ast.Attribute | ast.Subscript | ast.Call
"""What a chain is made of, beside the name that it starts with."""

_WHOLE = frozenset(
    (
        *("asdict", "astuple", "fields", "vars", "replace", "evolve", "fields_dict", "to_builtins"),
        *("structs_asdict", "dir", "iter", "repr", "str"),
    )
)
"""Functions that look at every field of what they are given."""
_OF_RECORDS = frozenset(("asdict", "astuple", "fields", "vars"))
"""Those among them that are hardly used for anything else."""
_ANY_OBJECT = _OF_RECORDS | {"getattr", "setattr", "hasattr", "add_argument"}
"""What is of interest whatever is given to it."""
_UNKNOWN = Origin("")
_CONTEXTS = {ast.Load: "read", ast.Store: "write", ast.Del: "delete"}


def find_reads(module: ast.Module, text: str, vocabulary: Vocabulary) -> Sequence[Any]:
    """The places of one file, as `FileReads` stores them."""
    found = survey(module)
    imports = found.imports
    renamed = {local: origin.name for local, origin in imports.items() if origin.name not in ("", local)}
    finder = _Finder(Typing(vocabulary, renamed), Places(text), found.bodies, renamed)
    finder.module(module)
    attributes = [*finder.attributes()]
    roots = {read.root.partition(".")[0] for read in finder.reads}
    roots.update(attribute.root.partition(".")[0] for attribute in attributes)
    origins = {root: imports[root] for root in sorted(roots & imports.keys())}
    return (origins, finder.reads, finder.parsers, attributes, finder.bases if vocabulary.held else {})


class _Finder:
    """Walks through the scopes of a file: what their names are first, what is done with these then."""

    def __init__(
        self, typing: Typing, places: Places, bodies: Mapping[ast.AST, Body], renamed: Mapping[str, str]
    ) -> None:
        self.reads: list[Read] = []
        self.parsers: list[Parser] = []
        self.bases: dict[str, list[str]] = {}
        """Of every class, by the names that they have where they are from."""
        self._typing = typing
        self._places = places
        self._bodies = bodies
        self._renamed = renamed
        self._classes: dict[str, ClassScope] = {}
        self._functions: dict[str, list[Origin]] = {}

    def module(self, module: ast.Module) -> None:
        self._body(module, Scope(""), None)
        for node in module.body:
            if isinstance(node, Function):
                self._functions[node.name] = self._typing.annotated(node.returns)

    def attributes(self) -> Iterator[Attribute]:
        """What the classes of the file give their instances, and its functions their callers."""
        for owner, given in (("", self._functions), *((c.name, c.attributes) for c in self._classes.values())):
            for name, origins in given.items():
                yield from (Attribute(owner, name, origin.root, list(origin.chain)) for origin in origins)

    def _body(self, node: ast.AST, scope: Scope, owner: ClassScope | None) -> None:
        """A module or a function, or a class, which is the `owner` of its functions."""
        body = self._bodies[node]
        self._bind(node, scope, owner)
        for inner in body.nodes:
            if isinstance(inner, ast.ClassDef):
                self._class(inner, scope)
            elif isinstance(inner, Function | ast.Lambda):
                self._body(inner, self._function(inner, scope, owner), None)
        if not _ANY_OBJECT.isdisjoint(body.words) or self._typing.concerns(body.words, scope):
            self._look(node, scope)

    def _class(self, node: ast.ClassDef, around: Scope) -> None:
        name = f"{around.name}.{node.name}" if around.name else node.name
        written = [dotted(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
        self.bases[name] = [self._renamed.get(base, base) for base in written if base]
        bases = [self._classes[base] for base in written if base in self._classes]
        owner = self._classes[node.name] = ClassScope(name, bases, len(bases) < len(self.bases[name]))
        scope = Scope(name, around)
        # A method may use what another one, further down, assigns.
        for method in node.body:
            if isinstance(method, Function):
                self._bind(method, self._function(method, scope, owner), None)
                if any(last_part(dotted(decorator)) in PROPERTIES for decorator in method.decorator_list):
                    owner.bind(method.name, self._typing.annotated(method.returns))
        self._body(node, scope, owner)

    def _function(self, node: Function | ast.Lambda, around: Scope, owner: ClassScope | None) -> Scope:
        arguments = [*node.args.posonlyargs, *node.args.args]
        name = "" if isinstance(node, ast.Lambda) else node.name
        scope = Scope(f"{around.name}.{name}".strip("."), around.parent if owner and around.parent else around)
        if owner is not None and arguments and not _is_static(node):
            scope.owner, scope.this = owner, arguments[0].arg
        for argument in (*arguments, *node.args.kwonlyargs):
            scope.names[argument.arg] = self._typing.annotated(argument.annotation)
        if scope.this:
            del scope.names[scope.this]
        return scope

    def _bind(self, node: ast.AST, scope: Scope, owner: ClassScope | None) -> None:
        for inner in self._bodies[node].nodes:
            for target, origins in bound_by(inner, self._typing, scope):
                self._bind_target(target, origins, scope, owner)
            match inner:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._bind_dump(name, value, scope)

    def _bind_target(self, target: ast.expr, origins: list[Origin], scope: Scope, owner: ClassScope | None) -> None:
        match target:
            case ast.Name(id=name) if owner is not None:
                owner.bind(name, origins)
            case ast.Name(id=name):
                scope.bind(name, origins)
            case ast.Attribute(value=ast.Name(id=this), attr=name) if origins and (of := scope.class_of(this)):
                of.bind(name, origins)

    def _bind_dump(self, name: str, value: ast.expr, scope: Scope) -> None:
        if origins := [origin for dumped in dumped_by(value) for origin in self._typing.of(dumped, scope)]:
            scope.dumps.setdefault(name, []).extend(origins)

    def _look(self, node: ast.AST, scope: Scope) -> None:
        """Record what the expressions below a node get at."""
        for child in children(node):
            if type(child) is not ast.Name:
                self._visit(child, scope)

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                return
            case ast.AnnAssign(target=target, value=value):
                self._visit(target, scope)
                if value is not None:
                    self._visit(value, scope)
                return
            case ast.Attribute() | ast.Subscript() if self._chain(node, scope):
                return
            case ast.Call():
                self._call(node, scope)
                if self._chain(node, scope):
                    return
            case ast.AugAssign(target=ast.Attribute() as target):
                self._record("read", self._typing.step(target, scope), target, scope)
            case ast.MatchClass():
                self._class_pattern(node, scope)
        self._look(node, scope)

    def _chain(self, node: _Link, scope: Scope) -> bool:
        """Record a whole chain, and go on with what else stands in it."""
        origins = [origin for origin in self._typing.step(node, scope) if origin.chain]
        if not origins or (isinstance(node, ast.Call) and dotted(node.func) != "getattr"):
            return False
        # Where an element is written, what holds it is read.
        kind = _CONTEXTS[type(node.ctx)] if isinstance(node, ast.Attribute) else "read"
        self._record("getattr" if isinstance(node, ast.Call) else kind, origins, node, scope)
        link: ast.expr = node
        while isinstance(link, _Link) and self._typing.of(link, scope):
            match link:
                case ast.Call(func=ast.Name(id="getattr"), args=[link, _, *rest]):
                    pass
                case ast.Subscript(value=link, slice=index):
                    rest = [index]
                case ast.Attribute(value=link):
                    rest = []
                case _:
                    break
            for expression in rest:
                self._visit(expression, scope)
        if not isinstance(link, ast.Name):
            self._visit(link, scope)
        return True

    def _call(self, node: ast.Call, scope: Scope) -> None:
        name = dotted(node.func)
        last = last_part(name)
        if last in ("getattr", "hasattr", "setattr") and len(node.args) > 1:
            self._named_access(last, node, scope)
        elif last in _WHOLE:
            for value in node.args:
                self._record(last, self._typing.of(value, scope) or _unknown(last), node, scope)
        elif last == "add_argument":
            self._option(node, scope)
        constructed = [Origin(name)] if name and self._typing.is_known(last) else []
        for keyword in node.keywords:
            if keyword.arg is None:
                self._spread(keyword.value, scope)
            elif last in ("replace", "evolve") and node.args:
                written = [origin.to(keyword.arg) for origin in self._typing.of(node.args[0], scope)]
                self._record("argument", written, keyword.value, scope)
            else:
                self._record("argument", [origin.to(keyword.arg) for origin in constructed], keyword.value, scope)

    def _class_pattern(self, node: ast.MatchClass, scope: Scope) -> None:
        """`case Config(size=1)` reads a field, and `case Config(1)` the first one, whichever that is."""
        name = dotted(node.cls)
        matched = [Origin(name)] if self._typing.is_known(last_part(name)) else []
        for attribute in node.kwd_attrs:
            self._record("read", [origin.to(attribute) for origin in matched], node.cls, scope)
        if node.patterns:
            self._record("pattern", matched, node.cls, scope)

    def _named_access(self, function: str, node: ast.Call, scope: Scope) -> None:
        """`getattr` and its like: by a literal they get at one attribute, by anything else at any."""
        origins = self._typing.of(node.args[0], scope)
        name = node.args[1]
        if not isinstance(name, ast.Constant):
            self._record(f"{function} by a computed name", origins or [_UNKNOWN], node, scope)
        elif function != "getattr":
            self._record(function, [origin.to(str(name.value)) for origin in origins], node, scope)

    def _spread(self, value: ast.expr, scope: Scope) -> None:
        """`f(**asdict(config))` hands every field to somebody by its name, also where the mapping has a name."""
        objects = [*dumped_by(value)]
        match value:
            case ast.Name(id=name):
                self._record("spread", scope.dumped(name), value, scope)
            case ast.Call(func=ast.Attribute(value=inner)) if not objects:
                value = inner
        for inner in objects or [value]:
            self._record("spread", self._typing.of(inner, scope), inner, scope)

    def _option(self, node: ast.Call, scope: Scope) -> None:
        """An option of an `ArgumentParser`."""
        destination = next((k.value for k in node.keywords if k.arg == "dest"), None)
        flags = [flag.value for flag in node.args if isinstance(flag, ast.Constant) and isinstance(flag.value, str)]
        flag = next((flag for flag in flags if flag.startswith("--")), next(iter(flags), ""))
        field = destination.value if isinstance(destination, ast.Constant) else flag.lstrip("-").replace("-", "_")
        if isinstance(field, str) and field:
            self.parsers.append(Parser(field, *self._places.of(node), scope.name, ast.unparse(node)))

    def _record(self, kind: str, origins: list[Origin], node: ast.expr, scope: Scope) -> None:
        for origin in filter(self._typing.matters, origins):
            self.reads.append(Read(origin.root, list(origin.chain), kind, *self._places.of(node), scope.name))


def _unknown(function: str) -> list[Origin]:
    return [_UNKNOWN] if function in _OF_RECORDS else []


def _is_static(node: Function | ast.Lambda) -> bool:
    return isinstance(node, ast.Lambda) or any(dotted(item) == "staticmethod" for item in node.decorator_list)
