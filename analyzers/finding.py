"""Rules, and the findings that break them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from operator import attrgetter

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


@cache
def fingerprint(rule: str, path: str, symbol: str, subject: str, ordinal: int) -> str:
    """Sixteen hexadecimal digits for one site; `ordinal` counts, from 0, the sites that agree in the rest.

    Remembered, since a run asks for each site's twice: for the finding and for the entry that accepts it.
    """
    identity = f"{rule}\0{path}\0{symbol}\0{subject}\0{ordinal}"
    return blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def identify(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order of place, each with its fingerprint.

    The fingerprint hashes rule, path, symbol, subject and, among findings that agree in all four, the
    ordinal: lines may move freely, yet each site counts on its own. Of findings that agree the largest come
    first, so that neither their order in the file nor one that goes makes another seem to have grown.
    """
    ordered = sorted(findings, key=place_of)
    seen: dict[tuple[str, str, str, str], int] = {}
    for index in sorted(range(len(ordered)), key=lambda index: -ordered[index].amount):
        identity = identity_of(ordered[index])
        ordinal = seen.get(identity, 0)
        seen[identity] = ordinal + 1
        ordered[index] = replace(ordered[index], fingerprint=fingerprint(*identity, ordinal))
    return ordered
