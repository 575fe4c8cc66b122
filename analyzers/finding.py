"""Rules, and the findings that break them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

Trace = Callable[[], tuple[str, ...]]


class Rule(Struct, frozen=True):
    """One rule and its page: what `gates explain CODE` prints and docs/rules/CODE.md holds."""

    code: str
    name: str
    """Kebab-case, unique: the name a person uses for it."""
    what: str
    why: str
    bad: str
    """An example that breaks the rule, as Markdown."""
    good: str
    """The same example put right, as Markdown."""
    fix: str


class Finding(Struct, frozen=True):
    """One place where one rule is broken.

    `rule`, `path`, `symbol` and `subject` say which violation it is; the position only says where it stands
    today. `fingerprint` is empty until `identify` has seen all findings of a run.
    """

    rule: str
    path: str
    """POSIX, relative to the root."""
    line: int
    """1-based; 0 when the finding is about the file as a whole."""
    column: int
    """1-based, in characters; 0 when there is none."""
    symbol: str
    """Dotted name of the enclosing function or class inside its file; empty at module level."""
    subject: str
    """What is wrong, in a form that survives edits elsewhere: an imported module, a link target, a name."""
    message: str
    hint: str = ""
    amount: int = 0
    """How bad it is, where that can be measured, such as lines; 0 when the finding has no size."""
    fingerprint: str = ""
    trace: Trace | None = None
    """Computes supporting lines (such as an import chain) when somebody looks at the finding."""


identity_of = attrgetter("rule", "path", "symbol", "subject")
"""Which violation a finding is about."""
place_of = attrgetter("rule", "path", "line", "column", "symbol", "subject")
"""Which violation, and where it stands today: all that tells two findings apart."""


class Violation(Protocol):
    """What a finding has in common with the entry of a baseline that accepts it."""

    @property
    def rule(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def amount(self) -> int: ...


@cache
def fingerprint(rule: str, path: str, symbol: str, subject: str, ordinal: int) -> str:
    """Sixteen hexadecimal digits for one site; `ordinal` counts, from 0, the sites that agree in the rest.

    Remembered, since a run asks for each site's twice: for the finding and for the entry that accepts it.
    """
    identity = f"{rule}\0{path}\0{symbol}\0{subject}\0{ordinal}"
    return blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def fingerprints(violations: Sequence[Violation]) -> list[str]:
    """The fingerprint of each: those that agree in rule, path, symbol and subject are numbered, the largest first."""
    found = [""] * len(violations)
    seen: dict[tuple[str, str, str, str], int] = {}
    for index in sorted(range(len(violations)), key=lambda index: -violations[index].amount):
        identity = identity_of(violations[index])
        ordinal = seen.get(identity, 0)
        seen[identity] = ordinal + 1
        found[index] = fingerprint(*identity, ordinal)
    return found


def identify(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order of place, each with its fingerprint.

    The fingerprint hashes rule, path, symbol, subject and, among findings that agree in all four, the
    ordinal: lines may move freely, yet each site counts on its own. Of findings that agree the largest come
    first, so that neither their order in the file nor one that goes makes another seem to have grown.
    """
    ordered = sorted(findings, key=place_of)
    digests = fingerprints(ordered)
    return [replace(finding, fingerprint=digest) for finding, digest in zip(ordered, digests, strict=True)]
