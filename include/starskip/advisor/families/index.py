"""An index that could be built, or the drop of a present index."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

DROP_PREFIX = "without_"
"""Prefix of the family's name where artefacts write the drop of an index; no family's name begins with it."""


@dataclass(frozen=True, slots=True, order=True)
class Index:
    """An index of ``family`` on ``column``; with ``is_drop`` the drop of that index."""

    family: str
    column: str
    is_drop: bool = False

    def __str__(self) -> str:
        """Return the form that artefacts keep, ``family:column`` or ``without_family:column``."""
        return f"{DROP_PREFIX if self.is_drop else ''}{self.family}:{self.column}"

    @property
    def dropped(self) -> Index | None:
        """The index that a drop removes; None for an index to build."""
        return replace(self, is_drop=False) if self.is_drop else None


def drop_of(index: Index) -> Index:
    """Return the drop of ``index``."""
    return replace(index, is_drop=True)


def parse_index(text: str) -> Index:
    """Return the index that ``str`` writes."""
    family, _, column = text.partition(":")
    return Index(family.removeprefix(DROP_PREFIX), column, family.startswith(DROP_PREFIX))


def by_column(indexes: Collection[Index]) -> Mapping[str, tuple[Index, ...]]:
    """Return the indexes by their column, in order of their families."""
    found: dict[str, tuple[Index, ...]] = {}
    for item in sorted(indexes):
        found[item.column] = (*found.get(item.column, ()), item)
    return found
