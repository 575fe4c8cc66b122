"""The one exception that ends a run with status 2."""

from __future__ import annotations


class UserError(Exception):
    """Settings, arguments or surroundings are wrong. The text names the file, the place and the remedy."""
