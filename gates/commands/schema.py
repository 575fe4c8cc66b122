"""`gates schema`: the JSON Schemas of what the suite writes as JSON."""

from __future__ import annotations

import json

import click


@click.command("schema")
@click.argument("document", type=click.Choice(("report", "debt")), default="report")
def command(document: str) -> None:
    """Print a JSON Schema: of the JSON report, or of `gates layering --report --format json` (debt)."""
    from reports.debt_json import debt_schema
    from reports.json_report import report_schema

    schema = report_schema() if document == "report" else debt_schema()
    click.echo(json.dumps(schema, indent=2))
