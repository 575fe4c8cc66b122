"""`gates facts`: what was read from each file, before any rule looks at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from analyzers.decoding import decode
from analyzers.doclinks.policy import DocsPolicy
from analyzers.environment.extractor import SUFFIXES, UsesExtractor
from analyzers.environment.policy import EnvironmentPolicy
from analyzers.errors import UserError
from analyzers.markdown.extractor import is_markdown
from analyzers.source import Problem, Source
from gates.commands.options import root_option
from gates.settings.load import find_root, load
from gates.settings.model import Settings, settings_model


@click.command("facts")
@root_option
@click.option("--json", "as_json", is_flag=True, help="Print a list with one object for each file.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(root: Path | None, as_json: bool, files: tuple[Path, ...]) -> int:
    """Print what the analysers read from FILES: imports, environment uses, anchors and links.

    Exit status 1 when a file is not what it claims to be, such as Python that does not parse.
    """
    found = root if root is not None else find_root(Path.cwd())
    settings = load(found.resolve()).settings if found is not None else settings_model(())()
    base = (found or Path.cwd()).resolve()
    read = {_shown(file, base): _read(file) for file in files}
    records = [_record(path, text, settings) for path, text in read.items()]
    click.echo(json.dumps(records, indent=2, ensure_ascii=False) if as_json else "\n".join(map(_lines, records)))
    problems = _problems(read)
    for path, problem in problems.items():
        click.echo(f"{path}:{problem.line}:{problem.column} {problem.rule} {problem.message}", err=True)
    return 1 if problems else 0


def _shown(file: Path, base: Path) -> str:
    """Relative to the root where the file is below it, and else as it was named."""
    full = file.resolve()
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else file.as_posix()


def _read(file: Path) -> str | Problem:
    if not file.is_file():
        raise UserError(f"{file}: not a regular file")
    try:
        return decode(file.name, file.read_bytes())
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None


def _problems(read: Mapping[str, str | Problem]) -> dict[str, Problem]:
    """Why files are not what they claim to be."""
    from analyzers.python.syntax import check_syntax

    python = {path: text for path, text in read.items() if isinstance(text, str) and path.endswith((".py", ".pyi"))}
    return {path: text for path, text in read.items() if isinstance(text, Problem)} | check_syntax(python)


def _record(path: str, text: str | Problem, settings: Settings) -> dict[str, Any]:
    record: dict[str, Any] = {"path": path, "imports": [], "env": [], "anchors": [], "links": []}
    if isinstance(text, str):
        _read_environment(Source(path, text), settings.env, record)
    if isinstance(text, str) and path.endswith((".py", ".pyi")):
        _read_python(Source(path, text), record)
    elif isinstance(text, str) and is_markdown(path):
        _read_markdown(Source(path, text), settings.docs or DocsPolicy(), record)
    return record


def _read_environment(source: Source, policy: EnvironmentPolicy | None, record: dict[str, Any]) -> None:
    from analyzers.environment.uses import FileUses

    if source.path.endswith(SUFFIXES):
        found = FileUses.from_json(UsesExtractor(policy.wrappers if policy else ()).extract(source))
        record["env"] = [{"name": use.name, "access": use.access, "line": use.line} for use in found.uses]


def _read_python(source: Source, record: dict[str, Any]) -> None:
    from analyzers.python.facts import ImportFlag
    from analyzers.python.structure import read_python

    for found in read_python(source).imports:
        flags = [flag.name.lower() for flag in ImportFlag if found.flags & flag and flag.name]
        record["imports"].append(
            {
                "module": "." * found.level + found.module,
                "names": found.names,
                "line": found.line,
                "column": found.column,
                "flags": flags,
            }
        )


def _read_markdown(source: Source, policy: DocsPolicy, record: dict[str, Any]) -> None:
    from analyzers.doclinks.policy import dialect_of
    from analyzers.markdown.extractor import MarkdownExtractor

    facts = MarkdownExtractor(dialect_of(policy, source.path)).extract(source)
    record["anchors"] = list(facts.anchors)
    record["links"] = [{"target": link.target, "line": link.line} for link in facts.links]


def _lines(record: dict[str, Any]) -> str:
    """One file's record for a person."""
    lines = [record["path"]]
    for found in record["imports"]:
        flags = f"  ({', '.join(found['flags'])})" if found["flags"] else ""
        names = f" import {', '.join(found['names'])}" if found["names"] else ""
        lines.append(f"  {found['line']:>5}  import  {found['module']}{names}{flags}")
    lines += [f"  {use['line']:>5}  env     {use['name']}  ({use['access']})" for use in record["env"]]
    lines += [f"         anchor  #{anchor}" for anchor in record["anchors"]]
    lines += [f"  {link['line']:>5}  link    {link['target']}" for link in record["links"]]
    return "\n".join(lines)
