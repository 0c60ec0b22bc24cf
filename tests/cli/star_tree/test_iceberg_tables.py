"""Star-trees and secondary indexes of Iceberg tables on the command line: snapshots, renames, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType

CONFIG = {
    "dimensionsSplitOrder": ["k"],
    "functionColumnPairs": ["SUM__m", "COUNT__*"],
    "maxLeafRecords": 1,
}


@pytest.fixture
def table(star_tree: Any) -> Iterator[Any]:
    folder = star_tree.folder / "lake"
    folder.mkdir()
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    made = catalog.create_table("n.t", pa.schema([("k", pa.string()), ("m", pa.int32())]))
    made.append(rows(a=1, b=2))
    made.append(rows(c=40))
    yield made
    catalog.close()


def rows(**values: int) -> pa.Table:
    return pa.table({"k": list(values), "m": pa.array(values.values(), pa.int32())})


def folder_of(table: Any) -> str:
    return str(table.location().removeprefix("file://"))


def test_a_tree_follows_snapshots_and_renames(star_tree: Any, table: Any) -> None:
    star_tree.built(folder_of(table), CONFIG)
    assert star_tree.total("SELECT SUM(m) FROM t") == (43, True)
    assert star_tree.total("SELECT SUM(m) FROM t WHERE m > 1") == (42, False)
    table.append(rows(d=500))
    star_tree.require_one_line(
        star_tree.call("sql", "--star-tree", star_tree.tree, "SELECT SUM(m) FROM t"),
        "starskip star-tree refresh",
    )
    assert "refreshed (" in star_tree.refresh().stdout
    assert star_tree.total("SELECT SUM(m) FROM t") == (543, True)
    # The files keep their columns' names of before.
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("m", "k").rename_column("k", "m")
    stale = star_tree.call("sql", "--star-tree", star_tree.tree, "SELECT SUM(m) FROM t")
    star_tree.require_one_line(stale, "is not what the star-tree was built from (changed: ")
    turned = {**CONFIG, "dimensionsSplitOrder": ["m"], "functionColumnPairs": ["SUM__k", "COUNT__*"]}
    star_tree.built(folder_of(table), turned)
    assert star_tree.total("SELECT SUM(k) FROM t WHERE m = 'd'") == (500, True)
    assert star_tree.total("SELECT SUM(k) FROM t WHERE k > 1") == (542, False)


def test_a_column_that_was_made_anew_is_another_one(star_tree: Any, table: Any) -> None:
    star_tree.built(folder_of(table), CONFIG)
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("m")
    with table.update_schema() as update:
        update.add_column("m", IntegerType())
    stale = star_tree.call("sql", "--star-tree", star_tree.tree, "SELECT SUM(m) FROM t")
    star_tree.require_one_line(stale, "is not what the star-tree was built from (changed: ")
    assert "built (columns were renamed or made anew)" in star_tree.refresh().stdout
    assert star_tree.total("SELECT SUM(m) FROM t") == (None, True)


def test_a_snapshot_that_was_named_stays(star_tree: Any, table: Any) -> None:
    first = str(table.metadata.snapshots[0].snapshot_id)
    star_tree.built(folder_of(table), CONFIG, options=("--version", first, "--format", "iceberg"))
    table.overwrite(rows(d=500))
    assert star_tree.total("SELECT SUM(m) FROM t") == (3, True)
    assert "unchanged (" in star_tree.refresh().stdout
    assert star_tree.total("SELECT SUM(m) FROM t WHERE m > 0") == (3, False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--format", "parquet"], "read the table itself ("),
        (["--format", "delta"], "holds no Delta table"),
        (["--version", "9"], "there is no snapshot 9 of this Iceberg table; the newest are "),
    ],
)
def test_what_is_refused(star_tree: Any, table: Any, options: list[str], told: str) -> None:
    star_tree.require_one_line(star_tree.build(folder_of(table), CONFIG, options=tuple(options)), told)
    assert not star_tree.tree.exists()


def test_secondary_indexes_of_snapshots(star_tree: Any, table: Any) -> None:
    def asked(*arguments: str) -> Any:
        result = star_tree.call("secondary", "query", folder_of(table), *arguments)
        assert (result.exit_code, result.stderr) == (0, "")
        return sorted(map(tuple, json.loads(result.stdout)["rows"]))

    made = star_tree.call("secondary", "create", folder_of(table), "--index", "btree:m")
    assert (made.exit_code, made.stderr) == (0, "")
    assert asked("m > 1") == [("b", 2), ("c", 40)]
    table.overwrite(rows(e=7))
    assert asked("m > 1") == asked("m > 1", "--path", "scan") == [("e", 7)]
    first = str(table.metadata.snapshots[0].snapshot_id)
    assert asked("m > 1", "--version", first) == [("b", 2)]
    assert asked("m > 1", "--format", "iceberg", "--columns", "m") == [(7,)]
    again = star_tree.call("secondary", "refresh", table.metadata_location.removeprefix("file://"))
    assert (again.exit_code, again.stderr) == (0, "") and "1 files read" in again.stdout
    refused = star_tree.call("secondary", "query", folder_of(table), "m > 1", "--format", "parquet")
    star_tree.require_one_line(refused, "read the table itself (")
