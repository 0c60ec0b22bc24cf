"""The sets of indexes that the cost model, over all rows and all queries, takes for the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, combinations

import numpy as np
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.replayed_day import ReplayedDay, Structures, named_by
from starskip.advisor.families.index import Index

WIDE = 24
"""Most indexes of which all sets are made; larger sets of more are made of those in the best smaller ones."""

Predicted = Callable[[GeneratedQuery, Structures], float | None]


class EnumeratedSets:
    """Every set of up to some size of the indexes, with the saving that is predicted for it."""

    def __init__(self, day: ReplayedDay, indexes: Sequence[Index], predicted: Predicted) -> None:
        """Take what predicts the entries of a query under a set, None where it is not understood."""
        self._structures = tuple(indexes)
        named = {query: named_by(query, frozenset(indexes)) for query in day.queries}
        entries = cache(predicted)
        # A query that is not understood stays as it is, whatever is built.
        self._cost: Callable[[GeneratedQuery, Structures], float] = lambda query, built: (
            day.queries[query] * (entries(query, built & named[query]) or 0.0)
        )
        self._queries = tuple(day.queries)

    def best(self, size: int, count: int) -> list[Structures]:
        """Return the ``count`` sets of ``size`` that save most, the best one first."""
        candidates = self._structures
        if size > 1 and len(candidates) > WIDE:
            smaller = chain.from_iterable(self.best(each, WIDE // 2) for each in range(1, size))
            candidates = tuple(sorted(frozenset().union(*smaller)))
        sets = [frozenset(each) for each in combinations(candidates, size)]
        order = np.argsort([self._cost_of(each) for each in sets], kind="stable")
        return [sets[position] for position in order[:count]]

    def saving(self, indexes: Structures) -> float:
        """Return the predicted share of the entries that are predicted without index."""
        return 1 - self._cost_of(indexes) / self._cost_of(frozenset())

    def _cost_of(self, indexes: Structures) -> float:
        return sum(self._cost(query, indexes) for query in self._queries)
