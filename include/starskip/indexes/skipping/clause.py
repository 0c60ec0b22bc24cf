"""Conditions over a file's metadata that hold for each file with a matching row (seed 003, definitions 1, 2).

A clause represents an expression: where it is false, no row of the file satisfies the expression. What a
clause does not know it lets through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from starskip.indexes.skipping.file_metadata import FileMetadata, Mask


class Clause:
    """A condition; index types define their own."""

    def may_match(self, metadata: FileMetadata) -> Mask:
        """Return for each file whether it may hold a row that satisfies what this clause represents."""
        raise NotImplementedError

    def negation(self) -> Clause | None:
        """Return a clause that represents NOT of the same expression (definition 14), None if none is known.

        Not the opposite of this one: most files hold rows of both kinds.
        """
        return None


@dataclass(frozen=True, slots=True)
class AllOf(Clause):
    """A file must satisfy each of ``clauses``."""

    clauses: tuple[Clause, ...]

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        found = np.ones(metadata.files, np.bool_)
        for clause in self.clauses:
            found &= clause.may_match(metadata)
            if not found.any():
                break
        return found


@dataclass(frozen=True, slots=True)
class AnyOf(Clause):
    """A file must satisfy one of ``clauses``."""

    clauses: tuple[Clause, ...]

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        return reduce(np.logical_or, (clause.may_match(metadata) for clause in self.clauses))


@dataclass(frozen=True, slots=True)
class NoFile(Clause):
    """What no row satisfies, such as a comparison with null."""

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        return np.zeros(metadata.files, np.bool_)


def all_of(clauses: Sequence[Clause]) -> Clause | None:
    """Return one clause for all, None if there are none."""
    return AllOf(tuple(clauses)) if len(clauses) > 1 else next(iter(clauses), None)
