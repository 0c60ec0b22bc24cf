"""Reading whole columns: caching, a store that is made anew, where metadata lies, what it is told as."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import ConfigError, StorageError
from starskip.file_metadata.collect_order import CollectOrder, CommitMessage, collection_of
from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.describe_metadata import describe_metadata
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.open_metadata import existing_metadata, metadata_chain, open_metadata

pytestmark = pytest.mark.slow


def test_a_column_is_read_once_a_version(
    lake: Any, table: Any, storage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.refresh(storage, "x")
    first = open_metadata(str(storage.root))
    assert first is not None
    column = first.column("minmax:x", "min")
    again = open_metadata(str(storage.root))
    assert again is not None and again.column("minmax:x", "min") is column
    table.files["file:/t/new"] = lake.File((1,))
    table.refresh(storage)
    newest = open_metadata(str(storage.root))
    assert newest is not None and len(newest.column("minmax:x", "min")) == 5
    assert len(first.column("minmax:x", "max")) == 4


def test_metadata_that_was_removed_and_made_anew_is_not_taken_for_the_old_one(
    lake: Any, table: Any, storage: Any
) -> None:
    table.refresh(storage, "x")
    lake.known(storage)
    shutil.rmtree(storage.root)
    table.files = {path: lake.File((1, 2, 3)) for path in table.files}
    assert table.refresh(storage, "x").version == 1
    assert lake.known(storage) == lake.expected(table.files, "x")


def test_the_columns_longest_unused_leave_the_cache() -> None:
    cache = ColumnCache(2_000)
    columns = {name: pa.array(np.arange(100)) for name in "abc"}
    reads: list[str] = []

    def get(name: str) -> pa.Array:
        return cache.get(name, lambda: reads.append(name) or columns[name])

    for name in "abacac":
        assert get(name) is columns[name]
    assert reads == ["a", "b", "c"]
    get("b")
    assert cache.size_bytes == 1_600 and reads[-1] == "b"
    assert len(cache.get("large", lambda: pa.array(np.arange(1000)))) == 1000
    assert cache.size_bytes == 1_600
    cache.clear()
    assert cache.size_bytes == 0


@pytest.mark.parametrize(
    ("path", "root", "location"),
    [
        ("file:/data/t", None, "/data/t/_starskip"),
        ("file:///data/t/", None, "/data/t/_starskip"),
        ("/data/t", None, "/data/t/_starskip"),
        ("s3a://lake/t", None, "s3://lake/t/_starskip"),
        ("/data/50% of #1?/é", None, "/data/50% of #1?/é/_starskip"),
    ],
)
def test_metadata_lies_beside_the_files(path: str, root: str | None, location: str) -> None:
    assert metadata_location(path, root) == location


def test_below_a_root_each_table_has_a_place_of_its_own() -> None:
    places = [metadata_location(path, "s3a://meta/all/") for path in ("/a/t", "/b/t", "s3://a/t", "/a/T")]
    assert len(set(places)) == 4
    assert all(place.startswith("s3://meta/all/t-t-") for place in places[:3])
    assert metadata_location("file:///a/t", "s3://meta/all") == places[0]
    with pytest.raises(ConfigError, match="no table's path"):
        metadata_location("/", None)


def test_metadata_of_another_format_is_refused(lake: Any, table: Any, storage: Any) -> None:
    table.refresh(storage, "x")
    chain = metadata_chain(storage)
    newest = chain.latest()
    assert newest is not None
    newest.parts["table"].properties["format_version"] = 3  # type: ignore[index]
    chain.commit(lambda _: newest.parts, commit_id="later", created_at=lake.NOW, created_by="later")
    with pytest.raises(StorageError, match="has format 3, not 1 or 2: use the version of Starskip"):
        existing_metadata(storage)


def test_metadata_is_described(lake: Any, table: Any, storage: Any) -> None:
    table.refresh(storage, "x", "y")
    table.files["file:/t/new"] = lake.File((7, 8, 9), modified_ms=lake.NOW_MS + 3_600_000)
    del table.files["file:/t/a"]
    table.refresh(storage)
    told = describe_metadata(existing_metadata(storage), "there")
    assert {name: told[name] for name in ("files", "rows", "segments", "removed_rows", "files_trusted")} == {
        "files": 4,
        "rows": 9,
        "segments": 2,
        "removed_rows": 1,
        "files_trusted": 3,
    }
    assert [(each["index"], each["state"], each["files_known"]) for each in told["indexes"]] == [
        ("minmax:x", "active", 4),
        ("minmax:y", "active", 4),
    ]
    assert 0 < sum(each["size_bytes"] for each in told["indexes"]) < told["metadata_bytes"]


def test_paths_are_matched_whatever_their_order() -> None:
    paths = pa.array(["c", "a", "x", "b"])
    assert match_paths(paths, pa.array(["a", "b", "c"])).tolist() == [2, 0, -1, 1]
    assert match_paths(paths, paths).tolist() == [0, 1, 2, 3]
    assert match_paths(pa.array([], pa.string()), paths).tolist() == []
    assert match_paths(pa.array([None, "a"], pa.string()), paths).tolist() == [-1, 1]


def test_a_few_paths_are_matched_among_many() -> None:
    among = pa.array([f"{number}" for number in range(1000)])
    paths = pa.array(["999", None, "x", "0", "999", None])
    assert match_paths(paths, among).tolist() == [999, -1, -1, 0, 999, -1]
    assert match_paths(pa.array([None], pa.string()), among).tolist() == [-1]


_PATHS = st.lists(st.text("ab", max_size=2), unique=True)


@given(_PATHS, st.lists(st.sampled_from([None, "", "a", "b", "ab", "ba", "bb", "x"]), max_size=40), st.data())
def test_listings_that_are_alike_are_matched_as_others_are(
    common: list[str], inserted: list[str | None], data: st.DataObject
) -> None:
    paths: list[str | None] = [*common, *(f"{number:03}" for number in range(600))]
    among = [path for path in paths if data.draw(st.integers(0, 20)) or path in common]
    for path in inserted:
        paths.insert(data.draw(st.integers(0, len(paths))), path)
    places = {path: at for at, path in enumerate(among) if path is not None}
    expected = [places.get(path, -1) if path is not None else -1 for path in paths]
    assert match_paths(pa.array(paths, pa.string()), pa.array(among, pa.string())).tolist() == expected


def test_rows_of_which_some_are_dead_are_read_in_pieces_or_one_by_one(
    table: Any, storage: Any, lake: Any
) -> None:
    table.files.update({f"file:/t/{number:04}": lake.File((number,)) for number in range(700)})
    table.refresh(storage, "x")
    for dead in (range(300, 302), range(0, 700, 3)):
        for number in dead:
            table.files.pop(f"file:/t/{number:04}", None)
        table.refresh(storage)
        metadata = existing_metadata(storage)
        assert sorted(metadata.paths.to_pylist()) == sorted(table.files)
        assert len(metadata.column("minmax:x", "min")) == len(table.files)
        least = dict(
            zip(metadata.paths.to_pylist(), metadata.column("minmax:x", "min").to_pylist(), strict=True)
        )
        assert all(least[path] == int(path[-4:]) for path in table.files if path[-4:].isdigit())


def test_receipts_with_a_gap_or_twice_are_refused(lake: Any) -> None:
    from starskip.errors import StarskipError
    from starskip.storage.manifest import DataFile

    files = pa.table({"path": ["a", "b", "c"]})
    order = CollectOrder((lake.index("x"),), files, (1, 2), with_files=False)

    def message(segment: int, position: int, rows: int) -> CommitMessage:
        return CommitMessage(segment, "minmax:x", position, DataFile(f"{segment}/{position}", 1, rows))

    whole = [message(1, 2, 1), message(0, 0, 1), message(1, 1, 1)]
    assert [[file.name for file in each["minmax:x"]] for each in collection_of(order, whole)] == [
        ["0/0"],
        ["1/1", "1/2"],
    ]
    for wrong in (whole[1:], [*whole, message(1, 1, 1)], [message(0, 0, 1), message(1, 1, 3)]):
        with pytest.raises(StarskipError, match="gave other rows than were asked for"):
            collection_of(order, wrong)
