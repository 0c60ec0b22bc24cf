"""Index types held against a scan in tables of every format, with partitions and with keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from lake_formats import ICEBERG_CATALOG
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.spark import skipping

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = (
    "cast(id AS int) AS i",
    "concat(if(id % 2 = 0, 'Key', 'é '), id % 30) AS s",
    "id / 7.0D AS d",
    "timestamp_micros(id * 3600000000L) AS ts",
    "cast(id div 10 AS int) AS p",
)
INDEXES = ("minmax:i", "valuelist:s", "gaplist:d:3", "bloom:i")


def checked(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(main, ["skipping", "check", *arguments, "--predicates", "120", "--seed", "9"])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    assert found["wrong"] == 0
    return found


def named(indexes: tuple[str, ...]) -> list[str]:
    return [f"--index={each}" for each in indexes]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv"])
def test_a_folder_of_partitions(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    folder = tmp_path / "é t"
    rows = spark.range(0, 60, 1, 6).selectExpr(*ROWS)
    options = {"header": "true"} if file_format == "csv" else {}
    rows.write.format(file_format).options(**options).partitionBy("p").save(str(folder))
    aged(folder)
    given = ["--option=header=true", "--option=inferSchema=true"] if options else []
    found = checked(str(folder), *named((*INDEXES, "partition:p")), *given)
    assert (found["files"], found["never_skipped"]) == (6, [])
    # Of a table with indexes, these are checked, and it is read as they were collected.
    skipping.create(
        spark,
        str(folder),
        ["minmax:i"],
        format=file_format,
        options=given and {"header": "true", "inferSchema": "true"},
    )
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert list(checked(str(folder))["files_skipped"]) == ["minmax:i"]  # type: ignore[call-overload]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.table_formats
@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_a_table_of_the_lake(spark: SparkSession, tmp_path: Path, warehouse: Path, table_format: str) -> None:
    if table_format == "delta":
        path = str(tmp_path / "é t 50%")
        name = f"delta.`{path}`"
    else:
        path, name = str(warehouse / "db" / "checked"), f"{ICEBERG_CATALOG}.db.checked"
    spark.sql(f"CREATE TABLE {name} (i int, s string, d double, ts timestamp, p int) USING {table_format}")
    for number in range(4):
        spark.range(number * 30, number * 30 + 30, 1, 1).selectExpr(*ROWS).createOrReplaceTempView("rows")
        spark.sql(f"INSERT INTO {name} SELECT * FROM rows")
    indexes = ("valuelist:i", "valuelist:s", "gaplist:d:3", "bloom:i")
    found = checked(path, *named(indexes))
    assert (found["files"], found["never_skipped"]) == (4, [])
    done = CliRunner().invoke(main, ["skipping", "check", path, "--index", "minmax:i"])
    assert done.exit_code == 3 and "name an index that it lacks" in done.stderr


def test_encrypted_indexes(spark: SparkSession, tmp_path: Path, table_of: Callable[..., str]) -> None:
    key = tmp_path / "pii"
    key.write_bytes(b"p" * 32)
    table = table_of(spark.range(0, 60, 1, 6).selectExpr(*ROWS))
    keys = {"pii": str(key)}
    skipping.create(spark, table, ["valuelist:s", "minmax:i"], keys=keys, encrypt={"valuelist:s": "pii"})
    found = checked(table, "--key", f"pii={key}")
    assert (found["files"], found["never_skipped"]) == (6, [])
    done = CliRunner().invoke(main, ["skipping", "check", table])
    assert (done.exit_code, done.stdout) == (3, "") and "key pii is missing" in done.stderr
    # Another index of an encrypted column is encrypted, too.
    done = CliRunner().invoke(main, ["skipping", "check", table, "--index", "bloom:s"])
    assert (done.exit_code, done.stdout) == (3, "") and "key pii is missing" in done.stderr
