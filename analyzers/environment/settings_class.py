"""Registries that are classes: pydantic settings, and namespaces whose attributes are the variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.environment.literals import Literals, NotLiteralError, Record
from analyzers.environment.registrations import DEFAULT, Registration

_CONFIGURATIONS = frozenset(("model_config", "Config"))
_ALIASES = ("validation_alias", "alias", "env")


def read_class(definition: ast.ClassDef, literals: Literals) -> Iterator[Registration]:
    """The variables of a class: those that pydantic derives from its fields, or its attributes' own names."""
    settings = any(_last_name(base).endswith("Settings") for base in definition.bases)
    prefix = _prefix(definition) if settings else ""
    for statement in definition.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=field), value=value, annotation=annotation):
                if settings and _is_class_variable(annotation):
                    continue
                described = _field_in(annotation)
            case ast.Assign(targets=[ast.Name(id=field)], value=value):
                described = None
            case _:
                continue
        if field in _CONFIGURATIONS or field.startswith("_"):
            continue
        record = _record(value, literals)
        if described is not None:
            record.fields.update({**_record(described, literals).fields, **record.fields})
        names = (_aliases(described or value) or [f"{prefix}{field}".upper()]) if settings else [field]
        for name in names:
            if settings or name.isupper():
                at = statement.lineno, statement.col_offset + 1
                yield Registration(name, *at, record.fields, record.computed, by_itself=settings)


def _record(value: ast.expr | None, literals: Literals) -> Record:
    if isinstance(value, ast.Call):
        record = literals.record(value)
        if "0" in record.fields:
            record.fields.setdefault(DEFAULT, record.fields.pop("0"))
        return record
    try:
        return Record({DEFAULT: literals.value(value)} if value else {}, [])
    except NotLiteralError:
        return Record({}, [DEFAULT])


def _prefix(definition: ast.ClassDef) -> str:
    """`env_prefix`, wherever pydantic takes it from."""
    found = {keyword.arg: keyword.value for keyword in definition.keywords}
    for statement in definition.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="model_config")], value=value)
                | ast.AnnAssign(target=ast.Name(id="model_config"), value=value)
            ):
                if isinstance(value, ast.Call):
                    found |= {keyword.arg: keyword.value for keyword in value.keywords}
                elif isinstance(value, ast.Dict):
                    pairs = zip(value.keys, value.values, strict=True)
                    found |= {str(key.value): inner for key, inner in pairs if isinstance(key, ast.Constant)}
            case ast.ClassDef(name="Config", body=body):
                for inner_statement in body:
                    if isinstance(inner_statement, ast.Assign) and isinstance(inner_statement.targets[0], ast.Name):
                        found[inner_statement.targets[0].id] = inner_statement.value
    prefix = found.get("env_prefix")
    return prefix.value if isinstance(prefix, ast.Constant) and isinstance(prefix.value, str) else ""


def _aliases(value: ast.expr | None) -> list[str]:
    """The names that a field states itself: those of `validation_alias`, else of `alias`."""
    if not isinstance(value, ast.Call):
        return []
    stated = {keyword.arg: keyword.value for keyword in value.keywords}
    node = next((stated[name] for name in _ALIASES if name in stated), None)
    match node:
        case ast.Constant(value=str(name)):
            return [name.upper()]
        case ast.Call(func=ast.Name(id="AliasChoices") | ast.Attribute(attr="AliasChoices"), args=choices):
            pass
        case ast.List(elts=choices) | ast.Tuple(elts=choices):
            pass
        case _:
            return []
    return [c.value.upper() for c in choices if isinstance(c, ast.Constant) and isinstance(c.value, str)]


def _field_in(annotation: ast.expr) -> ast.expr | None:
    """The `Field(...)` of `Annotated[T, Field(...)]`."""
    match annotation:
        case ast.Subscript(value=head, slice=ast.Tuple(elts=[_, *extras])) if _last_name(head) == "Annotated":
            return next((extra for extra in extras if isinstance(extra, ast.Call)), None)
    return None


def _is_class_variable(annotation: ast.expr) -> bool:
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return _last_name(head) == "ClassVar"


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
