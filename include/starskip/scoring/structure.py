"""A structure that could be built: an index of a kind on a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Structure:
    """``kind``: "inverted" or "sorted" (later families add theirs); ``column``: what it is built on."""

    kind: str
    column: str

    def __str__(self) -> str:
        """Return the form that artefacts keep, ``kind:column``."""
        return f"{self.kind}:{self.column}"


def parse_structure(text: str) -> Structure:
    """Return the structure that ``kind:column`` names."""
    kind, _, column = text.partition(":")
    return Structure(kind, column)
