"""Parquet files in the calendar that Spark 2 had: the days and times of Spark, or a file that is refused.

STARSKIP_CALENDAR_CASES is how many times of each kind are drawn, STARSKIP_CALENDAR_SEED where that begins.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from lake_formats import new_table
from law_cases import law_cases
from pyspark.sql import DataFrame, SparkSession
from skipping_tables import aged, settings_of
from starskip.errors import SourceError
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.lake.parquet import hybrid_calendar
from starskip.lake.parquet.parquet_pages import PageKind
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes
from starskip.spark import skipping
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

CASES = law_cases("STARSKIP_CALENDAR_CASES", 2_000)
SEED = int(os.environ.get("STARSKIP_CALENDAR_SEED", random.SystemRandom().randrange(1 << 32)))
SPARK_4, SPARK_2 = b"4.1.0", b"2.4.8"
DAY_US = 86_400_000_000
VERSION, ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
LEGACY_DATES, LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
FOOTERS: Sequence[dict[bytes, bytes]] = (
    {},
    {LEGACY_DATES: b""},
    {VERSION: SPARK_4},
    {VERSION: SPARK_4, LEGACY_DATES: b"", ZONE: b"UTC"},
    {VERSION: SPARK_4, LEGACY_INT96: b"", ZONE: b"Etc/UTC"},
    {VERSION: SPARK_4, LEGACY_DATES: b"", LEGACY_INT96: b"", ZONE: b"GMT"},
    {VERSION: b"3.0.1", ZONE: b"UTC"},
    {VERSION: b"3.1.0", ZONE: b"UTC"},
    {VERSION: SPARK_2, ZONE: b"Z"},
)


def some_days(draw: random.Random, count: int) -> npt.NDArray[np.int64]:
    """Days about all that a calendar may treat otherwise, and any others; those of Spark's years."""
    centuries = [-719_164 + 36_525 * number for number in range(-20, 20)]
    edges = [-141_427, -141_438, -719_162, -719_164, -719_528, -25_567, 0, *centuries]
    near = np.array([edge + shift for edge in edges for shift in range(-70, 70)])
    far = np.array([draw.randrange(-2_000_000, 30_000) for _ in range(count)])
    return np.concatenate([near, far]).astype(np.int64)


def written(path: Path, start: int, told: dict[bytes, bytes], size: int, draw: random.Random) -> int:
    """Days, and times of all kinds, in columns and below them, in a file whose footer tells a calendar.

    ``start``: the first id; the one behind the last is returned. ``size``: about the bytes of a page.
    """
    days = some_days(draw, CASES)
    within = np.array([draw.randrange(DAY_US // 1000) * 1000 for _ in days])
    times = pa.array(days * DAY_US + within)
    nulls = np.array([draw.random() < 0.1 for _ in days])
    of_days = pa.array(days.astype(np.int32), mask=nulls).cast(pa.date32())
    micros = times.cast(pa.timestamp("us", "UTC"))
    millis = micros.cast(pa.timestamp("ms", "UTC"))
    below = pa.StructArray.from_arrays([of_days, micros], names=["d", "t"])
    ones = pa.array(np.arange(len(days) + 1, dtype=np.int32))
    rows = pa.table(
        {
            "id": pa.array(np.arange(start, start + len(days))),
            "d": of_days,
            "t": micros,
            "ms": millis,
            "ntz": times.cast(pa.timestamp("us")),
            "s": below,
            "l": pa.ListArray.from_arrays(ones, below),
            "m": pa.MapArray.from_arrays(ones, pa.array(["k"] * len(days)), of_days),
        }
    )
    with pq.ParquetWriter(
        path,
        rows.schema,
        store_schema=False,
        use_dictionary=False,
        data_page_size=size,
        write_page_index=True,
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(told)
    return start + len(days)


COUNTS = {
    "d": "unix_date(d)",
    "t": "unix_micros(t)",
    "ms": "unix_micros(ms)",
    "ntz": "unix_micros(cast(ntz AS timestamp))",
    "sd": "unix_date(s.d)",
    "st": "unix_micros(s.t)",
    "ld": "unix_date(l[0].d)",
    "lt": "unix_micros(l[0].t)",
    "m": "unix_date(m['k'])",
}


def numbers(rows: pa.Table) -> dict[str, list[Any]]:
    """The counts of days and microseconds of rows, as in ``COUNTS``: Python has no days before the year 1."""

    def of(array: Any) -> list[Any]:
        whole = pa.chunked_array([array]) if isinstance(array, pa.Array) else array
        kind = pa.int32() if whole.type == pa.date32() else pa.int64()
        return list(whole.combine_chunks().cast(kind).to_pylist())

    rows = rows.take(pc.sort_indices(rows["id"])).combine_chunks()
    struct, inner = rows["s"].chunk(0), rows["l"].chunk(0).flatten()
    found = {
        "d": rows["d"],
        "t": rows["t"],
        "sd": struct.field("d"),
        "st": struct.field("t"),
        "ld": inner.field("d"),
        "lt": inner.field("t"),
        "m": rows["m"].chunk(0).items,
    }
    found |= {name: rows[name] for name in ("ms", "ntz") if name in rows.column_names}
    return {name: of(array) for name, array in found.items()}


def counted(spark: SparkSession, path: str, table_format: str = "parquet") -> dict[str, list[Any]]:
    """Return what ``numbers`` gives, by Spark."""
    frame = spark.read.format(table_format).load(path).orderBy("id")
    names = [name for name in COUNTS if name not in ("ms", "ntz") or name in frame.columns]
    rows = frame.selectExpr(*(f"{COUNTS[name]} AS {name}" for name in names)).collect()
    return {name: [each[name] for each in rows] for name in names}


BEGIN_OF_1200 = (date(1200, 1, 1) - date(1970, 1, 1)).days


def law(spark: SparkSession, folder: Path, begin: int, footers: Sequence[dict[bytes, bytes]]) -> None:
    """Raise AssertionError if a day or time of a file is another one than Spark's."""
    for number, told in enumerate(footers):
        draw = random.Random(begin + number)
        path = folder / f"t{number}"
        path.mkdir()
        size = draw.choice([300, 300, 1 << 20])
        end = written(path / "a.parquet", 0, told, size, draw)
        written(path / "b.parquet", end, draw.choice(FOOTERS), size, draw)
        aged(path)
        create_indexes(str(path), ["btree:d", "btree:id"])
        wanted = counted(spark, str(path))
        table = open_table(str(path))
        for by in ((), ("scan",)):
            found = numbers(table.query("id >= 0", path=by))
            for name in COUNTS:
                assert found[name] == wanted[name], (begin, told, name, by)
        few = sorted(draw.sample(range(len(wanted["d"])), 4))
        found = numbers(table.query(f"id IN ({', '.join(map(str, few))})"))
        assert all(found[name] == [wanted[name][at] for at in few] for name in COUNTS), (begin, told)
        some = sorted(table.query("d < DATE'1200-01-01'", ["id"])["id"].to_pylist())
        assert some == [at for at, day in enumerate(wanted["d"]) if day is not None and day < BEGIN_OF_1200]


@pytest.mark.law
def test_days_and_times_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    print(f"STARSKIP_CALENDAR_SEED={SEED}")
    with settings_of(spark, {"spark.sql.session.timeZone": "UTC"}):
        law(spark, tmp_path, SEED, FOOTERS)


def _no_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hybrid_calendar, "days_of_today", lambda days: days.astype(np.int64))


def _a_day_off_before_the_year_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = hybrid_calendar.days_of_today
    monkeypatch.setattr(hybrid_calendar, "days_of_today", lambda days: sound(days) + (days < -719_164))


def _pages_of_both_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageKind, "is_like", lambda one, other: one.element == other.element)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_no_shift, _a_day_off_before_the_year_one, _pages_of_both_together])
def test_a_planted_fault_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    fault(monkeypatch)
    with settings_of(spark, {"spark.sql.session.timeZone": "UTC"}), pytest.raises(AssertionError):
        law(spark, tmp_path, 3, FOOTERS[3:4] * 5)


OLD = ("0001-01-03", "1000-02-28", "1498-09-23", "1582-10-04", "1582-10-15", "1890-05-01")
RECENT = ("1900-01-01", "1969-12-31", "2024-02-29")
WRITES_LEGACY = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
KINDS = ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")


def of_days(spark: SparkSession, days: Sequence[str], start: int = 0) -> DataFrame:
    """Rows with these days, and times in them, in columns and below them."""
    rows = ", ".join(
        f"({number}, DATE'{day}', TIMESTAMP'{day} 13:14:15.123')" for number, day in enumerate(days, start)
    )
    return spark.sql(
        "SELECT CAST(id AS bigint) AS id, d, t, named_struct('d', d, 't', t) AS s, "
        "array(named_struct('d', d, 't', t)) AS l, map('k', d) AS m, 1L AS one "
        f"FROM VALUES {rows} AS v(id, d, t)"
    ).coalesce(1)


def publish(path: str, store: ArtefactStore, dimensions: Sequence[str]) -> Any:
    config = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": [*dimensions], "functionColumnPairs": ["COUNT__*", "SUM__one"]}
    )
    return publish_trees(
        EngineTasks(LocalEngine()).run_tasks,
        store,
        TreeOrder("t", path, (config,), {}),
        now=datetime.now(UTC),
        created_by="test",
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table_format", ["parquet", pytest.param("delta", marks=pytest.mark.table_formats)])
def test_files_of_both_calendars_have_the_days_of_spark(
    spark: SparkSession, tmp_path: Path, kind: str, table_format: str
) -> None:
    path = str(tmp_path / "t")
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.parquet.outputTimestampType": kind}
    with settings_of(spark, {**settings, **WRITES_LEGACY}):
        of_days(spark, OLD + RECENT).write.format(table_format).save(path)
    with settings_of(spark, settings):
        of_days(spark, OLD + RECENT, 20).write.format(table_format).mode("append").save(path)
        wanted = counted(spark, path, table_format)
    for indexes in ((), ["btree:d", "btree:id"]):
        if indexes:
            create_indexes(path, indexes)
        else:
            create_indexes(path, ["btree:one"])
        table = open_table(path)
        for by in ((), ("scan",)):
            assert numbers(table.query("id >= 0", path=by)) == wanted
            found = table.query("d = DATE'1498-09-23' OR id IN (0, 28)", ["id"], path=by)
            assert sorted(found["id"].to_pylist()) == [0, 2, 22, 28]
    store = ArtefactStore(storage_for(str(tmp_path / "trees")))
    publish(path, store, ["d"])
    found = answer_sql(open_trees(store), "SELECT d, SUM(one) AS n FROM t GROUP BY d", "spark").table
    days = dict(zip(found["d"].cast(pa.int32()).to_pylist(), found["n"].to_pylist(), strict=True))
    assert days == dict.fromkeys(wanted["d"], 2)


@pytest.mark.parametrize("kind", KINDS)
def test_old_times_of_another_zone_are_refused_and_recent_ones_read(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    settings = {"spark.sql.session.timeZone": "America/Los_Angeles", **WRITES_LEGACY}
    settings["spark.sql.parquet.outputTimestampType"] = kind
    with settings_of(spark, settings):
        for name, days in {"old": OLD, "recent": RECENT[1:]}.items():
            of_days(spark, days).write.parquet(str(tmp_path / name))
    told = (
        r"part-.*parquet: is not read as Spark reads it: column t has times before 1900 in the calendar that "
        r"Spark 2 had, and in the time zone America/Los_Angeles, which Spark alone converts$"
    )
    old, recent = str(tmp_path / "old"), str(tmp_path / "recent")
    with pytest.raises(SourceError, match=told):
        create_indexes(old, ["btree:t"])
    create_indexes(old, ["btree:d"])
    for by in ((), ("scan",)):
        rows = open_table(old).query("d < DATE'1500-01-01'", ["id", "d"], path=by)
        assert sorted(rows["id"].to_pylist()) == [0, 1, 2]
        with pytest.raises(SourceError, match=told):
            open_table(old).query("d < DATE'1500-01-01'", ["t"], path=by)
    with pytest.raises(SourceError, match=told):
        publish(old, ArtefactStore(storage_for(str(tmp_path / "trees"))), ["t"])
    create_indexes(recent, ["btree:t"])
    assert numbers(open_table(recent).query("id >= 0")) == counted(spark, recent)


@pytest.mark.table_formats
def test_iceberg_takes_days_as_they_are_in_the_files_of_others(
    spark: SparkSession, tmp_path: Path, warehouse: Path
) -> None:
    name, place = new_table("iceberg", tmp_path, warehouse)
    with settings_of(spark, {"spark.sql.session.timeZone": "UTC", **WRITES_LEGACY}):
        of_days(spark, OLD + RECENT).select("id", "d", "one").write.parquet(str(tmp_path / "files"))
    spark.sql(f"CREATE TABLE {name} (id bigint, d date, one bigint) USING iceberg")
    spark.sql(f"CALL ice.system.add_files(table => '{name}', source_table => '`parquet`.`{tmp_path}/files`')")
    wanted = [tuple(each) for each in spark.sql(f"SELECT id, d FROM {name} ORDER BY id").collect()]
    assert wanted[2][1] == date(1498, 10, 2)
    create_indexes(place, ["btree:d"])
    for by in ((), ("scan",)):
        found = open_table(place).query("d < DATE'2030-01-01'", ["id", "d"], path=by).to_pylist()
        assert sorted((each["id"], each["d"]) for each in found) == wanted
    store = ArtefactStore(storage_for(str(tmp_path / "trees")))
    publish(place, store, ["d"])
    days = answer_sql(open_trees(store), "SELECT d, SUM(one) AS n FROM t GROUP BY d", "spark").table
    assert sorted(days["d"].to_pylist()) == sorted(day for _, day in wanted)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_spark_loses_no_row_where_a_session_says_the_calendar(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    # Of files without Spark's version the session decides; conditions of days before 1901 have no path.
    folder = tmp_path / "t"
    folder.mkdir()
    for number, day in enumerate((-172_000, -150_000, -25_600, -25_400, 0, 19_000)):
        days = pa.array([day, day + 5], pa.int32()).cast(pa.date32())
        times = pa.array([day * DAY_US, (day + 5) * DAY_US]).cast(pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table({"id": [number, number], "d": days, "t": times}), folder / f"{number}.parquet"
        )
    aged(folder)
    create_indexes(str(folder), ["btree:d", "btree:t"])
    literals = ("1498-12-31", "1499-01-09", "1559-04-26", "1899-12-01", "1900-06-01", "1901-01-01")
    conditions = [
        f"{column} {sign} DATE'{day}'"
        for column in ("d", "t")
        for sign in ("=", "<", ">=", "<>")
        for day in literals[:: 1 if column == "d" else 3]
    ]
    settings = {
        "spark.sql.parquet.datetimeRebaseModeInRead": mode,
        "spark.starskip.secondary.file_mib_ms": "1e9",
    }
    with settings_of(spark, settings):
        frame = spark.read.parquet(str(folder))
        wanted = {each: sorted(frame.where(each).select("id").collect()) for each in conditions}
        skipping.enable(spark)
        metadata_changed()
        left_out = 0
        try:
            for each in conditions:
                frame = spark.read.parquet(str(folder))
                assert sorted(frame.where(each).select("id").collect()) == wanted[each], each
                left_out += skipping.last_query_stats(spark)[0]["files_read"] < 6
        finally:
            skipping.disable(spark)
    assert left_out
