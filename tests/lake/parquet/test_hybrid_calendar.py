"""Values of a file in the calendar that Spark 2 had, as the footer tells them, and what it cannot tell.

The days themselves are compared with Spark's in tests/spark/secondary/test_hybrid_calendar.py.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.lake.parquet.hybrid_calendar import in_todays_calendar
from starskip.lake.unlike_spark import UnlikeSpark

SPARK_2 = {"org.apache.spark.version": "2.4.8"}
DAY_US = 86_400_000_000


def read(folder: Path, table: pa.Table, told: dict[str, str]) -> pa.Table:
    path = folder / "a.parquet"
    pq.write_table(table.replace_schema_metadata(told), path)
    parquet = pq.ParquetFile(path)
    return in_todays_calendar(parquet.read(), parquet.metadata)


def times(*days: int | None) -> pa.Array:
    micros = [None if day is None else day * DAY_US for day in days]
    return pa.array(micros).cast(pa.timestamp("us", "UTC"))


def test_old_times_of_a_file_that_tells_no_zone_are_refused_and_recent_ones_kept(tmp_path: Path) -> None:
    recent = pa.table({"t": times(-25_567, None, 19_000)})
    assert read(tmp_path, recent, SPARK_2).equals(recent)
    with pytest.raises(UnlikeSpark, match=r"^column t has times before 1900 .* time zone unknown, which"):
        read(tmp_path, pa.table({"t": times(-25_568, None)}), SPARK_2)


def test_a_file_of_another_writer_has_the_days_that_it_has(tmp_path: Path) -> None:
    old = pa.table({"d": pa.array([-200_000], pa.int32()).cast(pa.date32()), "t": times(-200_000)})
    assert read(tmp_path, old, {"org.apache.spark.legacyDateTime": ""}).equals(old)
    assert not read(tmp_path, old.select(["d"]), SPARK_2).equals(old.select(["d"]))


def test_columns_without_rows_and_null_structs_are_read(tmp_path: Path) -> None:
    day = pa.struct([("d", pa.date32())])
    found = read(
        tmp_path,
        pa.table({"none": times(), "s": pa.array([], day), "l": pa.array([], pa.list_(pa.date32()))}),
        SPARK_2,
    )
    assert found.num_rows == 0
    rows = pa.table({"s": pa.array([None, {"d": None}], day), "l": pa.array([None, []], pa.list_(day))})
    assert read(tmp_path, rows, SPARK_2).to_pylist() == rows.to_pylist()
