"""Files that are read in pieces: positions of rows, and what Spark reads otherwise is refused."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import avro_tables
import numpy as np
import pyarrow as pa
import pytest
from avro_tables import CODECS, write_avro
from pyarrow import orc
from starskip.lake import text_blocks
from starskip.lake.data_pieces import PiecedFile, UnlikeSpark
from starskip.lake.listed_file import ReplacedFile
from starskip.lake.pieced_formats import pieced_file


def opened(path: Path, options: Mapping[str, str] | None = None) -> PiecedFile:
    status = path.stat()
    name = next(each for each in ("orc", "avro", "json", "csv") if f".{each}" in path.name)
    given = tuple(sorted((options or {}).items()))
    return pieced_file(name, str(path), status.st_size, status.st_mtime_ns // 1_000_000, given)


def rows_of(file: PiecedFile, positions: list[int] | None = None) -> list[tuple[int, dict[str, Any]]]:
    """The rows with their positions."""
    wanted = None if positions is None else np.array(positions)
    return [
        (piece.start + at, row)
        for piece in file.pieces(file.schema, wanted)
        for at, row in enumerate(piece.rows.to_pylist())
    ]


def text(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path


@pytest.mark.parametrize("name", ["x.json", "x.json.gz", "x.json.bz2"])
def test_empty_lines_have_no_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content = b'\n{"a":1}\n\r\n \t\n{"a":2.5,"b":"2026-01-01"}\r\n\r{"a":3,"c":{"d":[],"e":{}}}\n'
    for block_bytes in (1, 7, 20, 1 << 20):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        file = opened(text(tmp_path, name, content))
        found = rows_of(file)
        assert [position for position, _ in found] == [0, 1, 2]
        assert [row["a"] for _, row in found] == [1, 2.5, 3]
        assert found[1][1]["b"] == "2026-01-01"
        assert (2, 3.0) in [(position, row["a"]) for position, row in rows_of(file, [2])]
        pieced_file.cache_clear()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a":1} {"a":2}\n', "several JSON objects"),
        (b'{"a":1,\n"b":2}\n', "no JSON object"),
        (b'[{"a":1}]\n', "no JSON object"),
        (b'{"a":1}\n{"a":\n', "no JSON object"),
        (b'{"a":1}\n{"a":"x"}\n', "several types"),
        (b'{"a":true}\n{"a":1}\n', "several types"),
        (b'{"a":1,"a":2}\n', "no JSON"),
        (b"{'a':1}\n", "no JSON"),
        (b'{"a":12345678901234567890}\n', "beyond 64 bits"),
        (b'{"a":0.5}\n{"a":-0}\n', "-0"),
        (b'{"a":NaN}\n', "NaN"),
        (b'{"a":1e999}\n', "no JSON"),
        (b'{"a":"\xff"}\n', "UTF-8"),
        (b'\xef\xbb\xbf{"a":1}\n', "byte order mark"),
        (b'{"a":1,"A":2}\n', "several columns"),
    ],
)
def test_lines_that_spark_reads_otherwise_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnlikeSpark, match=reason):
        rows_of(opened(text(tmp_path, "x.json", content)))


def test_texts_may_hold_what_is_refused_of_numbers(tmp_path: Path) -> None:
    line = '{"a":0.5,"b":"x, -0, \\": -0, [12345678901234567890, 1]"}\n'
    ((_, row),) = rows_of(opened(text(tmp_path, "x.json", line.encode())))
    assert row["b"] == 'x, -0, ": -0, [12345678901234567890, 1]'


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_headers_and_blank_lines_of_csv_files_have_no_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content = b' \na,b\r\n1,""\n\n2,\n \t\n3,"x,y"\r4, q \n5,\\N\n'
    for block_bytes in (1, 5, 1 << 20):
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block_bytes)
        pieced_file.cache_clear()
        path = text(tmp_path, name, content)
        found = rows_of(opened(path, {"header": "true"}))
        assert found == [
            (0, {"a": "1", "b": None}),
            (1, {"a": "2", "b": None}),
            (2, {"a": "3", "b": "x,y"}),
            (3, {"a": "4", "b": " q "}),
            (4, {"a": "5", "b": "\\N"}),
        ]
        without = rows_of(opened(path))
        assert without[0] == (0, {"_c0": "a", "_c1": "b"})
        assert [position for position, _ in without] == [0, 1, 2, 3, 4, 5]
        with_null = rows_of(opened(path, {"header": "true", "nullValue": "\\N"}))
        # An empty text in quotes is one as soon as another text stands for null.
        assert [row["b"] for _, row in with_null] == ["", None, "x,y", " q ", None]


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b'a\n"x"y\n', {}, "quotes"),
        (b'a\n"x""y"\n', {}, "quotes"),
        (b'a\n"x\\"y"\n', {}, "quotes"),
        (b'a\n"x\ny"\n', {}, "quotes"),
        (b"a,b\n1\n", {}, "number of fields"),
        (b"a,b\n1,2,3\n", {}, "number of fields"),
        (b"a\n\0\n", {}, "zero"),
        (b"a,A\n1,2\n", {"header": "true"}, "twice"),
        (b"a\n1\n", {"inferSchema": "true"}, "inferSchema"),
        (b"a\n1\n", {"sep": "||"}, "sep"),
    ],
)
def test_csv_files_that_spark_reads_otherwise_are_refused(
    tmp_path: Path, content: bytes, options: Mapping[str, str], reason: str
) -> None:
    with pytest.raises(UnlikeSpark, match=reason):
        rows_of(opened(text(tmp_path, "x.csv", content), options))


def test_other_codecs_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnlikeSpark, match=r"\.gz and \.bz2"):
        rows_of(opened(text(tmp_path, "x.json.zst", b"")))
    path = text(tmp_path, "x.json.gz", b'{"a":1}\n' * 1000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="damaged"):
        rows_of(opened(path))


def test_a_file_that_was_written_again_is_not_read(tmp_path: Path) -> None:
    path = text(tmp_path, "x.json", b'{"a":1}\n')
    file = opened(path)
    path.write_bytes(b'{"a":2}\n')
    os.utime(path, (1, 1))
    with pytest.raises(ReplacedFile):
        rows_of(file)


def test_only_stripes_with_positions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.orc"
    rows = pa.table({"a": range(100), "b": [f"text {at}" for at in range(100)]})
    orc.write_table(rows, path, batch_size=10, stripe_size=64)
    file = opened(path)
    assert file.units > 4
    found = rows_of(file, [55])
    assert (55, {"a": 55, "b": "text 55"}) in found
    assert len(found) < 100
    assert [row["a"] for _, row in rows_of(file)] == list(range(100))


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_blocks_of_avro_files_without_positions_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    monkeypatch.setattr(avro_tables, "CODECS", {codec: CODECS[codec]})
    path = tmp_path / "x.avro"
    rows = pa.table({"a": pa.array(range(40), pa.int64()), "b": [None, "x"] * 20})
    write_avro(rows, path, Random(3))
    file = opened(path)
    assert file.schema == pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert [row for _, row in rows_of(file)] == rows.to_pylist()
    blocks = [piece.unit for piece in file.pieces(file.schema, np.array([8, 33]))]
    assert len(blocks) <= 2
    assert {row["a"] for _, row in rows_of(file, [8, 33])} >= {8, 33}


def test_damaged_avro_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.avro"
    rows = pa.table({"a": pa.array(range(40), pa.int64())})
    write_avro(rows, path, Random(3))
    content = path.read_bytes()
    for damaged in (content[:-5], content[:-16] + bytes(16), b"Obj\x02" + content[4:], content[:30]):
        pieced_file.cache_clear()
        path.write_bytes(damaged)
        with pytest.raises(ValueError):
            rows_of(opened(path))


def test_times_of_orc_files_are_of_utc_and_those_of_other_calendars_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.orc"
    columns = {
        "t": pa.array([datetime(2026, 1, 1), None], pa.timestamp("us")),
        "d": pa.array([date(1500, 1, 1), date(2026, 1, 1)]),
        "old": pa.array([datetime(1800, 1, 1), None], pa.timestamp("us")),
        "none": pa.array([None, None], pa.date32()),
    }
    orc.write_table(pa.table(columns), path)
    file = opened(path)
    assert file.schema.field("t").type == pa.timestamp("us", "UTC")

    def read(name: str) -> list[Any]:
        return [piece.rows[name].to_pylist() for piece in file.pieces(pa.schema([(name, pa.null())]), None)]

    assert read("t")[0][0].replace(tzinfo=UTC) == datetime(2026, 1, 1, tzinfo=UTC)
    assert read("none") == [[None, None]]
    for name in ("d", "old"):
        with pytest.raises(UnlikeSpark, match=f"column {name} has"):
            read(name)
