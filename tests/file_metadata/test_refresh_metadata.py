"""Created and refreshed metadata: what is read, what is known, and what becomes of races."""

from __future__ import annotations

from typing import Any

import pytest
from starskip.errors import ConfigError, SourceError
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.open_metadata import existing_metadata, metadata_chain, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.parquet_store import ParquetStore
from starskip.file_metadata.vacuum_metadata import vacuum_metadata


def test_a_created_index_knows_every_file(lake: Any, storage: Any, table: Any) -> None:
    done = table.refresh(storage, "x", "y")
    assert lake.known(storage) == lake.expected(table.files, "x", "y")
    assert (done.version, done.files, done.collected_files) == (1, 4, 4)
    assert list(metadata_chain(storage).listed()) == [1]
    metadata = read_metadata(storage)
    assert metadata is not None
    assert metadata.paths.to_pylist() == sorted(table.files)
    assert [index.specification for index in metadata.indexes] == ["minmax:x", "minmax:y"]
    assert metadata.source == table.source


def test_there_is_no_metadata_until_an_index_is_created(storage: Any) -> None:
    assert read_metadata(storage) is None
    assert list(metadata_chain(storage).listed()) == []
    with pytest.raises(SourceError, match="create an index first"):
        existing_metadata(storage)


def test_a_refresh_reads_what_is_new_or_changed_and_forgets_what_is_gone(
    lake: Any, storage: Any, table: Any
) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/new"] = lake.File((7,))
    table.files["file:/t/a"] = lake.File((1, 2), version=1)
    table.files["file:/t/b"] = lake.File((3, 4), modified_ms=lake.LONG_AGO_MS + 1)
    del table.files["file:/t/c"]
    done = table.refresh(storage)
    assert sorted(table.read) == ["file:/t/a", "file:/t/b", "file:/t/new"]
    assert (done.collected_files, done.unchanged_files, done.gone_files) == (3, 1, 1)
    assert lake.known(storage) == lake.expected(table.files, "x")


def test_a_refresh_of_unchanged_files_publishes_nothing(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    before = {found.name for found in storage.objects_below("")}
    assert table.refresh(storage).version == 1
    assert table.read == []
    assert {found.name for found in storage.objects_below("")} == before


def test_a_full_refresh_reads_all_into_one_segment(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/new"] = lake.File(())
    table.refresh(storage)
    done = table.refresh(storage, in_full=True)
    assert done.in_full and len(table.read) == 5
    assert len(existing_metadata(storage).segments) == 1
    assert lake.known(storage) == lake.expected(table.files, "x")


def test_another_schema_is_read_in_full(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    table.fingerprint = "two"
    assert existing_metadata(storage).source != table.source
    assert table.refresh(storage).in_full
    assert len(table.read) == 4
    assert existing_metadata(storage).source == table.source


def test_further_indexes_are_collected_alone(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/new"] = lake.File((7,))
    table.refresh(storage)
    del table.files["file:/t/d"]
    table.refresh(storage, "y")
    assert len(table.read) == 4
    assert lake.known(storage) == lake.expected(table.files, "x", "y")
    groups = [segment.groups.keys() for segment in existing_metadata(storage).segments.values()]
    assert all({"minmax:x", "minmax:y"} == names for names in groups if names)


def test_an_index_that_is_there_is_created_without_reading(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    assert table.refresh(storage, "x").version == 1
    assert table.read == []


def test_young_files_are_waited_for(lake: Any, storage: Any, table: Any) -> None:
    table.files["file:/t/a"] = lake.File((1,), modified_ms=lake.NOW_MS - 1)
    table.refresh(storage, "x")
    assert table.now_ms >= lake.NOW_MS + 1999
    assert all(trusted for _, _, trusted, _ in lake.known(storage).values())


def test_files_that_stay_young_are_not_trusted_and_collected_again(
    lake: Any, storage: Any, table: Any
) -> None:
    table.files["file:/t/a"] = lake.File((1,), modified_ms=lake.NOW_MS + 3_600_000)
    table.refresh(storage, "x")
    assert table.now_ms == lake.NOW_MS
    assert lake.known(storage)["file:/t/a"][2] is False
    table.refresh(storage)
    assert table.read == ["file:/t/a"]
    table.now_ms += 3_700_000
    table.refresh(storage)
    assert table.read == ["file:/t/a"]
    assert lake.known(storage) == lake.expected(table.files, "x", now_ms=table.now_ms)


def test_a_file_that_changes_while_it_is_read_is_unknown(lake: Any, storage: Any, table: Any) -> None:
    def meanwhile() -> None:
        table.files["file:/t/a"] = lake.File((100,), version=2)
        del table.files["file:/t/b"]

    table.meanwhile = meanwhile
    assert table.refresh(storage, "x").changed_meanwhile == 2
    assert lake.known(storage).keys() == {"file:/t/c", "file:/t/d"}
    table.refresh(storage)
    assert lake.known(storage) == lake.expected(table.files, "x")


def test_deleted_indexes_come_back_until_a_vacuum(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x", "y")
    change_indexes(storage, ["minmax:y"], lake.commit(), active=False)
    assert existing_metadata(storage).state.active == ("minmax:x",)
    table.files["file:/t/new"] = lake.File((7,))
    table.refresh(storage)
    change_indexes(storage, None, lake.commit(), active=True)
    assert lake.known(storage)["file:/t/new"][3]["minmax:y"] == (None, None, None)
    table.refresh(storage)
    assert lake.known(storage) == lake.expected(table.files, "x", "y")
    change_indexes(storage, ["minmax:y"], lake.commit(), active=False)
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert lake.known(storage) == lake.expected(table.files, "x")
    with pytest.raises(ConfigError, match="there is no index minmax:y; there are: minmax:x"):
        change_indexes(storage, ["minmax:y"], lake.commit(), active=True)
    table.refresh(storage, "y")
    assert lake.known(storage) == lake.expected(table.files, "x", "y")


def test_a_vacuum_leaves_what_the_newest_version_needs(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    for number in range(3):
        table.files[f"file:/t/{number}"] = lake.File((number,))
        table.refresh(storage)
    optimize_metadata(storage, lake.commit())
    report = vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert report.removed_bytes > 0 and not report.left_alone
    assert lake.known(storage) == lake.expected(table.files, "x")
    names = {found.name for found in storage.objects_below("")}
    named = {file.name for s in existing_metadata(storage).segments.values() for file in s.to_part().files}
    assert len(names) == len(named) + 1 and named < names


def test_a_vacuum_of_deleted_metadata_removes_all(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    change_indexes(storage, None, lake.commit(), active=False)
    vacuum_metadata(storage, lake.commit(), now=lake.forever, grace=lake.grace)
    assert read_metadata(storage) is None
    table.refresh(storage, "y")
    assert lake.known(storage) == lake.expected(table.files, "y")


def test_optimized_metadata_is_one_segment_by_path(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x", "y")
    assert optimize_metadata(storage, lake.commit()) is None
    table.files["file:/t/0"] = lake.File((5,))
    table.files["file:/t/c"] = lake.File((6,), version=1)
    table.refresh(storage)
    del table.files["file:/t/a"]
    table.refresh(storage)
    assert len(existing_metadata(storage).segments) > 1
    optimize_metadata(storage, lake.commit())
    metadata = existing_metadata(storage)
    assert len(metadata.segments) == 1 and metadata.paths.to_pylist() == sorted(table.files)
    assert lake.known(storage) == lake.expected(table.files, "x", "y")


@pytest.mark.parametrize("first", ["refresh", "full", "optimize", "create", "delete"])
def test_another_writer_comes_first(lake: Any, storage: Any, table: Any, first: str) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/more"] = lake.File((1,))
    table.refresh(storage)
    table.files["file:/t/new"] = lake.File((7,))
    table.files["file:/t/a"] = lake.File((1, 2), version=1)
    del table.files["file:/t/c"]
    other = lake.Table(table.files)

    def meanwhile() -> None:
        if first == "optimize":
            optimize_metadata(storage, lake.commit())
        elif first == "delete":
            change_indexes(storage, ["minmax:x"], lake.commit(), active=False)
        else:
            other.refresh(storage, *(["y"] if first == "create" else []), in_full=first == "full")

    table.meanwhile = meanwhile
    table.refresh(storage)
    if first == "delete":
        assert existing_metadata(storage).state.active == ()
        change_indexes(storage, ["minmax:x"], lake.commit(), active=True)
    assert lake.known(storage).keys() == table.files.keys()
    lake.require_no_wrong(storage, {path: [file] for path, file in table.files.items()})
    table.refresh(storage)
    assert lake.known(storage) == lake.expected(table.files, *("xy" if first == "create" else "x"))


@pytest.mark.parametrize("first", ["refresh", "optimize", "create", "first create"])
def test_another_writer_comes_before_a_create(lake: Any, storage: Any, table: Any, first: str) -> None:
    other = lake.Table(table.files)
    if first != "first create":
        table.refresh(storage, "x")
        table.files["file:/t/more"] = lake.File((1,))
        table.refresh(storage)
        table.files["file:/t/new"] = lake.File((7,))

    def meanwhile() -> None:
        if first == "optimize":
            optimize_metadata(storage, lake.commit())
        else:
            other.refresh(storage, *(["z"] if "create" in first else []))

    table.meanwhile = meanwhile
    table.refresh(storage, "y")
    assert lake.known(storage).keys() == table.files.keys()
    lake.require_no_wrong(storage, {path: [file] for path, file in table.files.items()})
    table.refresh(storage)
    active = {"first create": "yz", "create": "xyz"}.get(first, "xy")
    assert lake.known(storage) == lake.expected(table.files, *active)


def test_an_older_version_of_a_file_gives_way(lake: Any, storage: Any, table: Any) -> None:
    table.refresh(storage, "x")
    old = dict(table.files)
    table.files["file:/t/a"] = lake.File((50,), modified_ms=lake.LONG_AGO_MS + 5)
    late = lake.Table(old | {"file:/t/a": lake.File((40,), modified_ms=lake.LONG_AGO_MS + 1)})
    late.meanwhile = lambda: table.refresh(storage)
    late.changed_files = lambda chosen: lake_empty()
    late.refresh(storage)
    assert lake.known(storage) == lake.expected(table.files, "x")


def lake_empty() -> Any:
    import pyarrow as pa

    return pa.array([], pa.string())


@pytest.mark.parametrize("first", ["refresh", "create", "full"])
def test_another_writer_comes_before_an_optimize(
    lake: Any, storage: Any, table: Any, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.refresh(storage, "x")
    table.files["file:/t/more"] = lake.File((1,))
    table.refresh(storage)
    write = ParquetStore.write
    writes: list[int] = []

    def meanwhile(store: ParquetStore, aside: Any, groups: Any) -> Any:
        groups = list(groups)
        is_optimize = [name for name, _ in groups] == [FILES]
        writes.extend([1] * is_optimize)
        if is_optimize and len(writes) == 1:
            table.files["file:/t/a"] = lake.File((1, 2), version=1)
            del table.files["file:/t/more"]
            table.refresh(storage, *(["y"] if first == "create" else []), in_full=first == "full")
        return write(store, aside, groups)

    monkeypatch.setattr(ParquetStore, "write", meanwhile)
    optimize_metadata(storage, lake.commit())
    assert lake.known(storage) == lake.expected(table.files, *("xy" if first == "create" else "x"))
    assert len(writes) == {"refresh": 1, "create": 2, "full": 1}[first]
