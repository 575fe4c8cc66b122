"""`gates schema`: the JSON Schema of the JSON report."""

from __future__ import annotations

import json

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema that every `--format json` report satisfies."""
    from reports.json_report import report_schema

    click.echo(json.dumps(report_schema(), indent=2))
