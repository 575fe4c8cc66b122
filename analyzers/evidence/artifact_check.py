"""EVD006 to EVD010: whether the artifacts of a row are what it claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from analyzers.errors import UserError
from analyzers.evidence.artifacts import ArtifactError, Machine, digest_of, parse_reference, read_artifact
from analyzers.evidence.body import Cell, Row
from analyzers.evidence.kinds import Kind
from analyzers.evidence.policy import EvidencePolicy
from analyzers.evidence.rules import BROKEN_ARTIFACT, NO_ARTIFACT, OTHER_DEVICE, OTHER_FILE, OTHER_KIND
from analyzers.finding import Rule

_NONE = frozenset(("none", "no", "-", "\u2013", "\u2014", "n/a"))

_PATIENCE = 2
"""Seconds for one pattern of the settings in one cell."""


class Objection(NamedTuple):
    """A rule that a cell breaks, and how."""

    rule: Rule
    cell: Cell
    message: str


def check_artifacts(
    policy: EvidencePolicy, row: Row, kind: Kind, read: Callable[[str], bytes | None]
) -> Iterator[Objection]:
    """What is wrong with the artifacts of a row that claims evidence of some kind."""
    cell = row.artifact
    if cell.text.casefold() in _NONE:
        if kind is not Kind.PLAN:
            yield Objection(NO_ARTIFACT, cell, f"{kind.words} needs an artifact, and there is none")
        return
    for word in filter(None, re.split(r"[\s,;]+", cell.text)):
        yield from _check(policy, row, kind, word, read)


def _check(
    policy: EvidencePolicy, row: Row, kind: Kind, word: str, read: Callable[[str], bytes | None]
) -> Iterator[Objection]:
    cell = row.artifact
    reference = parse_reference(word)
    if reference is None:
        yield Objection(OTHER_FILE, cell, f"{word!r} is not written `path@sha256:DIGEST`")
        return
    data = read(reference.path)
    if data is None:
        yield Objection(OTHER_FILE, cell, f"the tree holds no file {reference.path}")
        return
    digest = digest_of(data)
    if digest != reference.digest:
        yield Objection(OTHER_FILE, cell, f"{reference.path} has the SHA-256 {digest}, not {reference.digest}")
        return
    try:
        artifact = read_artifact(data)
    except ArtifactError as error:
        yield Objection(BROKEN_ARTIFACT, cell, f"{reference.path}: {error}")
        return
    if artifact.kind is not kind:
        message = f"the row claims {kind.words}, and {reference.path} is {artifact.kind.words}"
        yield Objection(OTHER_KIND, row.evidence, message)
    elif artifact.machine is not None:
        yield from _device(policy, row.conditions, artifact.machine, reference.path)


def _finds(name: str, pattern: str, text: str) -> bool:
    import regex

    try:
        return regex.search(pattern, text, timeout=_PATIENCE) is not None
    except TimeoutError:
        raise UserError(f"evidence.devices.{name}: the pattern takes too long: simplify it") from None


def _says(cell: Cell, words: str) -> bool:
    """Whether a cell holds some words as they are, in any case, and not as a part of others: no `cpu` in `cpuset`."""
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", cell.text, re.IGNORECASE) is not None


def _device(policy: EvidencePolicy, conditions: Cell, machine: Machine, path: str) -> Iterator[Objection]:
    """Whether a row says what an artifact is of, and claims no more."""
    claimed = {name for name, pattern in policy.devices.items() if _finds(name, pattern, conditions.text)}
    true = {name for name, pattern in policy.devices.items() if _finds(name, pattern, machine.device)}
    if wrong := sorted(claimed - true):
        yield Objection(OTHER_DEVICE, conditions, f"the row says {', '.join(wrong)}, and {path} is of {machine.device}")
    elif not claimed and not _says(conditions, machine.device):
        yield Objection(OTHER_DEVICE, conditions, f"{path} is of {machine.device}, and the row does not say so")
    if machine.interpreted and not _says(conditions, "interpreter"):
        yield Objection(OTHER_DEVICE, conditions, f"{path} is of an interpreter, and the row does not say so")
