"""Clauses: conditions over the metadata of a file ("Extensible Data Skipping", definitions 1 and 2).

A clause represents an expression: where it is false, no row of the file satisfies the expression. A file
whose metadata does not decide the clause passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from starskip.predicates.expression import Expression
from starskip.skipping.file_metadata import FileMetadata, Mask


class Clause:
    """Base class of clauses; each index type defines its own."""

    def may_match(self, metadata: FileMetadata) -> Mask:
        """Return for each file whether it may hold a row that satisfies the represented expression."""
        raise NotImplementedError

    def negation(self) -> Clause | None:
        """Return a clause that represents NOT of the same expression (definition 14), None if there is none.

        It is not the logical complement of this clause: most files hold rows of both kinds.
        """
        return None


@dataclass(frozen=True, slots=True)
class AllOf(Clause):
    """The conjunction of ``clauses``."""

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
    """The disjunction of ``clauses``."""

    clauses: tuple[Clause, ...]

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        return reduce(np.logical_or, (clause.may_match(metadata) for clause in self.clauses))


@dataclass(frozen=True, slots=True)
class NoFile(Clause):
    """The clause of a predicate that no row satisfies, such as a comparison with null."""

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        return np.zeros(metadata.files, np.bool_)


def all_of(clauses: Sequence[Clause]) -> Clause | None:
    """Return the conjunction of ``clauses``, None if there are none."""
    return AllOf(tuple(clauses)) if len(clauses) > 1 else next(iter(clauses), None)


Label = Callable[[Expression], Clause | None]
"""A filter of definition 3: returns an index's clause for one node, None if it has none."""
