"""The two baselines, strategies frequency and parser: a score a column.

Seed 000 (II.2, and ``-strategy freq`` of its tool); ranks only, without joint choice.
"""

from __future__ import annotations

from collections.abc import Iterable

from starskip.scoring.parser_selectivity import INVERTED_ORDER, best_keys, parser_keys, surviving_ratio
from starskip.scoring.segment_estimates import parsed_shape
from starskip.sql.predicate import Operator, leaves
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_workload import ShapeWorkload

_COUNTED = (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN, Operator.NOT_IN)


def frequency_scores(shapes: Iterable[ShapeWorkload], table: TableOverview) -> dict[str, float]:
    """Return the number of queries that filter by =, <>, IN or NOT IN, for each column worth an index."""
    scores: dict[str, float] = {}
    for workload in shapes:
        columns = {f.column for f in leaves(parsed_shape(workload.skeleton).filter) if f.operator in _COUNTED}
        for name in columns - table.inverted_index_columns:
            column = table.columns.get(name)
            if column is not None and surviving_ratio(column, 1, negated=False) < 1.0:
                scores[name] = scores.get(name, 0.0) + workload.queries - workload.failed
    return scores


def parser_scores(
    shapes: Iterable[ShapeWorkload], table: TableOverview, *, order: int = INVERTED_ORDER
) -> dict[str, float]:
    """Return entries * (1 - 1/S) summed over queries, for each column that a query's keys name.

    Where a shape's literals are a sample, the sample's score is scaled to all its entries.
    """
    scores: dict[str, float] = {}
    for workload in shapes:
        tree = parsed_shape(workload.skeleton).filter
        sampled = sum(instance.entries_scanned_in_filter for instance in workload.instances.values())
        if not sampled:
            continue
        succeeded = workload.entries_scanned_in_filter - workload.failed_entries_scanned_in_filter
        scale = succeeded / sampled
        for literals, instance in workload.instances.items():
            for name, ratio in best_keys(parser_keys(tree, literals, table, order=order)).items():
                vote = instance.entries_scanned_in_filter * scale * (1.0 - ratio)
                scores[name] = scores.get(name, 0.0) + vote
    return scores
