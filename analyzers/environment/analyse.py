"""From facts to findings: the one entrance of the environment analyser."""

from __future__ import annotations

from analyzers.environment.check_registries import check_registries
from analyzers.environment.check_uses import check_documents, check_reads, check_statements, check_uses
from analyzers.environment.inventory import Inventory
from analyzers.finding import Finding


def analyse(inventory: Inventory) -> list[Finding]:
    """Everything that breaks a rule, without fingerprints and in no particular order."""
    return [
        *check_uses(inventory),
        *check_statements(inventory),
        *check_reads(inventory),
        *check_registries(inventory),
        *check_documents(inventory),
    ]


def stale_page(path: str, generated: str, found: str | None) -> list[Finding]:
    """Report a reference page that is not what the registries say.

    Args:
        path: the page.
        generated: what it should be.
        found: what it is; None where there is none.
    """
    if found == generated:
        return []
    message = (
        "the reference page does not exist" if found is None else "the reference page is not what the registries say"
    )
    return [Finding("ENV015", path, 0, 0, "", "stale", message, "Run `gates env --write`, and commit the page.")]
