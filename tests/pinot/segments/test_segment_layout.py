"""Damage in the tables of contents of a segment, and metadata of other releases than the fixtures'."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import read_segment_layout
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts

Make = Callable[..., SegmentFile]

COLUMN = "column.c.cardinality = 2\ncolumn.c.dataType = INT\ncolumn.c.columnType = DIMENSION\n"
METADATA = "segment.name = s_0\nsegment.total.docs = 4\nsegment.dimension.column.names = c\n" + COLUMN
V3 = METADATA + "segment.index.version = v3\n"
MAP = "c.dictionary.startOffset = 0\nc.dictionary.size = 16\n"
MAP += "c.forward_index.startOffset = 16\nc.forward_index.size = 9\n"
MAGIC = bytes.fromhex("deadbeefdeafbead")
COLUMNS = MAGIC + b"\0\0\0\5\0\0\0\6" + MAGIC + b"\xa0"


def v3(metadata: str = V3, index_map: str = MAP, columns: bytes = COLUMNS) -> dict[str, bytes]:
    return {
        "s_0/v3/columns.psf": columns,
        "s_0/v3/index_map": index_map.encode(),
        "s_0/v3/metadata.properties": metadata.encode(),
    }


def v1(metadata: str = METADATA) -> dict[str, bytes]:
    return {
        "s_0/c.sv.unsorted.fwd": b"\xa0",
        "s_0/metadata.properties": metadata.encode(),
        "s_0/c.dict": b"\0\0\0\5\0\0\0\6",
    }


def damage(file: SegmentFile) -> tuple[str, str]:
    with pytest.raises(DamagedSegment) as caught:
        read_segment_facts(file)
    assert str(caught.value) == f"segment {file.path}: {caught.value.detail}"
    return caught.value.reason, caught.value.detail


@pytest.mark.parametrize("members", [v3(), v1()])
def test_a_segment_made_by_hand(members: dict[str, bytes], make_segment: Make) -> None:
    file = make_segment(members)
    facts = read_segment_facts(file)
    assert (facts.table, facts.segment, facts.rows, facts.columns[0].entries) == ("t", "s_0", 4, 4)
    window = read_row_window(file, ["c"], max_rows=3)
    dictionary = window.columns["c"].dictionary
    assert dictionary is not None
    assert dictionary.take(window.columns["c"].codes).to_pylist() == [6, 5, 6]


def test_no_metadata(make_segment: Make) -> None:
    assert damage(make_segment({"s_0/c.dict": b""})) == ("no_metadata", "holds no metadata.properties")


def test_no_index_map(make_segment: Make) -> None:
    members = v3()
    members["s_0/index_map"] = members.pop("s_0/v3/index_map")
    sentence = "is v3 and has no index_map beside metadata.properties"
    assert damage(make_segment(members)) == ("no_index_map", sentence)
    del members["s_0/index_map"]
    assert damage(make_segment(members)) == ("no_index_map", sentence)


def test_two_segments_in_one_tar(make_segment: Make) -> None:
    members = v3() | {"s_1/v3/metadata.properties": V3.encode()}
    sentence = "holds metadata.properties twice: two segments in one tar"
    assert damage(make_segment(members)) == ("several_segments", sentence)


def test_index_map_beyond_the_columns_file(make_segment: Make) -> None:
    assert damage(make_segment(v3(columns=COLUMNS[:-1]))) == (
        "bad_index_map",
        "c.forward_index lies beyond the end of columns.psf",
    )
    members = v3()
    del members["s_0/v3/columns.psf"]
    assert damage(make_segment(members)) == ("bad_index_map", "is v3 and has no columns.psf")
    assert damage(make_segment(v3(index_map="c.x = 1"))) == (
        "bad_index_map",
        "index_map: key c.x is not column.index.attribute",
    )


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("", "segment.total.docs is missing or negative"),
        (METADATA.replace("= 4", "= -4"), "segment.total.docs is missing or negative"),
        (METADATA.replace("= 4", "= four"), "segment.total.docs is no number"),
        (METADATA.replace("= 4", "= ٤"), "segment.total.docs is no number"),
        (METADATA.replace("names = c", "names ="), "no column is listed"),
        (METADATA.replace("names = c", "names = c,d"), "column.d.dataType is missing"),
        (METADATA.replace("segment.name = s_0", ""), "segment.name is missing"),
        (METADATA + "segment.index.version = v4", "segment.index.version is 'v4', not one of v1, v2, v3"),
        (METADATA.replace("= 2", "= " + "9" * 5000), "column.c.cardinality is no number"),
    ],
)
def test_metadata_that_cannot_be_used(metadata: str, problem: str, make_segment: Make) -> None:
    file = make_segment(v1(metadata))
    assert damage(file) == ("bad_metadata", f"metadata.properties: {problem}")


def test_metadata_over_its_limit(make_segment: Make) -> None:
    file = make_segment(v1())
    with pytest.raises(DamagedSegment) as caught:
        read_segment_layout(file, TarLimits(metadata_bytes=100), whole=True)
    assert caught.value.reason == "too_large"
    assert caught.value.detail.startswith("metadata.properties has ")


@pytest.mark.parametrize("cardinality", ["-2147483648", "-1"])
def test_unknown_cardinality_is_none(cardinality: str, make_segment: Make) -> None:
    metadata = METADATA.replace("= 2", f"= {cardinality}") + "column.c.hasDictionary = false\n"
    assert read_segment_facts(make_segment(v1(metadata))).columns[0].cardinality is None


def test_keys_that_release_1_6_leaves_out(make_segment: Make) -> None:
    column = read_segment_facts(make_segment(v1())).columns[0]
    assert (column.entries, column.max_values_per_row, column.is_sorted, column.has_dictionary) == (
        4,
        1,
        False,
        True,
    )
    multi = METADATA + "column.c.isSingleValues = false\ncolumn.c.totalNumberOfEntries = 9\n"
    column = read_segment_facts(make_segment(v1(multi))).columns[0]
    assert (column.entries, column.max_values_per_row, column.is_single_value) == (9, 3, False)


def test_raw_values_beside_a_dictionary(make_segment: Make) -> None:
    metadata = METADATA + "column.c.hasDictionary = true\ncolumn.c.forwardIndexEncoding = RAW\n"
    chunk = b"".join(number.to_bytes(4, "big") for number in (7, 8, 7, 9))
    header = b"".join(number.to_bytes(4, "big") for number in (2, 1, 4, 4, 4, 0, 28, 32))
    file = make_segment(v1(metadata) | {"s_0/c.sv.unsorted.fwd": header + chunk})
    window = read_row_window(file, ["c"], max_rows=9).columns["c"]
    assert window.dictionary is None
    assert window.values is not None
    assert window.values.take(window.codes).to_pylist() == [7, 8, 7, 9]


def test_columns_of_every_kind_and_the_time_column_once(make_segment: Make) -> None:
    kinds = {"d": "DIMENSION", "m": "METRIC", "t": "TIME", "x": "DATE_TIME", "z": "COMPLEX"}
    metadata = "segment.name = s\nsegment.total.docs = 1\nsegment.dimension.column.names = d\n"
    metadata += "segment.metric.column.names = m\nsegment.time.column.name = t\n"
    metadata += "segment.datetime.column.names = x,t\nsegment.complex.column.names = z\n"
    for name, kind in kinds.items():
        metadata += f"column.{name}.dataType = INT\ncolumn.{name}.columnType = {kind}\n"
    facts = read_segment_facts(make_segment(v1(metadata)))
    assert {column.name: column.column_type for column in facts.columns} == kinds
    assert len(facts.columns) == 5


def test_a_column_that_is_no_index_of_another(make_segment: Make) -> None:
    metadata = METADATA.replace("names = c", "names = c,a.c") + COLUMN.replace("column.c", "column.a.c")
    files = v1(metadata) | {"s_0/a.c.bitmap.inv": b"123", "s_0/b.c.bitmap.inv": b"1"}
    facts = read_segment_facts(make_segment(files))
    sizes = {column.name: dict(column.index_bytes) for column in facts.columns}
    assert sizes == {"c": {"dictionary": 8, "forward_index": 1}, "a.c": {"inverted_index": 3}}


def test_damage_in_one_column_leaves_the_others(make_segment: Make) -> None:
    metadata = V3.replace("names = c", "names = c,d") + COLUMN.replace("column.c", "column.d")
    shifted = MAP.replace("c.", "d.").replace("Offset = 16", "Offset = 18")
    file = make_segment(v3(metadata, MAP + shifted, COLUMNS + b"\0\0"))
    window = read_row_window(file, ["c", "d", "e"], max_rows=4)
    assert list(window.columns) == ["c"]
    assert window.unreadable == {
        "d": "its index overlaps another one",
        "e": "the segment has no such column",
    }
    file = make_segment(v3(columns=COLUMNS.replace(MAGIC, bytes(8), 1)))
    window = read_row_window(file, ["c"], max_rows=4)
    assert window.unreadable == {"c": "its dictionary has no magic marker"}
