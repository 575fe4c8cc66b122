"""What git leaves in a file when a merge stops."""

from __future__ import annotations

import re

_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)


def conflict_line(text: str) -> int:
    """The line, 1-based, of the first marker of an unresolved merge conflict; 0 where there is none."""
    marker = _MARKER.search(text)
    return text.count("\n", 0, marker.start()) + 1 if marker else 0
