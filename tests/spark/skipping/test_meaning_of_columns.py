"""Metadata of a column that a query reads differently from the collecting pass is not used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType
from skipping_tables import aged, files_read, lines_of, settings_of
from starskip.errors import ConfigError, SourceError
from starskip.skipping.registry import load_modules
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

Table = Callable[..., str]
ZONE = "spark.sql.session.timeZone"
_HOURS = """
from dataclasses import dataclass
import numpy as np
from starskip.skipping.clause import Clause
from starskip.predicates.expression import Call, Literal
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import register

@register
class Hours(ColumnIndex):
    kind = "hours"
    families = frozenset({"timestamp"})

    def aggregates(self, columns):
        return {"hours": f"bit_or(shiftleft(1, hour({columns[0]})))"}

    def label(self, node):
        match node:
            case Call("EqualTo", (Call("Hour", (column,)), Literal() as hour)) if self.is_of(column):
                return HasHour(self.specification, hour.python)
        return None

@dataclass(frozen=True)
class HasHour(Clause):
    index: str
    hour: int

    def may_match(self, metadata):
        hours = metadata.column(self.index, "hours").fill_null(-1).to_numpy()
        return (hours >> self.hour) % 2 == 1
"""


@pytest.fixture
def hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of a user's own, which Spark's workers do not find by themselves."""
    (tmp_path / "hours_of_a_user.py").write_text(_HOURS)
    monkeypatch.syspath_prepend(tmp_path)
    load_modules(["hours_of_a_user"])
    yield "hours:ts"
    del sys.modules["hours_of_a_user"]


def test_an_index_type_of_ones_own_answers_in_the_zone_that_it_collected_in(
    skipping_on: SparkSession, table_of: Table, hours: str
) -> None:
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("timestamp_seconds((id div 10) * 3600) AS ts")
    path = table_of(frame, hours, "minmax:ts", name="hours")
    first, second = (f"SELECT * FROM parquet.`{path}` WHERE hour(ts) = {hour}" for hour in (1, 10))
    assert skipping_on.sql(first).count() == 10
    assert files_read(skipping_on) == 1
    made_before = skipping_on.sql(first)
    with settings_of(skipping_on, {ZONE: "Asia/Tokyo"}):
        assert skipping_on.sql(second).count() == 10
        (stats,) = skipping.last_query_stats(skipping_on)
        assert stats["files_read"] == 4
        assert stats["not_skipped_because"][0] == f"hours:ts: collected with another {ZONE}: refresh"
        # What comes with Starskip is of no zone.
        query = f"SELECT * FROM parquet.`{path}` WHERE ts < TIMESTAMP'1970-01-01T00:30:00Z'"
        assert skipping_on.sql(query).count() == 10
        assert files_read(skipping_on) == 1
        skipping.refresh(skipping_on, path)
        assert skipping_on.sql(second).count() == 10
        assert files_read(skipping_on) == 1
        # Analysed in another zone than that in which it is planned.
        assert len(made_before.collect()) == 10


def test_partitions_that_the_catalog_has_moved_on_a_second_look(
    skipping_on: SparkSession, table_of: Table
) -> None:
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "cast(id div 10 AS INT) AS p")
    path = table_of(frame, name="swapped", by=("p",))
    skipping_on.sql(
        f"CREATE TABLE swapped (id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{path}'"
    )
    try:
        skipping_on.sql("MSCK REPAIR TABLE swapped")
        skipping.create(skipping_on, skipping_on.table("swapped"), ["minmax:p"])
        for value, place in ((1, 2), (2, 1)):
            skipping_on.sql(f"ALTER TABLE swapped PARTITION (p = {value}) SET LOCATION '{path}/p={place}'")
        skipping_on.range(40).createOrReplaceTempView("numbers")
        query = (
            "SELECT id, (SELECT max(m.id) FROM swapped m WHERE m.id = n.id AND m.p = 1) AS m FROM numbers n"
        )
        found = [row["m"] for row in skipping_on.sql(query).collect() if row["m"] is not None]
        assert sorted(found) == list(range(20, 30))
        pruned = skipping.skip(skipping_on.sql("SELECT id FROM swapped WHERE p = 1"))
        assert sorted(row["id"] for row in pruned.collect()) == list(range(20, 30))
    finally:
        skipping_on.sql("DROP TABLE swapped")


def test_a_partition_of_a_frame_that_was_made_in_another_zone(
    skipping_on: SparkSession, table_of: Table
) -> None:
    days = "IF(id < 5, '2020-01-01 00:00:00', '2020-01-01 09:00:00') AS t"
    path = table_of(skipping_on.range(0, 10, 1, 1).selectExpr("id", days), "minmax:t", name="z", by=("t",))
    query = "t = TIMESTAMP'2020-01-01 00:00:00Z'"
    assert skipping_on.read.parquet(path).where(query).count() == 5
    with settings_of(skipping_on, {ZONE: "Asia/Tokyo"}):
        frame = skipping_on.read.parquet(path)
    assert [row["id"] for row in frame.where(query).collect()] == list(range(5, 10))


def test_a_decimal_of_a_path_is_what_spark_prunes_by(skipping_on: SparkSession, tmp_path: Path) -> None:
    for value in ("1.5", "2.25"):
        skipping_on.range(3).coalesce(1).write.parquet(str(tmp_path / "decimals" / f"p={value}"))
    aged(tmp_path)
    frame = skipping_on.read.schema("id bigint, p decimal(10,2)").parquet(str(tmp_path / "decimals"))
    skipping.create(skipping_on, frame, ["bloom:p", "minmax:p"])
    assert frame.where("p = 1.50").count() == 3


@pytest.mark.parametrize("index", ["minmax:a", "valuelist:a", "bloom:a", "nulls:a"])
def test_lines_that_end_within_a_value(skipping_on: SparkSession, tmp_path: Path, index: str) -> None:
    """Read alone ``a`` is null, for the error is met before; with ``b`` it is what was read until then."""
    lines = {"a.json": '{"a": 2, "b": {"x":', "b.json": '{"a": 7, "b": {"x": 1}}'}
    path = lines_of(tmp_path / "cut", lines)
    own = skipping_on.read.schema("a int, b struct<x: int>, _corrupt_record string")
    for reader in (skipping_on.read.schema("a int, b struct<x: int>"), own):
        skipping.create(skipping_on, reader.json(path), [index])
        for query in ("a = 2", "a IS NOT NULL AND a < 5", "a IS NULL"):
            for columns in (["*"], ["a"]):
                found = [reader.json(path).where(query).select(columns).collect()]
                skipping.disable(skipping_on)
                found.append(reader.json(path).where(query).select(columns).collect())
                skipping.enable(skipping_on)
                assert found[0] == found[1]
        if index in ("minmax:a", "valuelist:a"):
            assert len(reader.json(path).where("a = 5").collect()) == 0
            assert files_read(skipping_on) == 1


@pytest.mark.parametrize("options", [{"escape": '"'}, {"unescapedQuoteHandling": "BACK_TO_DELIMITER"}])
def test_csv_whose_values_depend_on_the_columns_that_are_read(
    skipping_on: SparkSession, tmp_path: Path, options: Mapping[str, str]
) -> None:
    quoted = ',b,"a",","\n"",",b","",",a""bb"'
    path = lines_of(tmp_path / "quoted", {"a.csv": quoted, "b.csv": "x,y,z,w"})
    schema = "c0 string, c1 string, c2 string, c3 string"

    def read(**more: str) -> DataFrame:
        return skipping_on.read.options(**options, **more).schema(schema).csv(path)

    with pytest.raises(SourceError, match="set the option columnPruning to false"):
        skipping.create(skipping_on, read(), ["valuelist:c1"])
    skipping.create(skipping_on, read(columnPruning="false"), ["valuelist:c1"])
    for frame in (read(), read(columnPruning="false")):
        plain = len(read(columnPruning="false").where("c1 LIKE '%b%'").collect())
        assert len(frame.where("c1 LIKE '%b%'").collect()) == plain
    assert len(read(columnPruning="false").where("c1 = 'y'").collect()) == 1
    assert files_read(skipping_on) == 1


def test_defaults_of_columns_that_were_added_are_what_the_session_makes_of_them(
    skipping_on: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "added"
    skipping_on.sql(f"CREATE TABLE added (id INT) USING parquet LOCATION '{path}'")
    try:
        skipping_on.sql("INSERT INTO added VALUES (1)")
        skipping_on.sql("ALTER TABLE added ADD COLUMN (ts TIMESTAMP DEFAULT TIMESTAMP'2020-01-01 00:00:00')")
        skipping_on.sql("INSERT INTO added VALUES (7, TIMESTAMP'2021-01-01 00:00:00')")
        aged(path)
        skipping_on.sql("REFRESH TABLE added")
        skipping.create(skipping_on, skipping_on.table("added"), ["minmax:ts"])
        query = "SELECT id FROM added WHERE ts = TIMESTAMP'2020-01-01 00:00:00'"
        assert skipping_on.sql(query).count() == 1
        assert files_read(skipping_on) == 1
        with settings_of(skipping_on, {ZONE: "Asia/Tokyo"}):
            assert skipping_on.sql(query).count() == 1
    finally:
        skipping_on.sql("DROP TABLE added")


def test_texts_that_are_filled_up_with_spaces_or_not(skipping_on: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "chars"
    skipping_on.sql(f"CREATE TABLE chars (id INT, c CHAR(5)) USING parquet LOCATION '{path}'")
    try:
        for number, text in enumerate(("ab", "cd")):
            rows = skipping_on.sql(f"SELECT {number} AS id, '{text}' AS c").coalesce(1)
            rows.write.mode("append").parquet(str(path))
        aged(path)
        skipping_on.sql("REFRESH TABLE chars")
        skipping.create(skipping_on, skipping_on.table("chars"), ["valuelist:c"])
        for setting, value, condition in (
            ("spark.sql.legacy.charVarcharAsString", "true", "c = 'ab'"),
            ("spark.sql.readSideCharPadding", "false", "c LIKE 'ab'"),
        ):
            with settings_of(skipping_on, {setting: value}):
                assert skipping_on.sql(f"SELECT id FROM chars WHERE {condition}").count() == 1
    finally:
        skipping_on.sql("DROP TABLE chars")


def test_structs_that_are_null_where_all_fields_that_are_read_are_missing(
    skipping_on: SparkSession, table_of: Table
) -> None:
    path = table_of(skipping_on.sql("SELECT named_struct('b', 1) AS a"), name="structs")
    with settings_of(skipping_on, {"spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "true"}):
        frame = skipping_on.read.schema("a struct<b: int, n: int>").parquet(path)
        with pytest.raises(SourceError, match="null structs depend on the columns that are read"):
            skipping.create(skipping_on, frame, ["nulls:a"])


def test_columns_whose_names_look_like_patterns(skipping_on: SparkSession, tmp_path: Path) -> None:
    for value in (1, 2):
        frame = skipping_on.sql(f"SELECT {value} AS `price(usd)`, {value + 100} AS priceusd").coalesce(1)
        frame.write.mode("append").parquet(str(tmp_path / "t"))
    aged(tmp_path)
    with settings_of(skipping_on, {"spark.sql.parser.quotedRegexColumnNames": "true"}):
        skipping.create(skipping_on, str(tmp_path / "t"), ["valuelist:`price(usd)`"])
    assert skipping_on.read.parquet(str(tmp_path / "t")).where("`price(usd)` = 1").count() == 1
    assert files_read(skipping_on) == 1


def test_lines_that_are_too_long_for_hadoop(skipping_on: SparkSession, tmp_path: Path) -> None:
    path = lines_of(tmp_path / "long", {"a.csv": "1," + "x" * 50, "b.csv": "3,z"})
    reader = skipping_on.read.schema("a int, b string")
    with settings_of(skipping_on, {"mapreduce.input.linerecordreader.line.maxlength": "20"}):
        skipping.create(skipping_on, reader.csv(path), ["valuelist:a"])
    assert reader.csv(path).where("a = 1").count() == 1


def test_scans_of_many_folders_that_are_alike_but_for_their_paths(
    skipping_on: SparkSession, tmp_path: Path
) -> None:
    folders = [tmp_path / "many" / f"f{number:02d}" for number in range(33)]
    lines = {}
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        lines[folder] = f"{5 + (number - 1) % 16 % 2},{number:02d}\n"
        (folder / "part.csv").write_text(lines[folder])
    aged(tmp_path / "many")
    reader = skipping_on.read.schema("x int, y int")
    whole = reader.option("recursiveFileLookup", "true").csv(str(tmp_path / "many"))
    skipping.create(skipping_on, whole, ["minmax:x"])
    reader = skipping_on.read.schema("x int, y int")
    parts = (
        reader.csv([str(folders[0]), *map(str, half)]).where("x = 5").groupBy("y").count()
        for half in (folders[1:17], folders[17:])
    )
    first, second = parts
    found = sorted(row["y"] for row in first.unionAll(second).collect())
    expected = [int(lines[each][2:]) for each in folders[1:] if lines[each].startswith("5")]
    zero = [0, 0] if lines[folders[0]].startswith("5") else []
    assert found == sorted([*zero, *expected])


def test_parquet_by_some_of_its_columns(skipping_on: SparkSession, table_of: Table) -> None:
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "id * 2 AS twice", "cast(id AS string) AS text")
    path = table_of(frame, "minmax:id", "minmax:twice", name="wide")
    some = skipping_on.read.schema("id bigint, twice int").parquet(path)
    assert some.where("id = 5").select("id").count() == 1
    assert files_read(skipping_on) == 1
    # Of another type it is another column.
    (stats,) = skipping.explain(
        skipping_on.read.schema("id bigint, twice int").parquet(path).where("twice = 10")
    )
    assert stats["files_read"] == 4
    assert "another schema" in stats["not_skipped_because"][0]


def test_structs_that_are_found_by_field_ids(skipping_on: SparkSession, tmp_path: Path) -> None:
    spark, path = skipping_on, str(tmp_path / "t")

    def schema(name: str) -> StructType:
        def field(number: int, name: str, kind: DataType) -> StructField:
            return StructField(name, kind, metadata={"parquet.field.id": number})

        inner = StructType([field(3, "a", LongType()), field(4, "b", StringType())])
        return StructType([field(1, "id", LongType()), field(2, name, inner)])

    ids = ("write", "read")
    with settings_of(spark, {f"spark.sql.parquet.fieldId.{each}.enabled": "true" for each in ids}):
        rows = spark.createDataFrame([(number, (number, f"q{number}")) for number in (1, 2)], schema("was"))
        rows.repartitionByRange(2, "id").write.parquet(path)
        aged(tmp_path / "t")
        renamed = spark.read.schema(schema("st")).parquet(path)
        # Of a field alone Spark reads nulls, of the whole struct its values.
        assert renamed.where("st.b = 'q2'").select("id").collect() == []
        assert renamed.where("st.b = 'q2'").count() in (0, 1)
        assert len(renamed.where("st.b = 'q2'").collect()) == 1
        with pytest.raises(ConfigError, match=r"valuelist:st.b: Spark finds st by its field id"):
            skipping.create(spark, renamed, ["valuelist:st.b"])
        skipping.create(spark, renamed, ["valuelist:id"])
        assert len(renamed.where("id = 2").collect()) == 1
        assert files_read(spark) == 1
