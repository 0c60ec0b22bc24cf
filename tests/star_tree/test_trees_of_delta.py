"""Star-trees over Delta tables answer as DuckDB does over the rows of that version, whatever was written."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.errors import SourceError, StaleTree
from starskip.lake.parquet import parquet_footers
from starskip.star_tree.build.publish_trees import Outcome, PublishedTrees, publish_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

CASES = law_cases("STARSKIP_STAR_TREE_CASES", 40) // 4
NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
DUCKDB = duckdb.connect(config={"threads": 1})
"""Opening one takes longer than all answers for a version of a table."""
TYPES = {"k": pa.string(), "d": pa.int32(), "m": pa.int64(), "late": pa.string()}
QUERIES = (
    "SELECT k, d, COUNT(*) AS n, SUM(m) AS s, MIN(m) AS l, MAX(m) AS g FROM t GROUP BY k, d",
    "SELECT COUNT(*) AS n, SUM(m) AS s FROM t WHERE k = 'x' AND d > 0",
    "SELECT COUNT(*) AS n, MAX(m) AS g FROM t WHERE k IN ('x', '')",
)
LATE = "SELECT late, COUNT(*) AS n FROM t GROUP BY late"

rows = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from(["x", "y", "a b/%41", "", "__HIVE", None]),
            "d": st.sampled_from([0, 1, -2, None]),
            "m": st.integers(-9, 9) | st.none(),
        }
    ),
    min_size=1,
    max_size=6,
)
writes = st.one_of(
    st.tuples(st.just("append"), rows),
    st.tuples(st.just("late"), rows),
    st.tuples(st.just("overwrite"), rows),
    st.tuples(st.just("delete"), st.sampled_from(["m > 0", "k = 'x'", "d = 1", "k IS NULL"])),
    st.tuples(st.sampled_from(["compact", "checkpoint", "vacuum"]), st.none()),
)


def table_of(found: list[dict[str, Any]], late: bool = False) -> pa.Table:
    names = [name for name in TYPES if late or name != "late"]
    told = [{**row, "late": f"l{row['m']}"} for row in found]
    return pa.Table.from_pylist(told, pa.schema([(name, TYPES[name]) for name in names]))


def write(path: str, partitions: list[str], kind: str, what: Any) -> None:
    if kind == "append":
        # What lacks a column that has come meanwhile has nulls in it.
        write_deltalake(path, table_of(what), mode="append", schema_mode="merge", partition_by=partitions)
    elif kind == "late":
        write_deltalake(
            path, table_of(what, late=True), mode="append", schema_mode="merge", partition_by=partitions
        )
    elif kind == "overwrite":
        write_deltalake(
            path, table_of(what), mode="overwrite", schema_mode="overwrite", partition_by=partitions
        )
    elif kind == "delete":
        DeltaTable(path).delete(what)
    elif kind == "compact":
        DeltaTable(path).optimize.compact()
    elif kind == "checkpoint":
        DeltaTable(path).create_checkpoint()
    else:
        DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)


def answers(table: pa.Table) -> list[Any]:
    found = [tuple(row.values()) for row in table.to_pylist()]
    return sorted((tuple(None if v is None else str(v) for v in row) for row in found), key=repr)


def require_right(store: ArtefactStore, path: str, version: int | None = None) -> None:
    trees = open_trees(store)
    now = DeltaTable(path, version=version).to_pyarrow_table()
    DUCKDB.register("t", now)
    for query in (*QUERIES, *([LATE] if "late" in now.column_names else [])):
        found = answer_sql(trees, query, "pinot")
        assert found.star_tree == (query != LATE)
        wanted = DUCKDB.sql(query).to_arrow_table()
        assert answers(found.table) == answers(wanted), (query, now.to_pylist())


def publish(store: ArtefactStore, path: str, trees: Any, hours: int = 0, **order: Any) -> PublishedTrees:
    config = trees.config("k d", "COUNT__* SUM__m MIN__m MAX__m")
    return publish_trees(
        trees.run_tasks,
        store,
        TreeOrder("t", path, (config,), {}, **order),
        now=NOW + timedelta(hours=hours),
        created_by="test",
    )


@pytest.mark.law
@settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=rows, later=st.lists(writes, max_size=5), partitions=st.sampled_from([[], ["k"], ["d", "k"]]))
def test_whatever_is_written_trees_answer_as_a_scan_does(
    trees: Any, tmp_path: Path, first: list[Any], later: list[Any], partitions: list[str]
) -> None:
    place = tmp_path / uuid4().hex
    path, store = str(place / "t"), ArtefactStore(storage_for(str(place / "trees")))
    place.mkdir()
    write_deltalake(path, table_of(first), partition_by=partitions)
    publish(store, path, trees)
    require_right(store, path)
    for hours, (kind, what) in enumerate(later, 1):
        write(path, partitions, kind, what)
        publish(store, path, trees, hours)
        require_right(store, path)
    shutil.rmtree(place)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files whose footers or contents were read, by name."""
    found: list[str] = []
    footer = parquet_footers.open_footer

    def noted(path: str) -> Any:
        found.append(Path(path).name)
        return footer(path)

    monkeypatch.setattr(parquet_footers, "open_footer", noted)
    return found


def test_a_new_version_is_read_by_its_new_files_alone(trees: Any, tmp_path: Path, opened: list[str]) -> None:
    path, store = str(tmp_path / "t"), ArtefactStore(storage_for(str(tmp_path / "trees")))
    write_deltalake(path, table_of([{"k": "x", "d": 1, "m": 5}]))
    assert publish(store, path, trees).outcome is Outcome.BUILT
    assert publish(store, path, trees, 1).outcome is Outcome.UNCHANGED
    held = open_trees(store)
    held.require_unchanged(at_most_seconds_ago=0.0)
    before = set(DeltaTable(path).file_uris())
    write_deltalake(path, table_of([{"k": "y", "d": 1, "m": 6}]), mode="append")
    with pytest.raises(StaleTree, match="new: "):
        held.require_unchanged(at_most_seconds_ago=0.0)
    for file in before:
        Path(file).rename(f"{file}.aside")  # whoever opened it would fail
    opened.clear()
    assert publish(store, path, trees, 2).outcome is Outcome.REFRESHED
    assert len(opened) == 1
    for file in before:
        Path(f"{file}.aside").rename(file)
    require_right(store, path)
    DeltaTable(path).delete("m = 6")
    done = publish(store, path, trees, 3)
    assert (done.outcome, "gone" in done.reason) == (Outcome.BUILT, True)
    require_right(store, path)


def test_an_older_version_stays_what_it_was(trees: Any, tmp_path: Path) -> None:
    path, store = str(tmp_path / "t"), ArtefactStore(storage_for(str(tmp_path / "trees")))
    for number in range(3):
        write_deltalake(path, table_of([{"k": "x", "d": number, "m": number}]), mode="append")
    publish(store, path, trees, version=1)
    require_right(store, path, version=1)
    write_deltalake(path, table_of([{"k": "z", "d": 0, "m": 0}]), mode="overwrite")
    require_right(store, path, version=1)
    assert publish(store, path, trees, 1, version=1).outcome is Outcome.UNCHANGED
    assert publish(store, path, trees, 2).outcome is Outcome.BUILT
    require_right(store, path)


def test_times_of_int96_are_instants(trees: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    moments = [datetime(2026, 1, 2, 3, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)]
    types = pa.schema([("ts", pa.timestamp("us", "UTC")), ("m", pa.int64())])
    write_deltalake(str(path), pa.table({"ts": moments, "m": [1, 2]}, types))
    (file,) = path.glob("*.parquet")
    # As Spark writes them.
    pa.parquet.write_table(
        pa.table({"ts": moments, "m": [1, 2]}, types), file, use_deprecated_int96_timestamps=True
    )
    source = source_table(str(path))
    (chunk,) = source.chunks(100)
    (found,) = source.batches(chunk, ["ts"])
    assert found.column("ts").to_pylist() == moments


def test_a_file_that_a_vacuum_removed_is_named(trees: Any, tmp_path: Path) -> None:
    path, store = str(tmp_path / "t"), ArtefactStore(storage_for(str(tmp_path / "trees")))
    write_deltalake(path, table_of([{"k": "x", "d": 1, "m": 5}]))
    write_deltalake(path, table_of([{"k": "x", "d": 1, "m": 6}]), mode="overwrite")
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(SourceError, match=r"\.parquet: cannot be read"):
        publish(store, path, trees, version=0)
