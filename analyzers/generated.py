"""Pages that a gate generates from source and then watches."""

from __future__ import annotations

from itertools import zip_longest

from analyzers.finding import Finding

WRITE_REFERENCE = "gates reference --write"
WRITE_ENVIRONMENT = "gates env --write"


def generated_mark(command: str) -> str:
    """The words by which a page says what writes it, and by which that knows its own pages."""
    return f"`{command}` generates this page"


def stale_page(rule: str, path: str, generated: str, found: str | None, command: str) -> list[Finding]:
    """Report a page that is not what it would be if it were generated now.

    Args:
        rule: the code to report it under.
        path: the page.
        generated: what it should be.
        found: what it is; None where there is none.
        command: what writes it.
    """
    if found == generated:
        return []
    hint = f"Run `{command}`, and commit the page."
    if found is None:
        return [Finding(rule, path, 0, 0, "", "stale", "the generated page does not exist", hint)]
    message = "the generated page is not what the source says, from this line on"
    return [Finding(rule, path, _first_difference(generated, found), 0, "", "stale", message, hint)]


def _first_difference(generated: str, found: str) -> int:
    """The first line, 1-based, that two different texts do not share."""
    pairs = zip_longest(found.split("\n"), generated.split("\n"))
    return next(number for number, (line, wanted) in enumerate(pairs, start=1) if line != wanted)
