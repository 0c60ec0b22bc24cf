"""Pulled rows read as the rows of a segment's own tar, and a damaged or hostile tar is refused.

The note of a pull says in words how much it is a sample of, and goes with the segments.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from starskip.pinot.cluster.pulled_metadata import metadata_texts
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.pulled_note import NOTE_FILE, PulledNote, pulled_words
from starskip.pinot.segments.pulled_rows import NO_ROWS, PulledRows, pulled_members
from starskip.pinot.segments.segment_files import SegmentFile, list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts

COLUMNS = [
    {"columnName": name, "fieldType": "DIMENSION", "dataType": kind, "singleValue": name != "v", **more}
    for name, kind, more in (
        ("a.b", "STRING", {}),
        ("n", "LONG", {"minValue": -5, "maxValue": 9}),
        ("v", "INT", {"totalNumberOfEntries": 9}),
        ("map", "MAP", {}),
    )
]
ROWS = PulledRows(
    pa.table(
        {
            "a.b": ["x", "z", "x", "y"],
            "n": pa.array([7, -5, 7, 9], pa.int64()),
            "v": pa.array([[1, 2], [], [2], [3]], pa.list_(pa.int32())),
        }
    ),
    {"a.b": pa.array(["w", "x", "y", "z"]), "v": pa.array([1, 2, 3], pa.int32())},
    {"a.b": pa.array([False, True, False, False])},
)


def written(folder: Path, rows: PulledRows, more: Mapping[str, bytes] | None = None) -> SegmentFile:
    answer = {
        "columns": [{**each, "totalDocs": 8, "hasDictionary": each["columnName"] != "n"} for each in COLUMNS]
    }
    texts = metadata_texts("t_OFFLINE", "s", answer, 0, rows.rows.num_rows)
    (folder / "t").mkdir()
    with tarfile.open(folder / "t" / "s.tar.gz", "w:gz") as tar:
        for name, content in {**texts, **pulled_members(rows), **(more or {})}.items():
            member = tarfile.TarInfo(f"s/v3/{name}")
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    return list_segments(folder)[0]


def test_rows_come_back_in_codes(tmp_path: Path) -> None:
    file = written(tmp_path, ROWS)
    assert read_segment_facts(file).rows == 8
    window = read_row_window(file, ["a.b", "n", "v", "map", "none"], max_rows=100)
    assert (window.rows, window.segment_rows, window.table, window.segment) == (4, 8, "t", "s")
    text, number, several = (window.columns[name] for name in ("a.b", "n", "v"))
    assert text.dictionary is not None
    assert text.dictionary.to_pylist() == ["w", "x", "y", "z"]
    assert text.codes.tolist() == [1, 3, 1, 2]
    assert text.nulls is not None
    assert text.nulls.tolist() == [False, True, False, False]
    assert number.dictionary is None
    assert number.values is not None
    assert number.values.take(number.codes).to_pylist() == [7, -5, 7, 9]
    assert number.ends is not None
    assert number.ends.to_pylist() == [-5, 9]
    assert several.offsets is not None
    assert (several.offsets.tolist(), several.codes.tolist()) == ([0, 2, 2, 3, 4], [0, 1, 1, 2])
    assert set(window.unreadable) == {"map", "none"}


@pytest.mark.parametrize(("place", "rows"), [(0.0, [7, -5]), (1.0, [7, 9])])
def test_fewer_rows_are_taken_at_their_place(tmp_path: Path, place: float, rows: list[int]) -> None:
    window = read_row_window(written(tmp_path, ROWS), ["n", "v"], max_rows=2, place=place)
    column = window.columns["n"]
    assert column.values is not None
    assert column.values.take(column.codes).to_pylist() == rows
    assert window.rows == len(np.asarray(window.columns["v"].offsets)) - 1 == 2


def test_a_value_beyond_the_known_ones_makes_them_unknown(tmp_path: Path) -> None:
    odd = PulledRows(ROWS.rows, {"a.b": pa.array(["x", "y"])}, {})
    column = read_row_window(written(tmp_path, odd), ["a.b"], max_rows=9).columns["a.b"]
    assert column.dictionary is None
    assert column.values is not None
    assert column.values.take(column.codes).to_pylist() == ["x", "z", "x", "y"]


def test_a_segment_without_rows_has_facts_and_no_window(tmp_path: Path) -> None:
    file = written(tmp_path, NO_ROWS)
    assert read_segment_facts(file).rows == 8
    with pytest.raises(DamagedSegment, match="pulled with its metadata alone"):
        read_row_window(file, ["n"], max_rows=9)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.parquet", b"PAR1 no"),
        ("rows.parquet", pulled_members(PulledRows(ROWS.rows.slice(1), {}, {}))["rows.parquet"]),
        ("values.parquet", b""),
    ],
)
def test_damaged_rows_are_told(tmp_path: Path, name: str, content: bytes) -> None:
    file = written(tmp_path, ROWS, {name: content})
    with pytest.raises(DamagedSegment, match=name):
        read_row_window(file, ["n"], max_rows=9)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (PulledNote("t_OFFLINE", 1, 1, 4, 1, 4), "1 segment, and all 4 rows of them"),
        (PulledNote("t_OFFLINE", 4, 4, 9_000, 4, 1_000), "4 segments, and 1,000 of their 9,000 rows"),
        (
            PulledNote("t_OFFLINE", 1_000, 1_204, 9_000_000, 32, 131_072),
            "1,000 of 1,204 segments, and 131,072 of their 9,000,000 rows, in 32 of them",
        ),
    ],
)
def test_words(note: PulledNote, words: str) -> None:
    assert note.words == f"t_OFFLINE was pulled from a live Pinot: {words}"


def test_a_folder_without_a_note_or_with_another_file_has_no_words(tmp_path: Path) -> None:
    files = []
    for table in ("pulled", "own", "odd"):
        (tmp_path / table).mkdir()
        files.append(SegmentFile(table, "s", f"{tmp_path}/{table}/s.tar.gz", 1))
    (tmp_path / "pulled" / NOTE_FILE).write_text(PulledNote("pulled_OFFLINE", 1, 1, 4, 1, 4).to_json())
    (tmp_path / "odd" / NOTE_FILE).write_text('{"table": "x"}')
    assert pulled_words(files).keys() == {"pulled"}
