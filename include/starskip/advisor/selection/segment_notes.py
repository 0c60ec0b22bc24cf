"""Notes on segments that servers look at in vain: what a bloom filter or a partitioning would leave out.

A segment whose dictionary lacks the value of an equality costs no entry, so no vote is for leaving it out. It
costs time all the same, since its query is planned and its dictionary searched. The log tells how many there
are: ``numSegmentsProcessed`` less ``numSegmentsMatched``, where the equality is the whole filter. Where the
value is in most segments, only rows that are partitioned by the column would leave some of them out, and that
is a matter of how the table is written: of the stream's key, or of a task of the minions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import printable
from starskip.number_text import percent
from starskip.pinot.column_indexes.bloom import BLOOM_NAME
from starskip.pinot.config_columns import ConfigColumns
from starskip.pinot.table_config import TableConfig
from starskip.sql.predicate import And, Leaf, Operator
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview

_LEAST_SEGMENTS = 20
"""Segments a query that servers process; with fewer there is too little to leave out."""
_LEAST_RATIO = 0.1
_MATCHED_BY_MOST = 0.5
_PARTITIONS = 16
_VALUES_A_PARTITION = 4
"""With fewer values a partition, partitions are of very different sizes."""


@dataclass(slots=True)
class _Uses:
    """Equalities on a column: queries, and segments processed and matched where it is the whole filter.

    ``processed``: also where other predicates stand beside it.
    """

    queries: float = 0.0
    processed: int = 0
    alone_processed: int = 0
    alone_matched: int = 0


def segment_notes(
    shapes: Sequence[ShapeWorkload], overview: TableOverview, configs: Sequence[TableConfig]
) -> tuple[str, ...]:
    """Return the notes on the understood ``shapes`` of a table."""
    total = sum(shape.segments_processed for shape in shapes)
    uses: dict[str, _Uses] = {}
    for shape in shapes:
        whole = parsed_shape(shape.skeleton).filter
        parts = whole.children if isinstance(whole, And) else (whole,)
        equal = {
            each.column for each in parts if isinstance(each, Leaf) and each.operator is Operator.EQUAL
        } & overview.columns.keys()
        for column in equal:
            found = uses.setdefault(column, _Uses())
            found.queries += shape.queries
            found.processed += shape.segments_processed
            if len(parts) == 1:
                found.alone_processed += shape.segments_processed
                found.alone_matched += shape.segments_matched
    worth = {
        name: each
        for name, each in sorted(uses.items())
        if each.processed >= max(_LEAST_RATIO * total, _LEAST_SEGMENTS * each.queries, 1)
    }
    return (*_bloom_notes(worth, overview, total), *_partition_notes(worth, overview, configs, total))


def _bloom_notes(uses: dict[str, _Uses], overview: TableOverview, total: int) -> Iterator[str]:
    for name, each in uses.items():
        spared = each.alone_processed - each.alone_matched
        # Without a dictionary a filter saves entries, and is voted for.
        is_coded = overview.columns[name].dictionary_ratio == 1
        if is_coded and name not in overview.indexed(BLOOM_NAME) and spared >= _LEAST_RATIO * total:
            yield (
                f"{percent(spared / total)} of the segments that servers process are looked at in vain for a"
                f" value of {printable(name, 80)}: a bloom filter on it (tableIndexConfig.bloomFilterColumns)"
                " leaves them out, which saves time and no entries"
            )


def _partition_notes(
    uses: dict[str, _Uses], overview: TableOverview, configs: Sequence[TableConfig], total: int
) -> Iterator[str]:
    partitioned = [ConfigColumns(config.document, {}, (1, 0)).partitioned() for config in configs]
    if any(partitioned) or overview.segments < _LEAST_SEGMENTS:
        return
    parts = min(_PARTITIONS, overview.segments)
    spread = {
        name: each
        for name, each in uses.items()
        if each.alone_matched >= _MATCHED_BY_MOST * each.alone_processed > 0
        and (overview.columns[name].cardinality or 0.0) >= _VALUES_A_PARTITION * parts
    }
    if not spread:
        return
    name, best = max(spread.items(), key=lambda item: (item[1].processed, item[0]))
    yield (
        f"{percent(best.processed / total)} of the segments that servers process are asked for one value of"
        f" {printable(name, 80)}, which most of them hold: written in {parts} partitions by it"
        f" (segmentPartitionConfig, segmentPrunerTypes), a query would reach about one in {parts}"
    )
