"""Folders of table formats are never read as plain files, since their files hold deleted rows too."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from seed_example import CONFIG, ROWS

SIGNS = {
    "Delta Lake": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/00001-5f3c.metadata.json",
    "Iceberg of old": "metadata/v1.metadata.json.gz",
    "Hudi": ".hoodie/hoodie.properties",
}
DAMAGED = (
    "the log of this Delta table cannot be read",
    "this metadata file of an Iceberg table cannot be read",
)
QUERY = "SELECT SUM(Impressions) FROM t WHERE Country = 'CA'"
FALLBACK = "SELECT SUM(Impressions) FROM t WHERE Impressions > 1"


def require_refused(result: Result, sign: Path) -> None:
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
    # A folder's own name, whatever link led to it.
    assert f"/{sign.parent.name}" in result.stderr
    is_damaged = any(each in result.stderr for each in DAMAGED)
    assert is_damaged or "write its current rows apart (in Spark: spark.read.format('" in result.stderr


@pytest.mark.parametrize("name", SIGNS)
@pytest.mark.parametrize("place", ["", "day=1", "day=1/hour=2"])
@pytest.mark.parametrize(
    "asked", ["the table", "a folder in it", "a file in it", "a folder above it", "a link"]
)
def test_a_build_names_what_was_found_and_the_way_out(
    star_tree: Any, name: str, place: str, asked: str
) -> None:
    table = star_tree.folder / "lake" / "sales"
    file = star_tree.write(f"lake/sales/{place}/seed.csv", ROWS)
    sign = star_tree.write(f"lake/sales/{SIGNS[name]}", "{}")
    link = star_tree.folder / "link"
    link.symlink_to(file.parent)
    source = {
        "the table": table,
        "a folder in it": file.parent,
        "a file in it": file,
        "a folder above it": table.parent,
        "a link": link,
    }[asked]
    result = star_tree.build(source, CONFIG)
    require_refused(result, sign)
    # Of a table's own folder the log is read, which tells nothing here.
    is_itself = asked == "the table" or (not place and asked in ("a folder in it", "a link"))
    is_read = name != "Hudi" and is_itself
    assert any(each in result.stderr for each in DAMAGED) == is_read
    assert is_read or name.partition(" of")[0] in result.stderr
    assert not star_tree.tree.exists()


@pytest.mark.parametrize("name", SIGNS)
def test_a_folder_that_became_such_a_table_is_neither_asked_nor_refreshed(star_tree: Any, name: str) -> None:
    source = star_tree.write("sales/seed.csv", ROWS).parent
    star_tree.built(source, CONFIG)
    sign = star_tree.write(f"sales/{SIGNS[name]}", "{}")
    require_refused(star_tree.refresh(), sign)
    for query in (QUERY, FALLBACK):
        require_refused(star_tree.call("sql", "--star-tree", star_tree.tree, query), sign)
    shutil.rmtree(source / SIGNS[name].partition("/")[0])
    assert star_tree.call("sql", "--star-tree", star_tree.tree, QUERY).exit_code == 0


@pytest.mark.parametrize("name", ["metadata/notes.json", "metadata/rows.csv", "logs/_delta_log.csv"])
def test_folders_that_are_only_called_alike_are_plain(star_tree: Any, name: str) -> None:
    source = star_tree.write("sales/seed.csv", ROWS).parent
    star_tree.write(f"sales/{name}", ROWS)
    star_tree.built(source, CONFIG)
