"""Tables with files that Spark cannot read: named and left out, read by queries as ever, tried again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.errors import SourceError, StarskipError
from starskip.file_metadata.collect_order import CollectOrder
from starskip.file_metadata.commit_refresh import PlanOvertaken
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.table_files import DamagedFiles
from starskip.file_metadata.table_metadata import COLUMNS
from starskip.spark import skipping
from starskip.spark.skipping.collect_tasks import reading_failures
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.skipping.table_relation import TableRelation

pytestmark = [pytest.mark.slow, pytest.mark.spark]
ODD = "z. SQLSTATE é %41 "


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Callable[[str], Path]:
    """Write three files of ids up to 59, and a truncated one and one of garbage of the ids from 60 on."""

    def made(file_format: str) -> Path:
        folder = tmp_path / "t é"
        rows = spark.range(60).selectExpr("id", "cast(id % 9 AS string) AS s")
        rows.repartitionByRange(3, "id").write.format(file_format).save(str(folder))
        more = spark.range(60, 80).selectExpr("id", "'new' AS s").coalesce(1)
        more.write.format(file_format).save(str(tmp_path / "more"))
        whole = good_file(tmp_path, file_format).read_bytes()
        for checksum in folder.rglob("*.crc"):
            checksum.unlink()
        (folder / f"{ODD}1.{file_format}").write_bytes(whole[: len(whole) // 2])
        (folder / f"{ODD}2.{file_format}").write_bytes(b"garbage" * 300)
        aged(folder)
        return folder

    return made


def good_file(tmp_path: Path, file_format: str) -> Path:
    return next((tmp_path / "more").glob(f"*.{file_format}"))


def mended(tmp_path: Path, folder: Path) -> None:
    for path in folder.glob(f"{ODD}*"):
        shutil.copy(good_file(tmp_path, path.suffix[1:]), path)
    aged(folder)


def known(folder: Path) -> dict[str, Any]:
    """Return the greatest id, or the values of s, by file."""
    metadata = open_metadata(str(folder / "_starskip"))
    assert metadata is not None
    (name,) = metadata.state.active[:1]
    values = metadata.column(name, "max" if name == "minmax:id" else "values").to_pylist()
    return dict(zip(metadata.paths.to_pylist(), values, strict=True))


def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each pass over rows adds how many files it reads."""
    read: list[int] = []
    rows = TableRelation.rows

    def noted(self: TableRelation, file_index: Any) -> Any:
        read.append(file_index.allFiles().size())
        return rows(self, file_index)

    monkeypatch.setattr(TableRelation, "rows", noted)
    return read


@pytest.mark.parametrize(
    ("file_format", "indexes", "read"),
    [
        ("parquet", ["minmax:id"], []),
        ("parquet", ["valuelist:s"], [5, 3]),
        ("orc", ["minmax:id", "valuelist:s"], [5, 4, 3]),
    ],
)
def test_a_damaged_file_is_named_and_the_others_are_indexed(
    skipping_on: SparkSession,
    tmp_path: Path,
    table: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    file_format: str,
    indexes: list[str],
    read: list[int],
) -> None:
    folder = table(file_format)
    damaged = sorted(f"file:{path}" for path in folder.glob(f"{ODD}*"))

    def frame() -> Any:
        # Of ORC files Spark reads a schema from whichever comes first.
        return skipping_on.read.schema("id long, s string").format(file_format).load(str(folder))

    with monkeypatch.context() as watched:
        found = passes(watched)
        done = skipping.create(skipping_on, frame(), indexes)
        assert found == read
    assert (done.files, done.collected_files, done.damaged_files) == (5, 3, tuple(damaged))
    told = [record.getMessage() for record in caplog.records if record.name == "starskip.skipping"]
    assert len(told) == 2
    for line, path in zip(told, damaged, strict=True):
        assert line.startswith(f"{path}: left out, cannot be read: ")
    before = known(folder)
    assert len(before) == 3 and before.keys().isdisjoint(damaged)
    # No index says of the damaged ones that no row of theirs is asked for.
    with pytest.raises((PySparkException, Py4JError), match="FAILED_READ_FILE"):
        frame().where("id = 3 AND s = '3'").collect()
    skipping.disable(skipping_on)
    with pytest.raises((PySparkException, Py4JError), match="FAILED_READ_FILE"):
        frame().where("id = 3 AND s = '3'").collect()
    skipping.enable(skipping_on)
    again = skipping.refresh(skipping_on, frame())
    assert (again.version, again.unchanged_files, again.damaged_files) == (1, 3, tuple(damaged))
    mended(tmp_path, folder)
    again = skipping.refresh(skipping_on, frame())
    assert (again.collected_files, again.unchanged_files, again.damaged_files) == (2, 3, ())
    new = 79 if indexes[0] == "minmax:id" else ["new"]
    assert known(folder) == before | dict.fromkeys(damaged, new)
    assert frame().where("id = 79 AND s = 'new'").count() == 2


def test_a_footer_that_nobody_understands(
    spark: SparkSession, tmp_path: Path, table: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = table("parquet")
    for path in folder.glob(f"{ODD}*"):
        path.unlink()
    whole = good_file(tmp_path, "parquet").read_bytes()
    path = folder / f"{ODD}.parquet"
    path.write_bytes(whole[:-40] + b"\x99" * 32 + whole[-8:])
    aged(folder)
    read = passes(monkeypatch)
    done = skipping.create(spark, str(folder), ["minmax:id"])
    assert (done.collected_files, done.damaged_files, read) == (3, (f"file:{path}",), [1])


def test_the_command_tells_how_many_are_damaged(table: Callable[[str], Path], spark: SparkSession) -> None:
    assert spark.version
    for index in ("minmax:id", "valuelist:s"):
        folder = table("parquet")
        done = CliRunner().invoke(main, ["skipping", "create", str(folder), "--index", index])
        assert done.exit_code == 0, done.output
        assert "version 1: 3 files read, 0 unchanged, 2 damaged files left out; in " in done.output
        shutil.rmtree(folder.parent)


@pytest.mark.parametrize("index", ["minmax:id", "valuelist:s"])
def test_a_table_of_damaged_files_alone(
    spark: SparkSession, table: Callable[[str], Path], index: str
) -> None:
    folder = table("parquet")
    for path in folder.glob("part*"):
        path.unlink()
    frame = spark.read.schema("id long, s string").parquet(str(folder))
    with pytest.raises(SourceError, match=r"SQLSTATE é %41 1\.parquet: cannot be read: .*; nor can 1 more"):
        skipping.create(spark, frame, [index])
    assert open_metadata(str(folder / "_starskip")) is None


def test_a_file_of_other_types_is_an_error(
    spark: SparkSession, tmp_path: Path, table: Callable[[str], Path]
) -> None:
    folder = table("parquet")
    for path in folder.glob(f"{ODD}*"):
        path.unlink()
    spark.sql("SELECT 'x' AS id, 1 AS s").coalesce(1).write.parquet(str(tmp_path / "other"))
    (other,) = (tmp_path / "other").glob("*.parquet")
    shutil.copy(other, folder / f"{ODD}.parquet")
    aged(folder)
    with pytest.raises(SourceError, match=f"{ODD}.parquet: cannot be read: column: ") as raised:
        skipping.create(spark, str(folder), ["valuelist:s"])
    assert not isinstance(raised.value, DamagedFiles)
    assert raised.value.source == f"file:{folder}/{ODD}.parquet"
    assert open_metadata(str(folder / "_starskip")) is None


def test_an_index_in_the_place_of_another_costs_what_it_left_alone_and_not_the_query(
    skipping_on: SparkSession, table_of: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    """Files of alike columns a and b, whose indexes have as many rows and bytes."""
    frame = skipping_on.range(0, 40, 1, 4).selectExpr("id", "id AS a", "39 - id AS b")
    path = table_of(frame, "valuelist:a", "valuelist:b", "bloom:a", "bloom:b")
    place = Path(path, "_starskip")
    for kind in ("valuelist", "bloom"):
        (a,), (b,) = (list(place.rglob(f"t-{kind}-{column}-*/*.parquet")) for column in "ab")
        shutil.copy(b, a)
    metadata_changed()
    COLUMNS.clear()
    assert [row.id for row in skipping_on.read.parquet(path).where("a = 3").collect()] == [3]
    (stats,) = skipping.last_query_stats(skipping_on)
    assert stats["files_read"] == 4
    assert any("is gone or damaged; refresh" in each for each in stats["not_skipped_because"])
    assert skipping.refresh(skipping_on, path).collected_files == 4
    told = [each for each in caplog.messages if "what it held was collected anew" in each]
    assert len(told) == 2
    assert [row.id for row in skipping_on.read.parquet(path).where("a = 3").collect()] == [3]
    assert skipping.last_query_stats(skipping_on)[0]["files_read"] == 1


TOLD = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed
 (TID 1) (host executor driver): org.apache.spark.SparkException: [FAILED_READ_FILE.{kind}] \
Encountered error while reading file {file}. {hint} SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:1)
Caused by: {cause}
\tat java.base/java.lang.Thread.run(Thread.java:1)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:1)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.{kind}] \
Encountered error while reading file {file}. {hint} SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:1)
Caused by: {cause}
\tat java.base/java.lang.Thread.run(Thread.java:1)
"""
SPACED = "file:///l/a%20b.%20c.orc"


@pytest.mark.parametrize(
    ("kind", "file", "cause", "error", "source"),
    [
        ("NO_HINT", SPACED, "java.io.EOFException: Unexpected end", DamagedFiles, "file:/l/a b. c.orc"),
        ("NO_HINT", SPACED, "java.io.EOFException", DamagedFiles, "file:/l/a b. c.orc"),
        ("NO_HINT", "s3a://l/x", "java.lang.RuntimeException: no magic", DamagedFiles, "s3a://l/x"),
        (
            "CANNOT_READ_FILE_FOOTER",
            "file:/l/a b. c.orc",
            "java.io.IOException: x",
            DamagedFiles,
            "file:/l/a b. c.orc",
        ),
        ("NO_HINT", SPACED, "org.apache.hadoop.fs.ChecksumException: x", DamagedFiles, "file:/l/a b. c.orc"),
        ("NO_HINT", "s3a://l/other", "java.io.EOFException: x", SourceError, "s3a://l/other"),
        (
            "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            "s3a://l/x",
            "java.io.IOException: x",
            SourceError,
            "s3a://l/x",
        ),
        ("NO_HINT", "s3a://l/x", "java.net.ConnectException: refused", SourceError, "s3a://l/x"),
        ("NO_HINT", "s3a://l/x", "java.net.SocketTimeoutException", SourceError, "s3a://l/x"),
        ("NO_HINT", "s3a://l/x", "java.io.InterruptedIOException: x", SourceError, "s3a://l/x"),
        (
            "NO_HINT",
            "s3a://l/x",
            "org.apache.hadoop.fs.s3a.AWSServiceIOException: x",
            SourceError,
            "s3a://l/x",
        ),
        ("NO_HINT", "s3a://l/x", "java.nio.file.AccessDeniedException: x", SourceError, "s3a://l/x"),
        ("NO_HINT", "s3a://l/x", "org.apache.hadoop.hdfs.BlockMissingException: x", SourceError, "s3a://l/x"),
        ("NO_HINT", "s3a://l/x", "java.lang.OutOfMemoryError: heap", SourceError, "s3a://l/x"),
        (
            "NO_HINT",
            "s3a://l/x",
            "org.apache.spark.SparkUpgradeException: old dates",
            SourceError,
            "s3a://l/x",
        ),
        (
            "NO_HINT",
            "s3a://l/x",
            "org.apache.orc.impl.SchemaEvolution$IllegalEvolutionException: types",
            SourceError,
            "s3a://l/x",
        ),
        ("FILE_NOT_EXIST", "s3a://l/x", "java.io.FileNotFoundException: x", PlanOvertaken, None),
        (
            "FILE_NOT_EXIST",
            "s3a://l/x",
            "java.io.FileNotFoundException: x (Permission denied)",
            DamagedFiles,
            "s3a://l/x",
        ),
    ],
)
def test_which_failures_are_a_files_own(
    kind: str, file: str, cause: str, error: type[StarskipError], source: str | None
) -> None:
    paths = ["file:/l/a b", "file:/l/a b. c.orc", "s3a://l/x"]
    order = CollectOrder((), pa.table({"path": paths}), (3,), with_files=True)
    encoded = pa.array(["file:/l/a%20b", "file:/l/a%20b.%20c.orc", "s3a://l/x"])
    hint = "Could not read footer. Please check." if kind == "CANNOT_READ_FILE_FOOTER" else ""
    text = TOLD.format(kind=kind, file=file, cause=cause, hint=hint)
    with pytest.raises(error) as raised, reading_failures(order, encoded):
        raise PySparkException(text)
    assert type(raised.value) is error
    if isinstance(raised.value, SourceError):
        assert raised.value.source == source
