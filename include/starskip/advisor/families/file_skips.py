"""Savings of indexes of files: rows that queries no longer have to read, by sets of indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starskip.advisor.families.index import Index

IndexSets = frozenset[frozenset[Index]]
"""Sets of indexes, any of which spares the same files; none of them contains another one."""


@dataclass(frozen=True, slots=True)
class FileSkips:
    """One family's offer of indexes of files for one table, with the terms of the choice.

    ``saving_entries``: by sets of indexes, the rows of the files that any of them spares, times the queries.
    A row that a query need not read is one entry less to scan, so these stand beside what indexes on columns
    save. ``must_gain_entries``: by candidate, what it must save, less what one of the last choice may save
    less than others. ``size_bytes``: of those whose size is known. ``max_bytes``: for all of them together.
    """

    family: str
    saving_entries: Mapping[IndexSets, float] = field(default_factory=dict)
    must_gain_entries: Mapping[Index, float] = field(default_factory=dict)
    size_bytes: Mapping[Index, float] = field(default_factory=dict)
    max_bytes: float | None = None
