from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
from starskip.errors import SourceError
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.segment_files import SegmentFile, is_segment, list_segments


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "b/b_1.tar.gz",
        "b/b_0.tgz",
        "b/b.2.tar",
        "b/.b_3.tar.gz",
        "b/notes.txt",
        "b/README",
        "a/a_0.tar.gz",
        "empty/notes.txt",
        "Deleted_Segments/old.tar.gz",
        ".hidden/x.tar.gz",
        "loose.tar.gz",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12345")
    (tmp_path / "b" / "bare").write_bytes(gzip.compress(b""))
    return tmp_path


def test_segments_by_table_and_name(root: Path) -> None:
    files = list_segments(root, ["b", "a", "b"])
    assert [(f.table, f.segment) for f in files] == [
        ("a", "a_0"),
        ("b", "b.2"),
        ("b", "b_0"),
        ("b", "b_1"),
        ("b", "bare"),
    ]
    assert files[0].path == str(root / "a" / "a_0.tar.gz")
    assert (files[0].size_bytes, files[0].modified_ns) == (5, (root / "a" / "a_0.tar.gz").stat().st_mtime_ns)


@pytest.mark.parametrize("name", ["b.4", "orders_2020.01.01_0", "v1.2__7", "x.tar.gz.bak"])
def test_a_bare_name_with_a_dot_that_is_a_tar_is_a_segment(name: str, root: Path) -> None:
    with tarfile.open(root / "b" / name, "w:gz") as tar:
        tar.add(root / "b" / "README", "segment/metadata.properties")
    for other in ("notes.json.gz", "z.gz", "y.parquet"):
        (root / "b" / other).write_bytes(gzip.compress(b"{}" * 500))
    assert [f.segment for f in list_segments(root, ["b"])] == sorted(["b.2", "b_0", "b_1", "bare", name])


def test_hidden_and_deleted_folders_are_no_tables(root: Path) -> None:
    (root / "empty" / "e_0.tar.gz").write_bytes(b"")
    (root / "lost+found").mkdir()
    assert {f.table for f in list_segments(str(root))} == {"a", "b", "empty"}


def test_a_missing_root(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list_segments(tmp_path / "nope")
    assert str(caught.value) == f"segment directory {tmp_path / 'nope'} does not exist or is no folder"


def test_a_root_without_tables(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list_segments(tmp_path)
    assert str(caught.value) == f"segment directory {tmp_path} holds no table folders"


@pytest.mark.parametrize("table", ["c", "..", "", "Deleted_Segments", ".hidden", "a/../b"])
def test_an_unknown_table_names_the_known_ones(table: str, root: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list_segments(root, ["a", table])
    assert str(caught.value) == f"unknown table {table}: {root} has segments of a, b, empty"
    assert caught.value.source == table


@pytest.mark.parametrize("tables", [None, ["empty"]])
def test_a_table_without_segments(tables: list[str] | None, root: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list_segments(root, tables)
    assert str(caught.value) == (
        f"table empty has no segments: {root / 'empty'} holds no .tar.gz, .tgz, .tar file"
    )


def test_halves_of_a_hybrid_table_share_a_folder(tmp_path: Path) -> None:
    consumed = ("t__0__17__20261118T0915Z", "up__t__3__20261118T0915Z__7")
    (tmp_path / "t").mkdir()
    for name in ("t_OFFLINE_16071_16071_0", *consumed):
        (tmp_path / "t" / f"{name}.tar.gz").write_bytes(b"")
    files = list_segments(tmp_path, ["t_OFFLINE", "t_REALTIME"])
    assert [(file.table, file.segment) for file in files] == [
        ("t_OFFLINE", "t_OFFLINE_16071_16071_0"),
        *(("t_REALTIME", name) for name in consumed),
    ]
    assert len(list_segments(tmp_path, ["t"])) == 3


def test_a_folder_without_segments_of_a_half_serves_both(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "t_0.tar.gz").write_bytes(b"")
    assert [file.table for file in list_segments(tmp_path, ["t_REALTIME"])] == ["t_REALTIME"]
    (tmp_path / "t_REALTIME").mkdir()
    (tmp_path / "t_REALTIME" / "any.tar.gz").write_bytes(b"")
    assert [file.segment for file in list_segments(tmp_path, ["t_REALTIME"])] == ["any"]


@pytest.mark.parametrize("name", ["bare", "with.dot"])
def test_a_bare_name_that_may_not_be_read_is_a_damaged_segment(name: str, tmp_path: Path) -> None:
    # The tests may run as root, who may read all but a link to itself.
    (tmp_path / name).symlink_to(name)
    file = SegmentFile("t", name, str(tmp_path / name), 0)
    assert is_segment(file)
    ((facts, damaged),) = collect_facts([file])
    assert (facts.num_rows, damaged["reason"].to_pylist()) == (0, ["unreadable_file"])
