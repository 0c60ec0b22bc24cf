"""The lifecycle of a real table's indexes, in Python and by the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.file_metadata.open_metadata import open_metadata
from starskip.spark import skipping
from starskip.spark.skipping import list_files, spark_reader
from starskip.spark.skipping.table_relation import TableRelation

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    folder = tmp_path / "t é"
    rows = spark.range(60).selectExpr("id", "cast(id % 9 AS string) AS s", "id div 20 AS p")
    rows.repartitionByRange(3, "id").write.partitionBy("p").parquet(str(folder))
    for checksum in folder.rglob("*.crc"):
        checksum.unlink()
    aged(folder)
    return folder


def known(folder: Path) -> dict[str, tuple[Any, Any]]:
    metadata = open_metadata(str(folder / "_starskip"))
    assert metadata is not None and metadata.trusted.all()
    values = metadata.column("valuelist:s", "values").to_pylist()
    bounds = metadata.column("minmax:id", "max").to_pylist()
    names = [path.removeprefix(f"file:{folder}/") for path in metadata.paths.to_pylist()]
    lists = [None if each is None else frozenset(each) for each in values]
    return dict(zip(names, zip(bounds, lists, strict=True), strict=True))


def names_read(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Return a list to which the names of the files are added that each pass reads."""
    read: list[set[str]] = []
    rows = TableRelation.rows

    def noted(self: TableRelation, file_index: Any) -> Any:
        files = file_index.allFiles()
        read.append({files.apply(at).getPath().getName() for at in range(files.size())})
        return rows(self, file_index)

    monkeypatch.setattr(TableRelation, "rows", noted)
    return read


def test_a_refresh_reads_only_what_has_changed(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = names_read(monkeypatch)
    done = skipping.create(spark, str(table), ["minmax:ID", "valuelist:s"])
    assert (done.files, done.version, len(read), len(read[0])) == (3, 1, 1, 3)
    assert done.indexes == ("minmax:id", "valuelist:s")
    before = known(table)
    assert max(bound for bound, _ in before.values()) == 59
    kept, rewritten, gone = sorted(before)
    (table / gone).unlink()
    again = spark.range(100, 103).selectExpr("id", "'new' AS s", "1 AS p").coalesce(1)
    again.write.partitionBy("p").parquet(str(table.with_name("more")))
    (new,) = table.with_name("more").rglob("*.parquet")
    shutil.copy(new, table / rewritten)
    shutil.copy(new, table / "p=7.parquet")
    (table / "p=8").mkdir()
    (table / "p=7.parquet").rename(table / "p=8" / "x.parquet")
    aged(table)
    done = skipping.refresh(spark, str(table))
    assert (done.collected_files, done.unchanged_files, done.gone_files) == (2, 1, 1)
    assert read[1:] == [{Path(rewritten).name, "x.parquet"}]
    new_row = (102, frozenset({"new"}))
    assert known(table) == {kept: before[kept], rewritten: new_row, "p=8/x.parquet": new_row}
    assert skipping.refresh(spark, str(table)).collected_files == 0
    assert len(read) == 2
    skipping.optimize(spark, str(table))
    assert known(table) == {kept: before[kept], rewritten: new_row, "p=8/x.parquet": new_row}
    assert skipping.refresh(spark, str(table), full=True).collected_files == 3


def test_files_that_change_or_vanish_while_they_are_read(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted(path for path in table.rglob("*.parquet"))
    collect = spark_reader.collect
    passes: list[int] = []

    def meanwhile(*arguments: Any) -> Any:
        passes.append(1)
        if len(passes) == 1:
            names[0].unlink()
        found = collect(*arguments)
        shutil.copy(names[2], names[1])
        return found

    monkeypatch.setattr(spark_reader, "collect", meanwhile)
    done = skipping.create(spark, str(table), ["minmax:id", "valuelist:s"])
    assert (len(passes), done.files, done.changed_meanwhile) == (2, 2, 1)
    assert known(table).keys() == {str(names[2].relative_to(table))}
    monkeypatch.undo()
    skipping.refresh(spark, str(table))
    assert known(table).keys() == {str(name.relative_to(table)) for name in names[1:]}


def test_more_changed_files_are_compared_by_one_listing(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_files, "_ASKED_ONE_BY_ONE", 0)
    monkeypatch.setattr(
        spark_reader, "collect", changing(spark_reader.collect, next(table.rglob("*.parquet")))
    )
    assert skipping.create(spark, str(table), ["valuelist:s"]).changed_meanwhile == 1


def changing(collect: Callable[..., Any], path: Path) -> Callable[..., Any]:
    def meanwhile(*arguments: Any) -> Any:
        found = collect(*arguments)
        path.unlink()
        return found

    return meanwhile


def test_a_frame_and_the_session_stay_as_they_are(spark: SparkSession, table: Path) -> None:
    frame = spark.read.parquet(str(table))
    settings, active = dict(spark.conf.getAll), SparkSession.getActiveSession()
    (first, *_) = table.rglob("*.parquet")
    shutil.copy(first, first.with_name("later.parquet"))
    aged(table)
    done = skipping.create(spark, frame, ["valuelist:s", "minmax:id"])
    assert done.files == 4 and len(frame.inputFiles()) == 3
    assert dict(spark.conf.getAll) == settings
    assert SparkSession.getActiveSession() is active


def test_a_catalog_table_and_a_root_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    location = tmp_path / "w" / "events"
    spark.sql(
        f"CREATE TABLE events (id bigint, p int) USING parquet PARTITIONED BY (p) LOCATION '{location}'"
    )
    spark.conf.set("starskip.metadata.root", str(tmp_path / "meta"))
    try:
        spark.range(20).selectExpr("id", "cast(id % 2 AS int)").coalesce(1).write.insertInto("events")
        aged(location)
        done = skipping.create(spark, spark.table("events"), ["minmax:id", "minmax:p"])
        assert done.location.startswith(str(tmp_path / "meta")) and done.files == 2
        spark.sql("INSERT INTO events VALUES (77, 5)")
        aged(location)
        done = skipping.refresh(spark, spark.table("events"))
        assert (done.files, done.unchanged_files, done.in_full) == (3, 2, False)
        assert skipping.list_indexes(spark, str(location)) == ["minmax:id", "minmax:p"]
        metadata = open_metadata(done.location)
        assert metadata is not None
        assert sorted(metadata.column("minmax:p", "max").to_pylist()) == [0, 1, 5]
    finally:
        spark.conf.unset("starskip.metadata.root")
        spark.sql("DROP TABLE events")


def test_another_schema_or_option_is_read_in_full(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text("1;2\n")
    aged(folder)
    skipping.create(
        spark, spark.read.schema("a int, b int").option("sep", ";").csv(str(folder)), ["minmax:a"]
    )
    assert not skipping.refresh(spark, str(folder)).in_full
    other = spark.read.schema("a string, b int").option("sep", ";").csv(str(folder))
    assert skipping.refresh(spark, other).in_full
    metadata = open_metadata(str(folder / "_starskip"))
    assert metadata is not None and metadata.column("minmax:a", "max").to_pylist() == ["1"]


def test_young_files_are_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).coalesce(1).write.parquet(str(tmp_path / "t"))
    location = skipping.create(spark, str(tmp_path / "t"), ["minmax:id"]).location
    metadata = open_metadata(location)
    assert metadata is not None and metadata.trusted.tolist() == [True]


def starskip(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["skipping", *arguments])


def test_the_command_line_from_create_to_vacuum(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    path, root = str(table), str(tmp_path / "meta")
    made = starskip("create", path, "--index", "minmax:id", "--index", "valuelist:s", "--metadata", root)
    assert made.exit_code == 0, made.output
    assert made.output.startswith("version 1: 3 files read, 0 unchanged; in ")

    def run(command: str, *arguments: str) -> str:
        found = starskip(command, path, *arguments, "--metadata", root)
        assert found.exit_code == 0, found.output
        return found.output

    assert run("refresh").startswith("version 1: 0 files read, 3 unchanged")
    assert run("refresh", "--full").startswith("version 2: 3 files read")
    assert "3 files of parquet" in run("describe") and "valuelist:s  active" in run("describe")
    assert json.loads(run("describe", "--format", "json"))["rows"] == 60
    assert run("delete", "--index", "valuelist:s") == "version 3: valuelist:s deleted\n"
    told = {each["index"]: each["state"] for each in json.loads(run("list", "--format", "json"))}
    assert told == {"minmax:id": "active", "valuelist:s": "deleted"}
    assert run("restore") == "version 4: all indexes restored\n"
    assert run("optimize") == "nothing to optimize: it is one piece already\n"
    assert "removed 0 files" in run("vacuum")
    assert "removed 0 files" not in run("vacuum", "--grace-hours", "0")
    try:
        explained = json.loads(run("explain", "WHERE id = 3", "--format", "json"))
        assert (explained["files_total"], explained["files_read"]) == (3, 1)
        assert explained["skipped_by"]["minmax:id"] == 2
        text = run("explain", "id < 20 AND s = '1'")
        assert "reads 1 of 3 files" in text and "minmax:id" in text
        assert starskip("explain", path, "nope = 3", "--metadata", root).output.startswith("starskip: ")
    finally:
        skipping.disable(spark)
    assert skipping.describe(spark, path, metadata_root=root)["version"] == 4
    assert skipping.vacuum(spark, path, grace=timedelta(0), metadata_root=root).removed == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "PATH", "--index", "minmax:nope"], "the table has no column nope; it has id, s, p"),
        (["optimize", "hdfs://x/t"], "hdfs://… is not known here"),
    ],
)
def test_what_is_wrong_is_one_line(
    spark: SparkSession, table: Path, arguments: list[str], message: str
) -> None:
    found = starskip(*[str(table) if each == "PATH" else each for each in arguments])
    assert found.exit_code == 3, found.output
    assert message in found.output and len(found.output.splitlines()) == 1
    assert not (table / "_starskip").exists()


@pytest.mark.parametrize("line", ["{key} {root}", "{key}={root}", "  {key} :  {root}  "])
def test_commands_look_for_metadata_where_sparks_own_configuration_says(
    spark: SparkSession, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    root = str(tmp_path / "meta")
    skipping.create(spark, str(table), ["minmax:id"], metadata_root=root)
    told = line.format(key="spark.starskip.metadata.root", root=root)
    (tmp_path / "spark-defaults.conf").write_text(f"# spark.starskip.metadata.root /old\nspark.x 1\n{told}\n")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert starskip("list", str(table)).exit_code == 3
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = starskip("list", str(table))
    assert found.exit_code == 0 and "minmax:id" in found.output
    assert starskip("delete", str(table)).exit_code == 0
    assert skipping.list_indexes(spark, str(table), metadata_root=root) == []
