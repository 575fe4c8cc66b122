"""The names that a file gets at as attributes of anything: what may be a read of a field that no type gives away."""

from __future__ import annotations

from dataclasses import dataclass

from analyzers.source import Source

_VERSION = 1
"""Goes up whenever the same text may give other facts."""


@dataclass(frozen=True)
class AttributeNamesExtractor:
    """Finds the names of attributes; it depends on no setting."""

    kind: str = f"attribute-names@{_VERSION}"

    def extract(self, source: Source) -> str:
        """The names, in order, separated by spaces."""
        from analyzers.configuration.attribute_reader import attribute_names

        return " ".join(sorted(attribute_names(source.text)))
