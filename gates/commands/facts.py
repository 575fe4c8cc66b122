"""`gates facts`: what was read from each file, before any rule looks at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from analyzers.decoding import decode
from analyzers.doclinks.policy import DocsPolicy
from analyzers.errors import UserError
from analyzers.markdown.extractor import is_markdown
from analyzers.source import Problem, Source
from gates.commands.options import root_option
from gates.settings.load import find_root, load


@click.command("facts")
@root_option
@click.option("--json", "as_json", is_flag=True, help="Print a list with one object for each file.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(root: Path | None, as_json: bool, files: tuple[Path, ...]) -> int:
    """Print what the analysers read from FILES: imports, environment uses, anchors and links.

    Exit status 1 when a file is not what it claims to be, such as Python that does not parse.
    """
    found = root if root is not None else find_root(Path.cwd())
    policy = (load(found.resolve()).settings.docs if found is not None else None) or DocsPolicy()
    base = (found or Path.cwd()).resolve()
    records, problems = [], []
    for file in files:
        record, problem = _record(file, base, policy)
        records.append(record)
        if problem is not None:
            problems.append(f"{record['path']}:{problem.line}:{problem.column} {problem.rule} {problem.message}")
    click.echo(json.dumps(records, indent=2, ensure_ascii=False) if as_json else "\n".join(map(_lines, records)))
    for problem_line in problems:
        click.echo(problem_line, err=True)
    return 1 if problems else 0


def _record(file: Path, base: Path, policy: DocsPolicy) -> tuple[dict[str, Any], Problem | None]:
    full = file.resolve()
    path = full.relative_to(base).as_posix() if full.is_relative_to(base) else file.as_posix()
    record: dict[str, Any] = {"path": path, "imports": [], "env": [], "anchors": [], "links": []}
    try:
        text = decode(path, full.read_bytes())
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    if isinstance(text, Problem):
        return record, text
    if path.endswith((".py", ".pyi")):
        return record, _read_python(Source(path, text), record)
    if is_markdown(path):
        _read_markdown(Source(path, text), policy, record)
    return record, None


def _read_python(source: Source, record: dict[str, Any]) -> Problem | None:
    from analyzers.python.facts import ImportFlag
    from analyzers.python.structure import read_python
    from analyzers.python.syntax import check_syntax

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
    return check_syntax({source.path: source.text}).get(source.path)


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
    lines += [f"         anchor  #{anchor}" for anchor in record["anchors"]]
    lines += [f"  {link['line']:>5}  link    {link['target']}" for link in record["links"]]
    return "\n".join(lines)
