"""What stands below a line of a module, up to the next statement of the module itself."""

from __future__ import annotations

import re

_STATEMENT = re.compile(rb"\n(?=[^\s#)\]}])")


def block_after(data: bytes, start: int) -> bytes:
    """The lines from `start` on that are indented, empty, a comment or a closing bracket."""
    end = _STATEMENT.search(data, start)
    return data[start : end.start() + 1 if end else len(data)]
