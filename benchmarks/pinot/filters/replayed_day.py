"""A day of queries asked of a real Pinot under sets of indexes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.index_sets import IndexSet
from pinot.running_pinot import PinotFailed, RunningPinot
from starskip.advisor.families.index import Index

Structures = frozenset[Index]
_WORD = re.compile(r"\w+")


def index_set(table: str, indexes: Structures) -> IndexSet:
    """Return the set as the bench's other programs name it."""
    columns = {
        kind: tuple(sorted(each.column for each in indexes if each.family == kind))
        for kind in ("inverted", "range")
    }
    return IndexSet(table, table, columns["inverted"], columns["range"])


def named_by(query: GeneratedQuery, indexes: Structures) -> Structures:
    """Return the indexes on columns that the query names; the other ones change nothing for it."""
    words = set(_WORD.findall(query.sql))
    return frozenset(each for each in indexes if each.column in words)


@dataclass(slots=True)
class ReplayedDay:
    """``queries``: each once, with how often the day asked it; ``entries`` of each without index."""

    table: str
    queries: Mapping[GeneratedQuery, int]
    entries: Mapping[GeneratedQuery, float]
    _costs: dict[Structures, float] = field(default_factory=dict)

    @property
    def measured(self) -> Mapping[Structures, float]:
        """The share of the day's entries in filter that each set replayed so far saves."""
        total = sum(count * self.entries[query] for query, count in self.queries.items())
        return {indexes: 1 - cost / total for indexes, cost in self._costs.items()}

    def replay(
        self, pinot: RunningPinot, build: Callable[[IndexSet], None], sets: Sequence[Structures]
    ) -> None:
        """Build each set that was not yet, and ask every query under it, each once."""
        for indexes in sets:
            if indexes in self._costs:
                continue
            build(index_set(self.table, indexes))
            self._costs[indexes] = sum(
                count * pinot.ask(query.sql).entries_in_filter for query, count in self.queries.items()
            )


def ask_day(pinot: RunningPinot, table: str, day: Sequence[GeneratedQuery]) -> ReplayedDay:
    """Ask the day's queries in their order; those that Pinot refuses are left out."""
    entries: dict[GeneratedQuery, list[int]] = {}
    for query in day:
        try:
            found = pinot.ask(query.sql).entries_in_filter
        except PinotFailed as error:
            # The broker logs such a query too, without entries.
            print(f"left out: {str(error)[:300]}")
            continue
        entries.setdefault(query, []).append(found)
    counts = Counter(query for query in day if query in entries)
    return ReplayedDay(table, counts, {query: fmean(found) for query, found in entries.items()})
