"""What a star-tree must hold to answer a query (seed 001, "Metadata check")."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.indexes.star_tree.aggregation_query import AggregationQuery
from starskip.indexes.star_tree.measure import Measure


@dataclass(frozen=True, slots=True)
class TreeDemand:
    """Columns in the order of the text, without repetition; spelt as the query spells them, or as the table.

    ``predicate_columns`` and ``group_by_columns`` must be in the split order (a column may be in both),
    ``measures`` in the documents.
    """

    predicate_columns: tuple[str, ...]
    group_by_columns: tuple[str, ...]
    measures: tuple[Measure, ...]


def tree_demand(query: AggregationQuery) -> TreeDemand:
    """Return what the first tree that fits ``query`` has."""
    return TreeDemand(
        predicate_columns=tuple(dict.fromkeys(c.column for c in query.conjuncts if c.column is not None)),
        group_by_columns=tuple(dict.fromkeys(group.column for group in query.group_by)),
        measures=tuple(dict.fromkeys(item for call in query.aggregates for item in call.measures)),
    )
