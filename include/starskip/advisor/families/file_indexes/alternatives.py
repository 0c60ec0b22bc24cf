"""Enumerate the sets of indexes that skip files for a query, with the files that each leaves to read.

They follow from one clause over all candidates, without a clause for each set. In an AND, any child may skip.
In an OR, one alternative of every child is needed, and the union of the files that these alternatives leave
is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from starskip.skipping.clause import AllOf, AnyOf, Clause
from starskip.skipping.file_metadata import FileMetadata, Mask

MAX_ALTERNATIVES = 256
"""Alternatives of a query that are kept: the alternatives that skip most."""

_Reads = dict[frozenset[str], Mask]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A set of indexes and ``read``, the files that may match by all of them together."""

    indexes: frozenset[str]
    read: Mask


@dataclass(frozen=True, slots=True)
class QuerySkips:
    """A query, its number of runs, and its alternatives; a built alternative skips what it does not ``read``.

    ``relevant``: the files that hold a matching row, if known.
    """

    query: str
    weight: float
    alternatives: tuple[Alternative, ...]
    relevant: Mask | None = None


def alternatives(clause: Clause, metadata: FileMetadata) -> tuple[Alternative, ...]:
    """Return the alternatives of a clause that was generated with the labels of all candidates.

    Each skips some file that none of its subsets skips. An index that the clause uses and that skips nothing
    is an alternative by itself that reads all files.
    """
    asked = _Asked(metadata)
    found = _reads(clause, asked)
    in_vain = sorted(asked.ever.difference(*found))
    everything = np.ones(metadata.files, np.bool_)
    return (
        *(Alternative(indexes, read) for indexes, read in found.items()),
        *(Alternative(frozenset([index]), everything) for index in in_vain),
    )


@dataclass(slots=True)
class _Asked:
    """Metadata that records the indexes whose columns a clause reads."""

    metadata: FileMetadata
    now: set[str] = field(default_factory=set)
    ever: set[str] = field(default_factory=set)

    @property
    def files(self) -> int:
        return self.metadata.files

    def column(self, index: str, name: str) -> pa.Array:
        self.now.add(index)
        self.ever.add(index)
        return self.metadata.column(index, name)


def _reads(clause: Clause, asked: _Asked) -> _Reads:
    if isinstance(clause, AllOf):
        every = (item for child in clause.clauses for item in _reads(child, asked).items())
        return _effective(_merged(every))
    if isinstance(clause, AnyOf):
        return _any_of((_reads(child, asked) for child in clause.clauses), asked.files)
    asked.now.clear()
    read = clause.may_match(asked)
    return _effective({frozenset(asked.now): read})


def _any_of(children: Iterable[_Reads], files: int) -> _Reads:
    found: _Reads = {frozenset(): np.zeros(files, np.bool_)}
    for child in children:
        pairs = (
            (indexes | others, read | other)
            for indexes, read in found.items()
            for others, other in child.items()
        )
        found = _effective(_merged(pairs))
    return found


def _merged(items: Iterable[tuple[frozenset[str], Mask]]) -> _Reads:
    """Merge equal sets: a file is skipped if one use of the indexes skips it."""
    merged: _Reads = {}
    for indexes, read in items:
        merged[indexes] = merged[indexes] & read if indexes in merged else read
    return merged


def _effective(reads: Mapping[frozenset[str], Mask]) -> _Reads:
    """Drop sets that skip no file beyond their subsets; the empty set is kept if it skips."""
    kept: _Reads = {}
    for indexes in sorted(reads, key=lambda item: (len(item), sorted(item))):
        skipped = ~reads[indexes]
        for part, read in kept.items():
            if part <= indexes:
                skipped &= read
        if skipped.any():
            kept[indexes] = reads[indexes]
    if len(kept) > MAX_ALTERNATIVES:
        best = sorted(kept, key=lambda item: (int(kept[item].sum()), len(item), sorted(item)))
        kept = {indexes: kept[indexes] for indexes in best[:MAX_ALTERNATIVES]}
    return kept
