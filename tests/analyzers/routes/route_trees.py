"""Small trees, and a reader of what they declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from analyzers.declarations.modules import DeclaredModule
from analyzers.declarations.outline_reader import outline_of
from analyzers.declarations.reader import Reader
from analyzers.finding import Finding
from analyzers.routes.tables import TableReading

ReadTable = Callable[..., TableReading]
Judge = Callable[..., list[Finding]]


def reader_of(files: Mapping[str, str]) -> Reader:
    python = [path for path in files if path.endswith(".py")]
    names = {path: path.removesuffix(".py").replace("/", ".") for path in python}
    modules = {names[path]: DeclaredModule(names[path], path, outline_of(files[path])) for path in python}
    return Reader(modules, lambda name: name.startswith("torch."))
