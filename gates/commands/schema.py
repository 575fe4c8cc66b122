"""`gates schema`: the JSON Schemas of what the suite writes and reads as JSON."""

from __future__ import annotations

import json

import click

from analyzers.evidence.kinds import Kind

_DOCUMENTS = ("report", "debt", Kind.OBSERVED.value, Kind.MEASURED.value)


@click.command("schema")
@click.argument("document", type=click.Choice(_DOCUMENTS), default="report")
def command(document: str) -> None:
    """Print a JSON Schema: of the JSON report, of `gates layering --report --format json` (debt), or of an artifact
    that `gates evidence` takes."""
    from analyzers.evidence.artifacts import artifact_schema
    from reports.debt_json import debt_schema
    from reports.json_report import report_schema

    schemas = {"report": report_schema, "debt": debt_schema}
    schema = schemas[document]() if document in schemas else artifact_schema(Kind(document))
    click.echo(json.dumps(schema, indent=2))
