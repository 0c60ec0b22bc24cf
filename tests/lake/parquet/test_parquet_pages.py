"""Pages that are read alone give the rows that they have in the file, whatever its types and encodings."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.lake.parquet import page_reading, parquet_pages, parquet_thrift
from starskip.lake.parquet.page_reading import read_pages
from starskip.lake.parquet.parquet_pages import PagedFile, paged_file
from starskip.lake.parquet.parquet_thrift import page_locations

_NOW = datetime(2026, 11, 24, tzinfo=UTC)


def some_rows(draw: random.Random, count: int) -> pa.Table:
    def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
        return pa.array([None if draw.random() < 0.2 else draw.choice(values) for _ in range(count)], kind)

    texts = ["", "a", "long " * 30, "é𝄞"]
    return pa.table(
        {
            "n": pa.array(range(count), pa.int32()),
            "s": column(pa.string(), texts),
            "large": column(pa.large_string(), texts),
            "named": column(pa.string(), texts).dictionary_encode(),
            "list": column(pa.list_(pa.int64()), [[], [1], [1, 2, 3]]),
            "at": column(pa.timestamp("us", "UTC"), [_NOW]),
            "ns": column(pa.timestamp("ns"), [_NOW.replace(tzinfo=None)]),
            "price": column(pa.decimal128(20, 3), [Decimal("1.234"), Decimal("-99999999999.001")]),
            "p": column(pa.struct([("x", pa.int8()), ("y", pa.string())]), [{"x": 1, "y": "b"}]),
            "flag": column(pa.bool_(), [True, False]),
            "bytes": column(pa.binary(4), [b"abcd", b"\x00\xff12"]),
            "half": pa.array(np.arange(count, dtype=np.float16)),
            "small": column(pa.uint8(), [0, 255]),
            "none": pa.nulls(count),
        }
    )


def written(folder: str, rows: pa.Table, **options: Any) -> tuple[str, PagedFile | None]:
    path = Path(folder, "rows.parquet")
    pq.write_table(rows, path, **options)
    footer = pq.read_metadata(path)
    stat = path.stat()
    return str(path), paged_file(str(path), stat.st_size, stat.st_mtime_ns, footer.serialized_size)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 120),
    group_rows=st.sampled_from([5, 40, 1000]),
    batch=st.sampled_from([1, 4, 30]),
    version=st.sampled_from(["1.0", "2.0"]),
    compression=st.sampled_from(["none", "snappy", "zstd", "gzip"]),
    dictionary=st.sampled_from([False, True, 100]),
    checksum=st.booleans(),
    int96=st.booleans(),
    store_schema=st.booleans(),
)
def test_pages_are_the_rows_of_the_file(
    seed: int,
    count: int,
    group_rows: int,
    batch: int,
    version: str,
    compression: str,
    dictionary: bool | int,
    checksum: bool,
    int96: bool,
    store_schema: bool,
) -> None:
    draw = random.Random(seed)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_reading, "_SHORT_BYTES", draw.choice([0, 1 << 14]))
        path, paged = written(
            folder,
            some_rows(draw, count),
            row_group_size=group_rows,
            write_page_index=True,
            data_page_size=1,
            write_batch_size=batch,
            data_page_version=version,
            compression=compression,
            use_dictionary=dictionary is not False,
            # Writers give a dictionary up when it grows too long: later pages have plain values.
            dictionary_pagesize_limit=100 if dictionary == 100 else 1 << 20,
            write_page_checksum=checksum,
            use_deprecated_int96_timestamps=int96,
            store_schema=store_schema,
        )
        assert paged is not None
        parquet = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        columns = [each.name for each in parquet.schema_arrow]
        for name in columns:
            column = paged.column(name)
            if name in ("list", "p"):
                assert paged.pages(0, name) is None and column is None
                continue
            assert column is not None
            rows = parquet.read(columns=[name]).column(0)
            positions = np.unique([draw.randrange(count) for _ in range(draw.choice([1, 3, 20]))])
            pages, places = column.holding(positions)
            spans = [column.first_rows[at].tolist() for at in (pages, pages + 1)]
            expected = [
                each for first, end in zip(*spans, strict=True) for each in rows[first:end].to_pylist()
            ]
            assert [expected[each] for each in places] == rows.take(positions).to_pylist()
            if draw.random() < 0.5:
                found, size = read_pages([(column, pages)])
            else:
                # As if it were several files, whose row groups go on or begin anew.
                found, size = read_pages([(column, pages[at : at + 2]) for at in range(0, len(pages), 2)])
            assert found.to_pylist() == expected
            assert found.type == parquet.schema_arrow.field(name).type
            # A long dictionary that pages turn out to need is a second request.
            assert 0 <= size <= 2 * Path(path).stat().st_size


def test_a_page_costs_its_own_bytes(tmp_path: Path) -> None:
    rows = pa.table({"x": np.random.default_rng(1).random(1_000_000), "y": np.arange(1_000_000)})
    path, paged = written(str(tmp_path), rows, write_page_index=True, data_page_size=64 << 10)
    assert paged is not None
    column = paged.column("y")
    assert column is not None
    pages, places = column.holding(np.array([777_777]))
    assert len(pages) == 1
    found, size = read_pages([(column, pages)])
    assert found[places[0]].as_py() == 777_777
    assert size < Path(path).stat().st_size / 10


def test_without_a_page_index_there_are_no_pages(tmp_path: Path) -> None:
    assert written(str(tmp_path), pa.table({"x": [1]}))[1] is None


@given(
    places=st.lists(
        st.tuples(*[st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 31) - 1)] * 2), max_size=40
    ),
    has_more=st.booleans(),
)
def test_places_of_pages_are_those_of_the_format(places: list[tuple[int, ...]], has_more: bool) -> None:
    kinds = parquet_thrift.format_kinds()
    of_format = [
        kinds.PageLocation(offset=each[0], compressed_page_size=each[1], first_row_index=each[2])
        for each in places
    ]
    content = parquet_thrift.encoded(kinds.OffsetIndex(page_locations=of_format))
    if has_more:
        # A further field, a list of numbers, as newer writers have it.
        content = content[:-1] + b"\x19\x26\x02\x04\x00"
    found = page_locations(content)
    assert (found is None) == (not places)
    assert found is None or found.tolist() == [list(each[:3]) for each in places]
    if places:
        assert parquet_thrift._places_at_once(content) is not None


@given(st.binary(max_size=60), st.booleans())
def test_no_bytes_are_taken_for_an_index_that_is_none(content: bytes, is_headed: bool) -> None:
    content = b"\x19\x2c" + content if is_headed else content
    at_once = parquet_thrift._places_at_once(content)
    index = parquet_thrift.decoded("OffsetIndex", content)
    if at_once is not None and index is not None and index.page_locations:
        whole = [
            (each.offset, each.compressed_page_size, each.first_row_index) for each in index.page_locations
        ]
        assert at_once.tolist() == [list(each) for each in whole]


@pytest.mark.parametrize("damage", [0, 2])
def test_an_index_that_is_not_of_the_file_is_left_alone(
    damage: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = parquet_pages.page_locations

    def damaged(content: bytes) -> Any:
        found = sound(content)
        assert found is not None
        found[0, damage] = 1 << 40
        return found

    monkeypatch.setattr(parquet_pages, "page_locations", damaged)
    _, paged = written(str(tmp_path), pa.table({"x": [1, 2, 3]}), write_page_index=True)
    assert paged is not None and paged.pages(0, "x") is None


def test_bytes_that_are_no_index_are_no_pages(tmp_path: Path) -> None:
    path, _ = written(str(tmp_path), pa.table({"x": list(range(100))}), write_page_index=True)
    content = bytearray(Path(path).read_bytes())
    footer = pq.read_metadata(path)
    chunk_end = footer.row_group(0).column(0).total_compressed_size + 4
    footer_at = len(content) - 8 - footer.serialized_size
    content[chunk_end:footer_at] = b"\xff" * (footer_at - chunk_end)
    Path(path).write_bytes(content)
    paged = paged_file(path, len(content), 1, footer.serialized_size)
    assert paged is None or paged.pages(0, "x") is None
