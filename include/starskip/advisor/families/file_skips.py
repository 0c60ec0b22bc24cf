"""Savings of indexes of files: rows that queries no longer have to read, by sets of indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starskip.advisor.families.index import Index

IndexSets = frozenset[frozenset[Index]]
"""Sets of indexes, each of which skips the same files; none of them contains another one."""


@dataclass(frozen=True, slots=True)
class FileSkips:
    """One family's offer of indexes of files for one table, with the terms of the choice.

    ``saving_entries``: by sets of indexes, the rows of the files that each of the sets skips, times the
    queries. A row that a query need not read is one entry less to scan, so these savings compare with the
    savings of indexes on columns. ``must_gain_entries``: by candidate, its least saving; the least saving of
    an index of the last choice is smaller. ``size_bytes``: by candidate, where the size is known.
    ``max_bytes``: for all candidates together.
    """

    family: str
    saving_entries: Mapping[IndexSets, float] = field(default_factory=dict)
    must_gain_entries: Mapping[Index, float] = field(default_factory=dict)
    size_bytes: Mapping[Index, float] = field(default_factory=dict)
    max_bytes: float | None = None
