"""Star-trees of Delta tables by the command line: versions, refreshes, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

CONFIG = {
    "dimensionsSplitOrder": ["k"],
    "functionColumnPairs": ["SUM__m", "COUNT__*"],
    "maxLeafRecords": 1,
}


@pytest.fixture
def table(star_tree: Any) -> Any:
    path = star_tree.folder / "sales"
    write_deltalake(str(path), pa.table({"k": ["a", "b"], "m": [1, 2]}))
    write_deltalake(str(path), pa.table({"k": ["c"], "m": [40]}), mode="append")
    return path


def test_a_version_that_was_named_stays(star_tree: Any, table: Any) -> None:
    star_tree.built(table, CONFIG, options=("--version", "0", "--format", "delta"))
    write_deltalake(str(table), pa.table({"k": ["d"], "m": [500]}), mode="overwrite")
    assert star_tree.total() == (3, True)
    assert "unchanged (" in star_tree.refresh().stdout
    assert star_tree.total("SELECT SUM(m) FROM t WHERE m > 0") == (3, False)
    star_tree.built(table, CONFIG)
    assert star_tree.total() == (500, True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--format", "parquet"], "read the table itself ("),
        (["--format", "csv"], "write its current rows apart"),
        (["--format", "iceberg"], "holds no Iceberg table: there is no metadata/*.metadata.json in it"),
        (["--format", "orc"], "star-trees are built of csv, parquet, delta, iceberg, and not of orc"),
        (["--version", "9"], "version 9 cannot be read; the newest is 1"),
    ],
)
def test_what_is_refused(star_tree: Any, table: Any, options: list[str], told: str) -> None:
    star_tree.require_one_line(star_tree.build(table, CONFIG, options=tuple(options)), told)
    assert not star_tree.tree.exists()


def test_a_folder_of_plain_files_has_no_version(star_tree: Any) -> None:
    source = star_tree.write("plain/a.parquet", pa.table({"k": ["a"], "m": [1]})).parent
    star_tree.require_one_line(
        star_tree.build(source, CONFIG, options=("--version", "1")), "have no version 1"
    )
    told = "holds no Delta table"
    star_tree.require_one_line(star_tree.build(source, CONFIG, options=("--format", "delta")), told)
    star_tree.write("plain/part-1", pa.table({"k": ["b"], "m": [2]}))
    star_tree.built(source, CONFIG, options=("--format", "parquet"))  # whatever the files are called
    assert star_tree.total() == (3, True)
    assert "unchanged (" in star_tree.refresh().stdout
