"""Folders of Delta, Iceberg and Hudi are refused as plain files, with both ways out and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from starskip.cli.main import main
from starskip.errors import SourceError
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

Table = Callable[..., str]


def delta(folder: Path) -> None:
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log" / "00000000000000000000.json").write_text("{}\n")


def iceberg(folder: Path) -> None:
    (folder / "metadata").mkdir()
    (folder / "metadata" / "v1.metadata.json").write_text("{}\n")


def iceberg_packed(folder: Path) -> None:
    (folder / "metadata").mkdir()
    (folder / "metadata" / "00001-a1b2.gz.metadata.json").write_bytes(b"")


def hudi(folder: Path) -> None:
    (folder / ".hoodie").mkdir()
    (folder / ".hoodie" / "hoodie.properties").write_text("")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("mark", "named"),
    [(delta, "Delta Lake"), (iceberg, "Iceberg"), (iceberg_packed, "Iceberg"), (hudi, "Hudi")],
)
def test_the_folder_and_what_lies_in_it(
    spark: SparkSession, table_of: Table, tmp_path: Path, mark: Callable[[Path], None], named: str
) -> None:
    path = table_of(spark.range(0, 8, 1, 2).selectExpr("id", "id div 4 AS p"), name=f"t {named}", by=("p",))
    mark(Path(path))
    before = names(tmp_path)
    (file,) = list((Path(path) / "p=1").glob("*.parquet"))[:1]
    for asked in (path, f"{path}/", f"file:{path}", f"{path}/p=1", str(file)):
        with pytest.raises(SourceError, match=f"{named} table") as told:
            skipping.create(spark, asked, ["minmax:id"], format="parquet")
        text = str(told.value)
        assert f'spark.read.format("{named.split()[0].lower()}")' in text and "folder of plain files" in text
        with pytest.raises(SourceError):
            skipping.create(spark, asked, ["minmax:id"], metadata_root=str(tmp_path / "meta"))  # damaged logs
    with pytest.raises(SourceError, match=f"{named} table"):
        skipping.create(spark, spark.read.parquet(f"{path}/p=1"), ["minmax:id"])
    done = CliRunner().invoke(
        main, ["skipping", "create", path, "--format", "parquet", "--index", "minmax:id"]
    )
    assert done.exit_code == 3 and len(done.output.splitlines()) == 1
    assert f"{named} table" in done.output
    assert names(tmp_path) == before


def test_a_folder_above_one(spark: SparkSession, table_of: Table, tmp_path: Path) -> None:
    path = table_of(spark.range(0, 8, 1, 2), name="inner")
    delta(Path(path))
    with pytest.raises(SourceError, match=r"Delta Lake table, file:.*inner, and such"):
        skipping.create(spark, str(tmp_path), ["minmax:id"], options={"recursiveFileLookup": "true"})
    assert not (tmp_path / "_starskip").exists()


def test_a_table_that_has_become_one(spark: SparkSession, table_of: Table) -> None:
    path = table_of(spark.range(0, 8, 1, 2), "minmax:id")
    before = names(Path(path))
    delta(Path(path))
    with pytest.raises(SourceError, match="Delta Lake table"):
        skipping.refresh(spark, path)
    with pytest.raises(SourceError, match="Delta Lake table"):
        skipping.refresh(spark, path, full=True)
    for command in (["refresh", path], ["explain", path, "id = 3"]):
        done = CliRunner().invoke(main, ["skipping", *command])
        assert done.exit_code == 3 and "Delta Lake table" in done.output
    assert {name for name in names(Path(path)) if "_delta_log" not in name} == before
    # What is there can be told of and removed.
    assert skipping.list_indexes(spark, path) == ["minmax:id"]
    assert skipping.delete(spark, path) > 1


def test_a_folder_called_metadata_that_is_none_of_iceberg(spark: SparkSession, table_of: Table) -> None:
    path = table_of(spark.range(0, 8, 1, 2))
    (Path(path) / "metadata").mkdir()
    (Path(path) / "metadata" / "_notes.json").write_text("{}")
    assert skipping.create(spark, path, ["minmax:id"]).files == 2
