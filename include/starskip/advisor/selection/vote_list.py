"""Votes as selection sees them: for each independent part of a query, exclusive sets of indexes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import pyarrow as pa

from starskip.advisor.families.families import reorders
from starskip.advisor.families.index import Index, parse_index
from starskip.errors import StarskipError

IndexSet = frozenset[Index]


@dataclass(frozen=True, slots=True)
class Saving:
    """Entries saved by the night's queries, with the sums of saving² and saving times entries.

    ``priced``: saved entries by what they cost, of all entries of the queries, in filter and post filter.
    """

    entries: float
    squared: float = 0.0
    cross: float = 0.0
    priced: float = 0.0


NOTHING = Saving(0.0)


@dataclass(frozen=True, slots=True)
class VoteList:
    """One disjunct of one shape: the sets of indexes that change it, each with its saving.

    ``is_complete``: every subset of its indexes has a saving, so the effect of a chosen set on this disjunct
    is known exactly, harm included; otherwise the best listed subset of the chosen set counts. ``indexes``:
    all indexes that this disjunct votes for or against.
    """

    table: str
    shape_id: str
    disjunct: int
    alternatives: Mapping[IndexSet, Saving]
    is_complete: bool
    indexes: IndexSet = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Gather the indexes once: selection asks for them a million times."""
        object.__setattr__(self, "indexes", frozenset().union(*self.alternatives))

    def saving(self, chosen: IndexSet) -> Saving:
        """Return the saving of ``chosen`` on this disjunct."""
        if self.is_complete:
            return self.alternatives.get(chosen & self.indexes, NOTHING)
        usable = [saving for needed, saving in self.alternatives.items() if needed <= chosen]
        return max(usable, key=lambda saving: saving.entries, default=NOTHING)


def vote_lists(votes: pa.Table) -> list[VoteList]:
    """Return the vote lists of a table of schema VOTES, in its order.

    Raises StarskipError for a saving that is no number: no set could be compared with another one.
    """
    grouped: dict[tuple[str, str, int], dict[IndexSet, Saving]] = {}
    complete: dict[tuple[str, str, int], bool] = {}
    for row in votes.to_pylist():
        key = (row["table"], row["shape_id"], row["leg"])
        needed = frozenset(parse_index(text) for text in row["structures"])
        saving = Saving(
            row["saving_entries"],
            row["saving_entries_squared"],
            row["saving_entries_cross"],
            row["saving_priced_entries"],
        )
        if not isfinite(saving.entries):
            raise StarskipError(
                f"table {row['table']}: shape {row['shape_id']} votes {saving.entries} entries, which is no"
                f" number, for {', '.join(row['structures'])}; no advice can be taken from its votes"
            )
        grouped.setdefault(key, {})[needed] = saving
        complete[key] = row["is_complete"]
    return [VoteList(*key, alternatives, complete[key]) for key, alternatives in grouped.items()]


def building_lists(lists: Sequence[VoteList]) -> list[VoteList]:
    """Return the lists' votes for indexes to build: without sort orders and drops."""
    built = {item for votes in lists for item in votes.indexes if not item.is_drop and not reorders(item)}
    return lists_of(lists, built)


def lists_of(lists: Sequence[VoteList], indexes: Collection[Index]) -> list[VoteList]:
    """Return the lists' votes for sets of ``indexes`` alone."""
    allowed = frozenset(indexes)
    found = []
    for votes in lists:
        kept = {needed: saving for needed, saving in votes.alternatives.items() if needed <= allowed}
        if kept:
            found.append(replace(votes, alternatives=kept))
    return found


def order_lists(lists: Sequence[VoteList]) -> list[VoteList]:
    """Return the lists that vote for sort orders."""
    return [votes for votes in lists if any(map(reorders, votes.indexes))]


def total_saving(lists: Sequence[VoteList], chosen: Collection[Index]) -> float:
    """Return the entries that ``chosen`` saves over all lists; disjuncts add up."""
    chosen = frozenset(chosen)
    return sum(votes.saving(chosen).entries for votes in lists)
