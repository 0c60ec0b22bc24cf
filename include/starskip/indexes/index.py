"""A structure that could be built, or one that could go: an index of a kind on a column."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

_WITHOUT = "without_"


@dataclass(frozen=True, slots=True, order=True)
class Structure:
    """``kind``: "inverted", "range", "sorted" (later families add theirs); ``column``: what it is built on.

    Kind "without_inverted" (or "without_range") stands for dropping the index that is there.
    """

    kind: str
    column: str

    def __str__(self) -> str:
        """Return the form that artefacts keep, ``kind:column``."""
        return f"{self.kind}:{self.column}"

    @property
    def removed(self) -> Structure | None:
        """The structure that this one drops, or None if it is one to build."""
        if self.kind.startswith(_WITHOUT):
            return Structure(self.kind.removeprefix(_WITHOUT), self.column)
        return None


def removal(structure: Structure) -> Structure:
    """Return the dropping of ``structure`` as a structure of its own."""
    return Structure(_WITHOUT + structure.kind, structure.column)


def parse_structure(text: str) -> Structure:
    """Return the structure that ``kind:column`` names."""
    kind, _, column = text.partition(":")
    return Structure(kind, column)


def by_column(structures: Collection[Structure]) -> Mapping[str, tuple[Structure, ...]]:
    """Return the structures by their column, in order of their kinds."""
    found: dict[str, tuple[Structure, ...]] = {}
    for item in sorted(structures):
        found[item.column] = (*found.get(item.column, ()), item)
    return found
