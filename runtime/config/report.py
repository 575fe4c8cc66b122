"""The effective policy of an engine, ready for JSON: every value, and why it is that one."""

from __future__ import annotations

from dataclasses import asdict

from runtime.config.aliases import variables_of
from runtime.config.fields import FieldSpec
from runtime.config.hashing import compute_hash
from runtime.config.provenance import Candidate, Provenance, Resolved
from runtime.config.schema import FIELDS


def runtime_policy_report(resolved: Resolved) -> dict[str, object]:
    """The hash of the computation, and for each owner path its value, source, variables and what it overrode."""
    settings = {path: _setting(spec, resolved.provenance[path]) for path, spec in FIELDS.items()}
    return {"compute_hash": compute_hash(resolved.config), "settings": settings}


def _setting(spec: FieldSpec, provenance: Provenance) -> dict[str, object]:
    return {
        **_candidate(provenance.chosen),
        "help": spec.help,
        "variables": variables_of(spec.path),
        "diagnostic": spec.diagnostic,
        "overridden": [_candidate(candidate) for candidate in provenance.overridden],
    }


def _candidate(candidate: Candidate) -> dict[str, object]:
    described = asdict(candidate)
    if isinstance(candidate.value, tuple):
        described["value"] = list(candidate.value)
    return described
