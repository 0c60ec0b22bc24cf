"""Thresholds that queries and columns must pass to vote, the same for every strategy.

Source: Automated Inverted Index Recommendation, III.5.

The thresholds exclude queries and columns from voting; all entries stay in the denominator. As in Pinot's
IndexTuner (tools.tuner, commit 4fea0d4b0af) a value must exceed a threshold to pass it, and a selectivity
threshold below 1 counts as 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.tables.table_overview import ColumnOverview


def voting_shapes(
    shapes: Iterable[ShapeWorkload], entries_scanned_threshold: int, *, idle_vote: bool = True
) -> list[ShapeWorkload]:
    """Return the shapes, without the queries that scan no more entries than the threshold.

    Queries of equal literals are judged by their mean. ``idle_vote``: queries that scan nothing keep their
    vote, which can only be against dropping the index or order that answers them today. Queries that are left
    out count as failed: they are in the sums, and have no vote.
    """
    return [_voting(shape, entries_scanned_threshold, idle_vote=idle_vote) for shape in shapes]


def voting_queries(shapes: Sequence[ShapeWorkload], entries_scanned_threshold: int) -> float:
    """Return how many queries scan more entries than the threshold, unparsed and failed ones included."""
    return sum(
        shape.estimated_queries * _voting_ratio(shape, entries_scanned_threshold)[0] for shape in shapes
    )


def is_selective(column: ColumnOverview, selectivity_threshold: float) -> bool:
    """Return whether a column's selectivity passes the threshold; at 1 every indexable column does.

    Selectivity is the cardinality in the share of segments where the column is not sorted.
    """
    if selectivity_threshold <= 1:
        return True
    return (
        column.cardinality is not None
        and column.cardinality * (1.0 - column.sorted_ratio) > selectivity_threshold
    )


def _voting(shape: ShapeWorkload, threshold: int, *, idle_vote: bool) -> ShapeWorkload:
    kept = {
        literals: instance
        for literals, instance in shape.instances.items()
        if _scans_more(instance, threshold) or (idle_vote and not instance.estimated_entries)
    }
    if len(kept) == len(shape.instances):
        return shape
    of_queries, of_entries = (1.0 - ratio for ratio in _ratios(shape.instances.values(), kept.values()))
    succeeded = shape.estimated_queries - shape.failed
    entries = shape.estimated_entries - shape.failed_entries_scanned_in_filter
    return replace(
        shape,
        failed=shape.failed + succeeded * of_queries,
        failed_entries_scanned_in_filter=shape.failed_entries_scanned_in_filter + entries * of_entries,
        instances=kept,
    )


def _voting_ratio(shape: ShapeWorkload, threshold: int) -> tuple[float, float]:
    if not shape.instances:
        mean = shape.estimated_entries / max(shape.estimated_queries, 1.0)
        return (1.0, 1.0) if mean > threshold else (0.0, 0.0)
    kept = [instance for instance in shape.instances.values() if _scans_more(instance, threshold)]
    return _ratios(shape.instances.values(), kept)


def _ratios(instances: Iterable[Instance], kept: Iterable[Instance]) -> tuple[float, float]:
    """Return the shares of ``instances``' queries and entries that ``kept`` has."""
    queries, entries = _sums(instances)
    kept_queries, kept_entries = _sums(kept)
    return kept_queries / max(queries, 1.0), kept_entries / entries if entries else 0.0


def _sums(instances: Iterable[Instance]) -> tuple[float, float]:
    queries = entries = 0.0
    for instance in instances:
        queries += instance.estimated_queries
        entries += instance.estimated_entries
    return queries, entries


def _scans_more(instance: Instance, threshold: int) -> bool:
    return instance.estimated_entries > threshold * instance.estimated_queries
