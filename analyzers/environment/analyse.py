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
