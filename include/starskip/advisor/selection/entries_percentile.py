"""The entries that a typical query would scan once a set is built.

Source: Automated Inverted Index Recommendation, III.1.

``desirableNumEntriesScannedInFilter`` asks how many indexes it takes to bring queries below a threshold. The
percentile is taken over the shapes, each weighted by its queries and standing at its mean: the differences
between the queries of a shape are not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from starskip.advisor.families.index import Index
from starskip.advisor.selection.vote_list import VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries


@dataclass(frozen=True, slots=True)
class DesirableEntries:
    """At most ``entries`` a query, for the share ``probability`` of all queries.

    ``lists``: votes in entries, by which it is judged; None where the choice itself is made by such votes.
    """

    entries: float
    probability: float
    shapes: Mapping[str, ShapeEntries]
    lists: Sequence[VoteList] | None = None


def entries_percentile(
    lists: Sequence[VoteList],
    chosen: Collection[Index],
    shapes: Mapping[str, ShapeEntries],
    probability: float,
) -> float:
    """Return the entries that a share ``probability`` of queries stays within, with ``chosen`` built."""
    if not shapes:
        return 0.0
    saved = dict.fromkeys(shapes, 0.0)
    built = frozenset(chosen)
    for votes in lists:
        if votes.shape_id in saved:
            saved[votes.shape_id] += votes.saving(built).entries
    queries = np.array([shape.queries for shape in shapes.values()])
    entries = np.array([shape.entries for shape in shapes.values()]) - np.array(list(saved.values()))
    means = np.maximum(entries, 0.0) / np.maximum(queries, 1e-12)
    order = np.argsort(means, kind="stable")
    reached = np.cumsum(queries[order]) / max(queries.sum(), 1e-12)
    position = int(np.searchsorted(reached, probability - 1e-12))
    return float(means[order][min(position, len(order) - 1)])
