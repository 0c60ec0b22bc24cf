"""Notes on segments that are processed in vain, by the log's counts of segments."""

from __future__ import annotations

from typing import Any

import pytest
from starskip.advisor.selection.segment_notes import segment_notes
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.table_config import TableConfig, table_config
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import ColumnOverview, TableOverview

COLUMNS = {name: ColumnOverview(name, cardinality=64.0) for name in "abc"}
TABLE = TableOverview("t", 100, 1_000, COLUMNS)


def shape(where: str, processed: int, matched: int, queries: int = 10) -> ShapeWorkload:
    sql = f"SELECT COUNT(*) FROM t WHERE {where}"
    return ShapeWorkload(
        "t",
        where,
        where,
        normalize_sql(sql).skeleton,
        queries,
        segments_processed=processed,
        segments_matched=matched,
    )


def noted(*shapes: ShapeWorkload, table: TableOverview = TABLE, config: Any = None) -> tuple[str, ...]:
    configs: list[TableConfig] = (
        [table_config({"tableName": "t", "tableIndexConfig": config})] if config else []
    )
    return segment_notes(shapes, table, configs)


def test_segments_without_the_value_are_what_a_bloom_filter_leaves_out() -> None:
    (note,) = noted(shape("a = 1", 1_000, 100), shape("b > 1", 1_000, 1_000))
    assert note == (
        "45.0 % of the segments that servers process are looked at in vain for a value of a: a bloom filter"
        " on it (tableIndexConfig.bloomFilterColumns) leaves them out, which saves time and no entries"
    )


def test_a_value_that_most_segments_hold_asks_for_partitions() -> None:
    (note,) = noted(shape("a = 1", 1_000, 900), shape("a = 1 and b = 2", 500, 100), shape("c > 1", 500, 500))
    assert note == (
        "75.0 % of the segments that servers process are asked for one value of a, which most of them hold:"
        " written in 16 partitions by it (segmentPartitionConfig, segmentPrunerTypes), a query would reach"
        " about one in 16"
    )


@pytest.mark.parametrize(
    "shapes",
    [
        (shape("a = 1", 100, 10), shape("b > 1", 1_000, 1_000)),  # a tenth of a tenth
        (shape("a = 1", 100, 10, queries=10),),  # ten segments a query
        (shape("a = 1", 0, 0),),  # a log that does not say
        (shape("a = 1 or b = 2", 1_000, 100),),
        (shape("upper(a) = 'X'", 1_000, 100),),
        (shape("a = 1 and b = 2", 1_000, 100),),  # which of the two the segments lack is not known
        (shape("d = 1", 1_000, 100),),
        (),
    ],
)
def test_logs_that_tell_of_neither(shapes: tuple[ShapeWorkload, ...]) -> None:
    assert noted(*shapes) == ()


def test_what_the_table_has_is_not_noted() -> None:
    filtered = TableOverview("t", 100, 1_000, COLUMNS, {"bloom": frozenset("a")})
    assert noted(shape("a = 1", 1_000, 100), table=filtered) == ()
    raw = {"a": ColumnOverview("a", dictionary_ratio=0.0)}
    assert noted(shape("a = 1", 1_000, 100), table=TableOverview("t", 100, 1_000, raw)) == ()
    partitions = {"segmentPartitionConfig": {"columnPartitionMap": {"b": {"functionName": "Murmur"}}}}
    assert noted(shape("a = 1", 1_000, 950), config=partitions) == ()
    coarse = {"a": ColumnOverview("a", cardinality=63.0)}
    assert noted(shape("a = 1", 1_000, 950), table=TableOverview("t", 100, 1_000, coarse)) == ()
    few = TableOverview("t", 19, 1_000, COLUMNS)
    assert noted(shape("a = 1", 1_000, 950), table=few) == ()
