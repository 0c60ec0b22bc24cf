"""Ordinary queries read fewer files and give the same rows, however they are written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions
from skipping_tables import aged, pruned_by_skip_alone, settings_of
from starskip.errors import ConfigError
from starskip.spark import skipping

pytestmark = pytest.mark.spark

Table = Callable[..., str]
INDEXES = ("minmax:id", "minmax:s", "minmax:ts", "minmax:n.a.`B c`", "nulls:s")
FILES = 5


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 100 rows in 5 files, 20 consecutive ones in each."""
    folder = tmp_path_factory.mktemp("lake") / "t"
    frame = spark.range(0, 100, 1, FILES).selectExpr(
        "id",
        "lpad(cast(id as string), 3, '0') AS s",
        "timestamp_seconds(id * 86400) AS ts",
        "named_struct('a', named_struct('B c', id)) AS n",
        "id % 2 = 0 AS even",
    )
    frame.write.parquet(str(folder))
    aged(folder)
    skipping.create(spark, str(folder), INDEXES)
    return str(folder)


@pytest.fixture
def t(skipping_on: SparkSession, path: str) -> str:
    skipping_on.read.parquet(path).createOrReplaceTempView("t")
    return path


def run(spark: SparkSession, sql: str) -> tuple[list[Any], list[int]]:
    """The rows of a query and the files read of each relation, as Spark's metrics have them."""
    rows = spark.sql(sql).collect()
    return rows, [stats["files_read"] for stats in skipping.last_query_stats(spark)]


SHAPES = [
    ("SELECT * FROM t WHERE id = 7", [1]),
    ("SELECT * FROM t WHERE 7 = ID", [1]),
    ("SELECT * FROM t WHERE id = -1", [0]),
    ("SELECT * FROM t WHERE id IN (7, 8, 45)", [2]),
    ("SELECT * FROM t WHERE id IN (1,2,3,4,5,6,7,8,9,10,11,12,13)", [1]),
    (f"SELECT * FROM t WHERE s IN ({', '.join(repr(f'{each:03}') for each in range(11))}, 'x')", [1]),
    ("SELECT * FROM t WHERE NOT (id < 90)", [1]),
    ("SELECT * FROM t WHERE id = 7 OR s = '050'", [2]),
    ("SELECT * FROM t WHERE s LIKE '00%'", [1]),
    ("SELECT * FROM t WHERE n.a.`B c` = 99", [1]),
    ("SELECT n.a FROM t WHERE n.a.`b C` BETWEEN 18 AND 21", [2]),
    ("SELECT * FROM t WHERE date(ts) = '1970-01-08'", [1]),
    ("SELECT * FROM t WHERE ts > timestamp'1970-04-09 12:00:00' - interval 1 day", [1]),
    ("SELECT * FROM t WHERE s IS NULL", [0]),
    ("SELECT count(*) FROM t WHERE CASE WHEN id = 3 THEN true ELSE false END", [1]),
    ("SELECT * FROM (SELECT id + 0 AS k, id AS i FROM t) WHERE i = 7", [1]),
    ("WITH c AS (SELECT * FROM t WHERE id < 20) SELECT * FROM c a JOIN c b USING (id)", [1, 1]),
    ("SELECT * FROM t a JOIN t b ON a.id = b.id WHERE a.id = 3 AND b.s > '080'", [1, 0]),
    ("SELECT * FROM t a LEFT JOIN t b ON a.id = b.id + 50 AND b.id < 20", [5, 1]),
    ("SELECT * FROM t a FULL JOIN t b ON a.id = b.id AND a.id < 20", [5, 5]),
    ("SELECT * FROM t a LEFT ANTI JOIN t b ON a.id = b.id AND b.id < 20", [5, 1]),
    ("SELECT id FROM t WHERE id < 20 UNION ALL SELECT id FROM t WHERE id >= 80", [1, 1]),
    ("SELECT * FROM t WHERE id = (SELECT max(id) FROM t WHERE id < 30)", [2, 5]),
    ("SELECT * FROM t WHERE id IN (SELECT id + 1 FROM t WHERE id = 5)", [1, 5]),
    ("SELECT * FROM t x WHERE EXISTS (SELECT 1 FROM t y WHERE y.id = x.id AND y.s = '099')", [1, 5]),
    ("SELECT count(*), max(id) FROM t WHERE id >= 95 GROUP BY even", [1]),
    ("SELECT even, c FROM (SELECT even, count(*) c FROM t GROUP BY even) WHERE c = 50", [5]),
    ("SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) r FROM t) WHERE r <= 3 AND id < 20", [5]),
    ("SELECT id FROM (SELECT * FROM t ORDER BY id LIMIT 30) WHERE id = 7", [5]),
    ("SELECT id, explode(array(id, 1)) e FROM t WHERE id = 7", [1]),
    ("SELECT * FROM (SELECT id, monotonically_increasing_id() m FROM t) WHERE id = 70", [5]),
    ("SELECT * FROM t WHERE upper(s) = '007'", [5]),
    ("SELECT * FROM t WHERE s COLLATE UNICODE_CI = '007'", [5]),
    ("SELECT /*+ REPARTITION(3) */ * FROM t WHERE id = 7 ORDER BY s", [1]),
    ("SELECT 1 WHERE false", []),
]


@pytest.mark.parametrize(("sql", "files"), SHAPES)
def test_same_rows_from_fewer_files(skipping_on: SparkSession, t: str, sql: str, files: list[int]) -> None:
    rows, read = run(skipping_on, sql)
    assert sorted(read) == sorted(files)
    skipping.disable(skipping_on)
    assert sorted(map(repr, rows)) == sorted(map(repr, skipping_on.sql(sql).collect()))


def test_explain_shows_it(t: str, skipping_on: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    skipping_on.sql("SELECT * FROM t WHERE id = 7").explain()
    assert "DataSkippingFileIndex" in capsys.readouterr().out
    (stats,) = skipping.explain("SELECT * FROM t WHERE id = 7 AND s < '010'", skipping_on)
    assert stats["path"].endswith(t)
    assert (stats["files_total"], stats["files_read"], stats["rows_skipped"]) == (5, 1, 80)
    assert 0 < stats["bytes_read"] < stats["bytes_total"]
    assert stats["skipped_by"] == {"minmax:id": 4, "minmax:s": 4, "nulls:s": 0}
    assert stats["not_skipped_because"] == []


def test_reasons_for_reading_all(t: str, skipping_on: SparkSession, tmp_path: Path) -> None:
    def reasons(sql: str) -> list[str]:
        (stats,) = skipping.explain(sql, skipping_on)
        assert stats["files_read"] == stats["files_total"]
        found: list[str] = stats["not_skipped_because"]
        return found

    assert reasons("SELECT * FROM t") == ["there is no predicate on the files"]
    assert reasons("SELECT * FROM t WHERE even") == ["no index is on column even"]
    assert reasons("SELECT * FROM t WHERE id >= 0") == ["by the metadata every file may hold a matching row"]
    skipping_on.range(3).write.parquet(str(tmp_path / "u"))
    assert "no metadata" in reasons(f"SELECT * FROM parquet.`{tmp_path / 'u'}` WHERE id = 1")[0]
    retyped = skipping_on.read.schema("id int").parquet(t).where("id = 7")
    assert "another schema" in skipping.explain(retyped)[0]["not_skipped_because"][0]
    assert len(retyped.inputFiles()) == 5
    with settings_of(skipping_on, {"spark.starskip.skipping.enabled": "false"}):
        assert "enabled is false" in reasons("SELECT * FROM t WHERE id = 7")[0]


def test_statistics_are_of_the_calling_thread(t: str, skipping_on: SparkSession) -> None:
    skipping_on.sql("SELECT * FROM t WHERE id < 40").collect()

    def other(number: int) -> list[tuple[int, int]]:
        seen = []
        for at in range(4):
            low = (number * 4 + at) * 5
            rows = skipping_on.sql(f"SELECT * FROM t WHERE id BETWEEN {low} AND {low + 20}").count()
            (stats,) = skipping.last_query_stats(skipping_on)
            seen.append((rows, stats["files_read"]))
        return seen

    with ThreadPoolExecutor(4) as pool:
        found = [each for of in pool.map(other, range(4)) for each in of]
    expected = [(21, 2) if low <= 75 else (max(0, 100 - low), 1) for low in range(0, 80, 5)]
    assert found == [(rows, files) for rows, files in expected]
    (mine,) = skipping.last_query_stats(skipping_on)
    assert mine["files_read"] == 2


def test_cached_frames_and_new_sessions(t: str, skipping_on: SparkSession) -> None:
    whole = skipping_on.read.parquet(t)
    cached = whole.where("id < 30").cache()
    assert cached.count() == 30
    assert cached.where("id >= 25").count() == 5
    assert whole.where("id = 99").count() == 1
    cached.unpersist()
    session = skipping_on.newSession()
    assert session.read.parquet(t).where("id = 7").collect()[0]["id"] == 7
    assert [stats["files_read"] for stats in skipping.last_query_stats(session)] == [1]


def test_one_frame_twice_in_a_plan(t: str, skipping_on: SparkSession) -> None:
    whole = skipping_on.read.parquet(t)
    both = whole.where("id = 7").unionByName(whole.where("id = 70"))
    assert sorted(row["id"] for row in both.collect()) == [7, 70]
    assert len(both.inputFiles()) == 2


def test_rows_put_in_are_seen(skipping_on: SparkSession, table_of: Table) -> None:
    path = table_of(skipping_on.range(0, 40, 1, 4), "minmax:id", name="grows")
    skipping_on.sql(f"CREATE TABLE grows USING parquet LOCATION '{path}'")
    try:
        read = "SELECT * FROM grows WHERE id = 5"
        assert run(skipping_on, read)[1] == [1]
        skipping_on.sql("INSERT INTO grows SELECT /*+ REPARTITION(1) */ * FROM VALUES (5L), (1000L)")
        rows, files = run(skipping_on, read)
        assert len(rows) == 2
        assert files == [2]
        (stats,) = skipping.last_query_stats(skipping_on)
        assert "1 of 5 files" in stats["not_skipped_because"][0]
    finally:
        skipping_on.sql("DROP TABLE grows")


def test_partitions_of_paths_and_catalogs(skipping_on: SparkSession, table_of: Table, tmp_path: Path) -> None:
    frame = (
        skipping_on.range(0, 80, 1, 4)
        .withColumn("half", functions.expr("id div 40"))
        .withColumn("x", functions.lit(1))
    )
    path = table_of(frame, "minmax:id", name="parts", by=("half", "x"))
    for table in (f"parquet.`{path}`", "parts"):
        if table == "parts":
            columns = "(id BIGINT, half BIGINT, x INT) USING parquet PARTITIONED BY (half, x)"
            skipping_on.sql(f"CREATE TABLE parts {columns} LOCATION '{path}'")
            skipping_on.sql("MSCK REPAIR TABLE parts")
            plan = skipping_on.table(table)._jdf.queryExecution().analyzed()
            location = plan.collectLeaves().apply(0).relation().location()
            assert location.getClass().getSimpleName() == "CatalogFileIndex"
        assert run(skipping_on, f"SELECT * FROM {table} WHERE id = 50")[1] == [1]
        assert run(skipping_on, f"SELECT * FROM {table} WHERE half = 1 AND id IN (3, 50)")[1] == [1]
        assert run(skipping_on, f"SELECT * FROM {table} WHERE half = 0 AND id > 50")[1] == [0]
    skipping_on.sql("DROP TABLE parts")
    inner = skipping_on.read.parquet(f"{path}/half=1/x=1").where("id = 50")
    assert len(inner.inputFiles()) == 1
    files = [str(each) for each in Path(path).rglob("part-*.parquet") if "_starskip" not in each.parts]
    assert len(skipping_on.read.parquet(*files).where("id = 50").inputFiles()) == 1


def test_several_tables_in_one_read(skipping_on: SparkSession, table_of: Table) -> None:
    first = table_of(skipping_on.range(0, 40, 1, 4), "minmax:id", name="first")
    second = table_of(skipping_on.range(20, 60, 1, 4), "minmax:id", name="second")
    plain = table_of(skipping_on.range(25, 26, 1, 1), name="plain")
    both = skipping_on.read.parquet(first, second, plain).where("id = 25")
    assert len(both.inputFiles()) == 3
    assert both.count() == 3
    assert [stats["rows_skipped"] for stats in skipping.last_query_stats(skipping_on)] == [60]


@pytest.mark.parametrize("file_format", ["orc", "json", "csv"])
def test_other_formats(skipping_on: SparkSession, table_of: Table, file_format: str) -> None:
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "timestamp_seconds(id * 3600) AS ts")
    path = table_of(frame, name=file_format, file_format=file_format)
    reader = skipping_on.read.format(file_format).schema("id BIGINT, ts TIMESTAMP")
    skipping.create(skipping_on, reader.load(path), ["minmax:ts"])
    found = reader.load(path).where("ts = timestamp'1970-01-01 05:00:00'")
    assert len(found.inputFiles()) == 1
    assert [row["id"] for row in found.collect()] == [5]
    if file_format == "orc":
        return
    # The same text is another instant in another zone.
    with settings_of(skipping_on, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        assert len(reader.load(path).where("ts = timestamp'1970-01-01 05:00:00'").inputFiles()) == 4


def test_times_in_paths_are_read_in_the_zone_of_the_session(
    skipping_on: SparkSession, table_of: Table
) -> None:
    hours = skipping_on.range(0, 4, 1, 1).selectExpr("id", "timestamp_seconds(id * 3600) AS hour")
    path = table_of(hours.repartition(4, "hour"), name="hours", by=("hour",))
    whole = skipping_on.read.parquet(path)
    skipping.create(skipping_on, whole, ["minmax:hour", "minmax:id"])
    assert len(whole.where("id = 2").inputFiles()) == 1
    with settings_of(skipping_on, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        found = skipping_on.read.parquet(path).where("hour = timestamp'1970-01-01 02:00:00' OR id = 0")
        assert sorted(row["id"] for row in found.collect()) == [0, 2]
        assert len(skipping_on.read.parquet(path).where("id = 2").inputFiles()) == 1


def test_functions_of_users_that_are_random_skip_nothing(t: str, skipping_on: SparkSession) -> None:
    whole = skipping_on.read.parquet(t)
    plain = functions.udf(lambda value: value, "bigint")
    assert len(whole.where(plain("id") == 7).inputFiles()) == 5
    mixed = whole.where((plain("id") == 7) & (functions.col("id") == 7) & (functions.rand() >= 0))
    assert len(mixed.inputFiles()) == 1
    assert mixed.count() == 1


def test_a_failure_is_told_once_and_the_query_runs(
    t: str, skipping_on: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("something new in Spark 4.3")

    monkeypatch.setattr("starskip.spark.skipping.plain_scan.pruned_relation", broken)
    for _ in range(3):
        rows, files = run(skipping_on, "SELECT * FROM t WHERE id = 7")
        assert (len(rows), files) == (1, [5])
    (stats,) = skipping.last_query_stats(skipping_on)
    assert "something new" in stats["not_skipped_because"][0]
    monkeypatch.setattr("starskip.spark.skipping.skipping_rule.plan_tree", broken)
    assert len(run(skipping_on, "SELECT * FROM t WHERE id = 7")[0]) == 1
    assert len([each for each in caplog.records if "something new" in each.getMessage()]) == 1


def test_another_spark_is_told_at_once(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from starskip.spark.skipping.skipping_rule import SkippingRule

    # A session is tested until its planning leaves files out, as that of the other tests does.
    session = spark.newSession()
    with monkeypatch.context() as other:
        pruned_by_skip_alone(other)
        skipping.enable(session)
        assert not skipping.is_enabled(session)
        assert "skip(dataframe)" in caplog.text
        whole = session.read.parquet(path)
        assert len(skipping.skip(whole.where("id = 7")).inputFiles()) == 1
        other.setattr(SkippingRule, "pruned", lambda _self, plan, *_: plan)
        skipping.enable(session)
    assert "not skipping, because RuntimeError" in caplog.text
    assert not skipping.is_enabled(session)
    caplog.clear()
    skipping.enable(session)
    assert (skipping.is_enabled(session), caplog.text) == (True, "")
    skipping.disable(session)


def test_skip_without_enable(spark: SparkSession, path: str) -> None:
    skipping.disable(spark)
    whole = spark.read.parquet(path)
    assert len(whole.where("id = 7").inputFiles()) == 5
    chosen = skipping.skip(whole.where("id = 7").join(whole.select("id", "s"), "id"))
    assert len(chosen.collect()) == 1
    with pytest.raises(ConfigError, match="enable"):
        skipping.explain(whole)


def test_refresh_of_spark_lists_all_files_again(t: str, skipping_on: SparkSession) -> None:
    chosen = skipping_on.read.parquet(t).where("id = 7")
    location = chosen._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0).relation().location()
    assert location.allFiles().size() == 1
    location.refresh()
    assert location.allFiles().size() == FILES
