"""A sample of a measured truth, small enough to be data of a test."""

from __future__ import annotations

from collections import Counter
from random import Random

from pinot.filters.filter_truth import COUNTERS, FilterTruth


def sampled_truth(truth: FilterTruth, queries_a_table: int) -> FilterTruth:
    """Return some queries of each table under all sets, drawn so that every kind of query is met alike."""
    document = truth.document
    chosen: dict[str, list[int]] = {}
    for table in document["tables"]:
        kinds = [query.kinds for query in truth.queries(table)]
        left = list(range(len(kinds)))
        Random(0).shuffle(left)
        seen: Counter[str] = Counter()
        taken: list[int] = []
        while left and len(taken) < queries_a_table:
            # The query whose rarest kind has been met least often is next.
            position = min(left, key=lambda each: min((seen[kind] for kind in kinds[each]), default=0))
            left.remove(position)
            taken.append(position)
            seen.update(kinds[position])
        chosen[table] = sorted(taken)
    queries = [
        query
        for table in document["tables"]
        for position, query in enumerate(each for each in document["queries"] if each["table"] == table)
        if position in set(chosen[table])
    ]
    sets = [
        {
            **each,
            **{
                counter: [each[counter][position] for position in chosen[each["table"]]]
                for counter in COUNTERS
            },
        }
        for each in document["sets"]
    ]
    return FilterTruth({**document, "queries": queries, "sets": sets})
