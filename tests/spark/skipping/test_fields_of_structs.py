"""Indexes of fields of structs that were renamed, or that files have under other names, in both formats."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lake_formats import new_table
from pyspark.sql import SparkSession
from skipping_tables import aged, settings_of
from starskip.file_metadata import table_source
from starskip.predicates.column_name import column_name, quoted
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, describe_indexes, refresh_indexes
from starskip.spark import skipping
from starskip.spark.skipping import lake_relation
from starskip.spark.skipping.table_finder import metadata_changed

pytestmark = [pytest.mark.spark, pytest.mark.table_formats]
FORMATS = (pytest.param("delta", marks=pytest.mark.slow), "iceberg")
"""Most cases hold for both formats alike: Iceberg each day, Delta in its shard."""
SANITISED = ("x y", "a-b", "a.b", "1a", "a%", "é", "日", "a`b", "SELECT", "$a")
"""Names of which Iceberg writes others into files, and some that it leaves."""


class Structs:
    """A table of three files, each with one value of ``b`` and of ``s.x`` in each struct."""

    def __init__(
        self, spark: SparkSession, table_format: str, places: tuple[Path, Path], *columns: str
    ) -> None:
        self.spark, self.columns = spark, [quoted(column_name((each,))) for each in columns]
        self.name, self.path = new_table(table_format, *places)
        told = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if table_format == "delta" else ""
        kind = "struct<a: int, b: string, s: struct<x: double, y: date>>"
        columns = ", ".join(f"{each} {kind}" for each in self.columns)
        self.sql(f"CREATE TABLE {{t}} (id bigint, u string, {columns}) USING {table_format} {told}")
        for number in (1, 2, 3):
            self.insert(number)

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", self.name))

    def insert(self, number: int, more: str = "") -> None:
        inner = f"named_struct('x', {number}.0D, 'y', DATE'2024-01-01')"
        fields = f"named_struct('a', {number}, 'b', 'q{number}', 's', {inner})"
        structs = ", ".join([fields] * len(self.columns))
        self.sql(f"INSERT INTO {{t}} SELECT {number}L, 'u{number}', {structs}{more}")

    def ids(self, condition: str) -> list[int]:
        query = f"SELECT id FROM {self.name} WHERE {condition}"
        return sorted(row[0] for row in self.spark.sql(query).collect())

    def check(self, conditions: Sequence[str], read: int | None = None) -> list[dict[str, Any]]:
        """Compare rows with those without skipping; ``read``: the files that are read of each."""
        found = []
        for condition in conditions:
            with settings_of(self.spark, {"spark.starskip.skipping.enabled": "false"}):
                wanted = self.ids(condition)
            assert wanted, condition
            assert self.ids(condition) == wanted, condition
            (stats,) = skipping.last_query_stats(self.spark)
            assert read is None or stats["files_read"] == read, (condition, stats)
            found.append(stats)
        return found


@pytest.fixture
def places(tmp_path: Path, warehouse: Path) -> tuple[Path, Path]:
    return tmp_path, warehouse


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_struct_that_was_renamed(
    skipping_on: SparkSession, places: tuple[Path, Path], table_format: str
) -> None:
    table = Structs(skipping_on, table_format, places, "st")
    table.sql("ALTER TABLE {t} RENAME COLUMN st TO st2")
    skipping.create(skipping_on, table.path, ["bloom:st2.b:0.0001", "gaplist:st2.s.x:2"])
    asked = ["st2.b = 'q2'", "st2.s.x = 2 AND st2.b = 'q2'"]
    table.check(asked, 1)
    table.insert(4)
    skipping.refresh(skipping_on, table.path)
    table.check([*asked, "st2.b = 'q4'"], 1)
    table.sql("ALTER TABLE {t} RENAME COLUMN st2 TO st3")
    table.insert(5)
    skipping.refresh(skipping_on, table.path)
    table.check(["st3.b = 'q2'", "st3.b = 'q5'"], 1)
    table.sql("ALTER TABLE {t} RENAME COLUMN st3.s TO t")
    skipping.refresh(skipping_on, table.path, full=True)
    table.check(["st3.b = 'q2'", "st3.t.x = 5 AND st3.b = 'q5'"], 1)
    create_indexes(table.path, ["btree:st3.b"])
    for condition in ("st3.b = 'q2'", "st3.b IN ('q1', 'q5')"):
        assert sorted(open_table(table.path).query(condition, ["id"])["id"].to_pylist()) == table.ids(
            condition
        )


@pytest.mark.slow
@pytest.mark.parametrize("table_format", FORMATS)
def test_two_structs_that_swap_their_names(
    skipping_on: SparkSession, places: tuple[Path, Path], table_format: str
) -> None:
    table = Structs(skipping_on, table_format, places, "st")
    skipping.create(skipping_on, table.path, ["bloom:st.b:0.0001"])
    table.sql("ALTER TABLE {t} ADD COLUMN st9 struct<a: int, b: string>")
    table.insert(7, ", named_struct('a', 70, 'b', 'z7')")
    for old, new in (("st", "tmp"), ("st9", "st"), ("tmp", "st9")):
        table.sql(f"ALTER TABLE {{t}} RENAME COLUMN {old} TO {new}")
    skipping.refresh(skipping_on, table.path)
    asked = ["st.b = 'z7'", "st9.b = 'q7'", "st9.b = 'q2'", "st.b IS NULL"]
    table.check(asked)
    skipping.delete(skipping_on, table.path)
    skipping.vacuum(skipping_on, table.path, grace=timedelta(0))
    skipping.create(skipping_on, table.path, ["valuelist:st.b", "valuelist:st9.b"])
    table.check(asked)


@pytest.mark.slow
@pytest.mark.parametrize("table_format", FORMATS)
def test_names_that_files_do_not_have(
    skipping_on: SparkSession, places: tuple[Path, Path], table_format: str
) -> None:
    table = Structs(skipping_on, table_format, places, *SANITISED)
    indexes = [f"{kind}:{name}.b" for name in table.columns for kind in ("valuelist", "bloom")]
    skipping.create(skipping_on, table.path, [*indexes, *(f"gaplist:{name}.s.x:2" for name in table.columns)])
    for name in table.columns:
        table.check([f"{name}.b = 'q2'", f"{name}.s.x <= 1 AND {name}.b = 'q1'"], 1)


@pytest.mark.parametrize("table_format", ["files", *FORMATS])
def test_what_was_collected_in_an_older_way_is_told_and_not_believed(
    skipping_on: SparkSession,
    places: tuple[Path, Path],
    table_format: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if table_format == "files":
        path = str(places[0] / "plain")
        rows = "id, named_struct('b', concat('q', id)) st2 FROM range(1, 4, 1, 1)"
        skipping_on.sql(f"SELECT {rows}").repartition(3).write.parquet(path)
        aged(Path(path))
        query = f"SELECT id FROM parquet.`{path}` WHERE st2.b = 'q2'"
    else:
        table = Structs(skipping_on, table_format, places, "st")
        table.sql("ALTER TABLE {t} RENAME COLUMN st TO st2")
        path, query = table.path, f"SELECT id FROM {table.name} WHERE st2.b = 'q2'"
    with monkeypatch.context() as former:
        former.setattr(table_source, "_COLLECTED_AS", 1)
        pruning = {"spark.sql.optimizer.nestedSchemaPruning.enabled": "true"}
        former.setattr(lake_relation, "_OF_ICEBERG", {**lake_relation._OF_ICEBERG, **pruning})
        skipping.create(skipping_on, path, ["bloom:st2.b:0.0001"])
        create_indexes(path, ["btree:st2.b"])
        if table_format == "iceberg":
            # The fault itself: all values were collected as nulls.
            assert skipping_on.sql(query).collect() == []

    metadata_changed()

    def asked() -> tuple[list[int], dict[str, Any]]:
        found = [row[0] for row in skipping_on.sql(query).collect()]
        (stats,) = skipping.last_query_stats(skipping_on)
        assert open_table(path).query("st2.b = 'q2'", ["id"])["id"].to_pylist() == found
        return found, stats

    found, stats = asked()
    assert found == [2]
    assert {*stats["skipped_by"]} <= {table_format}, stats
    assert "earlier version of Starskip" in str(stats["not_skipped_because"])
    assert "until then all files are scanned" in caplog.text
    assert "refresh" in skipping.describe(skipping_on, path)["outdated"]
    assert "refresh" in describe_indexes(path)["outdated"]
    done = skipping.refresh(skipping_on, path)
    assert (done.in_full, done.collected_files) == (True, 3)
    assert refresh_indexes(path).collected_files == 3
    caplog.clear()
    found, stats = asked()
    assert (found, stats["files_read"]) == ([2], 1)
    assert "earlier" not in str(stats["not_skipped_because"])
    assert caplog.text == ""
