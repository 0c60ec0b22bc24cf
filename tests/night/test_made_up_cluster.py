"""The made-up cluster of the benchmark: what it writes is read as Pinot's own."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.sql.normalize_sql import normalize_sql
from starskip.storage.files.log_files import log_files

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "cluster"))

from made_up_cluster import add_second_night, remove_second_night, write_cluster
from made_up_tables import ClusterSize, made_up_tables

SIZE = ClusterSize(tables=3, segments=15, records=900)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    assert write_cluster(folder, SIZE)
    return folder


def test_every_segment_is_read_whole_and_has_the_shares_of_its_table(cluster: Path) -> None:
    segments: Counter[str] = Counter()
    names = set()
    for table in made_up_tables(SIZE):
        found: Counter[str] = Counter()
        for file in list_segments(cluster / "segments", [table.name]):
            facts = read_segment_facts(file)
            window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
            assert (window.unreadable, window.rows) == ({}, table.segment_rows)
            names.add(facts.segment)
            segments[table.name] += 1
            for column in table.columns:
                read = window.columns[column.name]
                often = column.stored(column.popular[0])
                of_column = pc.equal(read.dictionary.take(pa.array(read.codes)), often)
                found[column.name] += pc.sum(of_column).as_py()
        for column in table.columns:
            expected = column.shares[column.popular[0]] * table.segments * table.segment_rows
            assert found[column.name] == pytest.approx(expected, rel=0.5, abs=30)
    assert len(names) == SIZE.segments
    assert segments == {table.name: table.segments for table in made_up_tables(SIZE)}


def test_every_log_line_is_a_query_of_one_of_many_shapes(cluster: Path) -> None:
    kinds: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    for split in log_splits(log_files([str(cluster / "logs")]), 1 << 25):
        for batch in parse_split(split):
            kinds.update(batch.column("kind").to_pylist())
            shapes.update(normalize_sql(text).skeleton for text in batch.column("query_text").to_pylist())
    assert kinds == {"query": SIZE.records}
    assert 50 < len(shapes) <= sum(len(table.shapes) for table in made_up_tables(SIZE))
    assert shapes.most_common(1)[0][1] > 10


def test_the_second_night_has_new_segments_and_a_log_of_its_own(cluster: Path) -> None:
    before = {path for path in cluster.rglob("*.*") if "second" not in path.parts}
    add_second_night(cluster)
    new = {path for path in cluster.rglob("*.*") if "second" not in path.parts} - before
    assert Counter(path.suffix for path in new) == {".gz": 1, ".log": 4}
    assert not write_cluster(cluster, SIZE)
    remove_second_night(cluster)
    assert {path for path in cluster.rglob("*.*") if "second" not in path.parts} == before
