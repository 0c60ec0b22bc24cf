"""A table and its trees in an object store: built, grown, and stale by the ETag."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from starskip.errors import MissingSource, NotPlainFiles, SourceError, StaleTree
from starskip.star_tree.build.publish_trees import Outcome, publish_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)


def write(folder: Path, name: str, first: int) -> None:
    folder.mkdir(exist_ok=True)
    values = list(range(first, first + 20))
    pq.write_table(
        pa.table({"a": [n % 4 for n in values], "b": [f"é{n % 3}" for n in values], "m": values}),
        folder / name,
    )


def test_a_table_of_an_object_store_is_built_grown_and_watched(trees: Any, s3: Any, tmp_path: Path) -> None:
    url = s3.fresh_url()
    write(tmp_path / "one", "1.parquet", 0)
    write(tmp_path / "one", "2.parquet", 100)
    source = s3.upload(tmp_path / "one", f"{url}/table")
    config = trees.config("a b", "SUM__m COUNT__*")
    order = TreeOrder("t", source, (config,), {})
    store = ArtefactStore(storage_for(f"{url}/trees"))

    def publish() -> Outcome:
        return publish_trees(
            trees.run_tasks, store, order, now=NOW, created_by="test", documents_per_task=5
        ).outcome

    assert publish() is Outcome.BUILT
    opened = open_trees(store)
    here = trees.build(tmp_path / "one", config).trees[0]
    assert trees.documents_of(opened.trees[0]) == trees.documents_of(here)
    assert trees.nodes_of(opened.trees[0]) == trees.nodes_of(here)
    opened.require_unchanged()
    assert publish() is Outcome.UNCHANGED

    write(tmp_path / "two", "3.parquet", 200)
    s3.upload(tmp_path / "two", source)
    with pytest.raises(StaleTree, match=r"new: .*3\.parquet"):
        opened.require_unchanged(at_most_seconds_ago=0.0)
    assert publish() is Outcome.REFRESHED
    write(tmp_path / "one", "3.parquet", 200)
    grown = trees.build(tmp_path / "one", config).trees[0]
    assert trees.documents_of(open_trees(store).trees[0]) == trees.documents_of(grown)

    # The same bytes in number: the store's ETag is another one.
    write(tmp_path / "two", "3.parquet", 300)
    s3.upload(tmp_path / "two", source)
    with pytest.raises(StaleTree, match=r"changed: .*3\.parquet"):
        open_trees(store).require_unchanged()


@pytest.mark.parametrize("sign", ["_delta_log/0.json", "metadata/v3.metadata.json"])
@pytest.mark.parametrize("asked", ["table", "table/day=1", "table/day=1/1.parquet", ""])
def test_a_table_format_in_an_object_store_is_refused(s3: Any, tmp_path: Path, sign: str, asked: str) -> None:
    url = s3.fresh_url()
    write(tmp_path / "data", "1.parquet", 0)
    s3.upload(tmp_path / "data", f"{url}/table/day=1")
    folder, _, name = sign.partition("/")
    (tmp_path / "sign").mkdir()
    (tmp_path / "sign" / name).write_text("{}")
    assert source_table(f"{url}/{asked}".rstrip("/")).files
    s3.upload(tmp_path / "sign", f"{url}/table/{folder}")
    # A log is read where its table is asked for, and these tell nothing.
    is_read = asked == "table"
    told = r"(log|metadata file) of (this Delta|an Iceberg) table cannot be read"
    told = told if is_read else "write its current rows apart"
    with pytest.raises(SourceError if is_read else NotPlainFiles, match=rf"table/{folder}.*{told}"):
        source_table(f"{url}/{asked}".rstrip("/"))


def test_a_delta_table_of_an_object_store_is_built_and_grown(trees: Any, s3: Any, tmp_path: Path) -> None:
    url = s3.fresh_url()
    here = str(tmp_path / "table")
    order = TreeOrder("t", f"{url}/table", (trees.config("a p", "SUM__m COUNT__*"),), {})
    store = ArtefactStore(storage_for(f"{url}/trees"))
    for number, outcome in enumerate((Outcome.BUILT, Outcome.REFRESHED)):
        rows = pa.table({"a": [1, 2], "p": ["x/é %", None], "m": [number, 5]})
        write_deltalake(here, rows, mode="append", partition_by=["p"])
        for folder in {tmp_path / "table" / "_delta_log", *(tmp_path / "table").glob("p=*")}:
            s3.upload(folder, f"{url}/table/{folder.name}")
        done = publish_trees(trees.run_tasks, store, order, now=NOW, created_by="test")
        assert done.outcome is outcome
    answer = answer_sql(open_trees(store), "SELECT p, SUM(m) AS s FROM t GROUP BY p ORDER BY s", "pinot")
    assert answer.star_tree and answer.table.to_pylist() == [{"p": "x/é %", "s": 1}, {"p": None, "s": 10}]


def test_an_object_that_is_not_there_is_named(s3: Any) -> None:
    for name in (f"{s3.fresh_url()}/t.parquet", s3.fresh_url()):
        with pytest.raises(MissingSource, match="there is no such"):
            source_table(name)
