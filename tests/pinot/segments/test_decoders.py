"""Decoders against packers written here from the layouts, for what the real fixtures do not hold."""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.segments import forward_index_decoding
from starskip.pinot.segments.chunk_compression import (
    LZ4,
    LZ4_LENGTH_PREFIXED,
    PASS_THROUGH,
    SNAPPY,
    ZSTANDARD,
    decompress_chunk,
)
from starskip.pinot.segments.decoding import Decoder, UnreadableColumn
from starskip.pinot.segments.forward_index_decoding import (
    bits_per_code,
    decode_fixed_bit,
    decode_multi_value,
    decode_sorted,
    unpack_fixed_bit,
)
from starskip.pinot.segments.raw_decoding import decode_raw, decode_raw_multi_value
from starskip.pinot.segments.window_reader import decode_dictionary

MAX = 1 << 24


def run(decoder: Decoder[Any], content: bytes) -> Any:
    """Serve a decoder from memory, holding it to ascending requests within its index."""
    position = 0
    request = None
    try:
        request = next(decoder)
        while True:
            start, length = request
            assert position <= start <= start + length <= len(content)
            position = start + length
            request = decoder.send(content[start:position])
    except StopIteration as finished:
        return finished.value


def pack(values: list[int], bits: int) -> bytes:
    text = "".join(f"{value:0{bits}b}" for value in values)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))


@given(st.integers(1, 31), st.data())
def test_packed_values_of_every_width_come_back(bits: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=40))
    assert unpack_fixed_bit(pack(values, bits), bits, len(values)).tolist() == values


@pytest.mark.parametrize("bits", range(1, 32))
def test_all_ones_of_every_width(bits: int) -> None:
    values = [2**bits - 1, 0] * 11
    assert unpack_fixed_bit(pack(values, bits), bits, 22).tolist() == values


@given(st.integers(1, 5000), st.integers(1, 60), st.data())
def test_windows_of_fixed_bit_codes(cardinality: int, rows: int, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, cardinality - 1), min_size=rows, max_size=rows))
    start = data.draw(st.integers(0, rows))
    stop = data.draw(st.integers(start, rows))
    content = pack(codes, bits_per_code(cardinality))
    found = run(decode_fixed_bit(cardinality, len(content), rows, range(start, stop)), content)
    assert found.tolist() == codes[start:stop]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_windows_of_sorted_codes(runs: list[int], data: st.DataObject) -> None:
    codes = [code for code, length in enumerate(runs) for _ in range(length)]
    ends = np.cumsum(runs)
    content = np.stack([ends - runs, ends - 1], axis=1).astype(">i4").tobytes()
    start = data.draw(st.integers(0, len(codes)))
    stop = data.draw(st.integers(start, len(codes)))
    found = run(decode_sorted(len(runs), len(content), len(codes), range(start, stop)), content)
    assert found.tolist() == codes[start:stop]


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=30), st.data())
def test_windows_of_multi_value_codes(rows: list[list[int]], data: st.DataObject) -> None:
    entries = [code for row in rows for code in row]
    starts = [int(i == 0) for row in rows for i in range(len(row))]
    content = bytes(4) + pack(starts, 1) + pack(entries, 3)
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    decoder = decode_multi_value(7, len(content), len(rows), len(entries), range(start, stop), MAX)
    codes, offsets = run(decoder, content)
    assert [codes[a:b].tolist() for a, b in pairwise(offsets)] == rows[start:stop]


@pytest.mark.parametrize("rows", [range(0, 30), range(11, 30), range(25, 27), range(30, 30)])
def test_a_row_bitmap_over_several_blocks(rows: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_index_decoding, "_BITMAP_BLOCK_BYTES", 1)
    lists = [[row % 7] * (1 + row % 3) for row in range(30)]
    starts = [int(i == 0) for row in lists for i in range(len(row))]
    content = bytes(4) + pack(starts, 1) + pack([code for row in lists for code in row], 3)
    decoder = decode_multi_value(7, len(content), 30, len(starts), rows, MAX)
    codes, offsets = run(decoder, content)
    assert [codes[a:b].tolist() for a, b in pairwise(offsets)] == lists[rows.start : rows.stop]


def compressed(compression: int, content: bytes) -> bytes:
    if compression == PASS_THROUGH:
        return content
    if compression == ZSTANDARD:
        return zstandard.compress(content)
    packed: bytes = pa.Codec("snappy" if compression == SNAPPY else "lz4_raw").compress(content, asbytes=True)
    return struct.pack("<i", len(content)) + packed if compression == LZ4_LENGTH_PREFIXED else packed


METHODS = [PASS_THROUGH, SNAPPY, ZSTANDARD, LZ4, LZ4_LENGTH_PREFIXED]


@pytest.mark.parametrize("compression", METHODS)
@given(content=st.binary(max_size=3000).map(lambda part: part * 3))
@settings(max_examples=30)
def test_chunks_of_unknown_size_come_back_exactly(compression: int, content: bytes) -> None:
    assert decompress_chunk(compression, compressed(compression, content), MAX) == content


@pytest.mark.parametrize("compression", METHODS)
def test_a_chunk_over_the_budget_is_refused_before_it_is_unpacked(compression: int) -> None:
    chunk = compressed(compression, bytes(5000))
    with pytest.raises((UnreadableColumn, OSError)):
        decompress_chunk(compression, chunk, 4999)


@pytest.mark.parametrize("compression", [SNAPPY, LZ4, LZ4_LENGTH_PREFIXED])
def test_a_chunk_that_claims_more_than_it_holds_is_refused(compression: int) -> None:
    chunk = bytearray(compressed(compression, b"1234567890"))
    chunk[0] += 1 if compression != LZ4 else 0
    with pytest.raises((UnreadableColumn, OSError)):
        decompress_chunk(compression, bytes(chunk), MAX, 11)


def by_count(version: int, rows: list[bytes], per_chunk: int, compression: int, *, fixed: bool) -> bytes:
    """Lay out versions 1 to 4: chunks of ``per_chunk`` rows."""
    chunks = []
    for first in range(0, len(rows), per_chunk):
        part = rows[first : first + per_chunk]
        ends = np.cumsum([4 * per_chunk] + [len(row) for row in part])
        offsets = [int(end) for end in ends[:-1]] + [0] * (per_chunk - len(part))
        heading = b"" if fixed else struct.pack(f">{per_chunk}i", *offsets)
        chunks.append(compressed(compression, heading + b"".join(part)))
    longest = max(map(len, rows))
    header = struct.pack(">iiii", version, len(chunks), per_chunk, longest)
    if version > 1:
        header += struct.pack(">iii", len(rows), compression, 28)
    entry = "i" if version <= 2 else "q"
    start = len(header) + len(chunks) * struct.calcsize(">" + entry)
    starts = np.cumsum([start] + [len(chunk) for chunk in chunks])[:-1]
    return header + struct.pack(f">{len(chunks)}{entry}", *starts.tolist()) + b"".join(chunks)


def by_bytes(version: int, rows: list[bytes], target: int, compression: int) -> bytes:
    """Lay out versions 4 to 6: chunks of at most ``target`` bytes, huge rows alone."""
    groups: list[tuple[int, list[bytes]]] = []
    for number, row in enumerate(rows):
        room = target - 4 - sum(4 + len(other) for other in (groups[-1][1] if groups else []))
        is_huge = len(row) + 8 > target
        if groups and not is_huge and len(row) + 4 <= room and len(groups[-1][1][0]) + 8 <= target:
            groups[-1][1].append(row)
        else:
            groups.append((number, [row]))
    table, chunks, position = b"", [], 0
    for first, part in groups:
        is_huge = len(part[0]) + 8 > target
        content = part[0]
        if not is_huge:
            lengths = [len(row) for row in part]
            offsets = np.cumsum([4 * (len(part) + 1), *lengths])[:-1].tolist()
            numbers = lengths if version == 6 and compression != PASS_THROUGH else offsets
            content = struct.pack(f"<{len(part) + 1}i", len(part), *numbers) + b"".join(part)
        table += struct.pack("<II", first | (1 << 31 if is_huge else 0), position)
        chunks.append(compressed(compression, content))
        position += len(chunks[-1])
    return struct.pack(">iiii", version, target, compression, 16 + len(table)) + table + b"".join(chunks)


LAYOUTS: list[Callable[[list[bytes], int], bytes]] = [
    lambda rows, _: by_count(1, rows, 3, SNAPPY, fixed=False),
    lambda rows, method: by_count(2, rows, 4, method, fixed=False),
    lambda rows, method: by_count(3, rows, 1000, method, fixed=False),
    lambda rows, method: by_bytes(4, rows, 64, method),
    lambda rows, method: by_bytes(5, rows, 40, method),
    lambda rows, method: by_bytes(6, rows, 100, method),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", LAYOUTS)
@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=25), data=st.data())
@settings(max_examples=15)
def test_raw_strings_in_every_layout(
    layout: Callable[[list[bytes], int], bytes], method: int, texts: list[str], data: st.DataObject
) -> None:
    content = layout([text.encode() for text in texts], method)
    start = data.draw(st.integers(0, len(texts) - 1))
    stop = data.draw(st.integers(start + 1, len(texts)))
    found = run(decode_raw("STRING", len(content), len(texts), range(start, stop), MAX), content)
    assert found.to_pylist() == texts[start:stop]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("version", [1, 2, 3, 4])
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40), data=st.data())
@settings(max_examples=15)
def test_raw_longs_in_every_layout(version: int, method: int, values: list[int], data: st.DataObject) -> None:
    rows = [struct.pack(">q", value) for value in values]
    content = by_count(version, rows, 8, SNAPPY if version == 1 else method, fixed=True)
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start + 1, len(values)))
    found = run(decode_raw("LONG", len(content), len(values), range(start, stop), MAX), content)
    assert found.to_pylist() == values[start:stop]


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**30), max_value=10**30)
LISTS = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), min_size=1, max_size=20)


@given(rows=LISTS, with_count=st.booleans())
def test_raw_lists_of_numbers_and_of_strings(rows: list[list[int]], with_count: bool) -> None:
    stored = [struct.pack(f">{len(row)}i", *row) for row in rows]
    if with_count:
        stored = [struct.pack(">i", len(row)) + part for row, part in zip(rows, stored, strict=True)]
    content = by_bytes(4 if with_count else 5, stored, 64, LZ4_LENGTH_PREFIXED)
    values, offsets = run(
        decode_raw_multi_value("INT", len(content), len(rows), range(len(rows)), MAX), content
    )
    assert [values[a:b].to_pylist() for a, b in pairwise(offsets)] == rows

    texts = [[str(number).encode() for number in row] for row in rows]
    stored = [
        struct.pack(f">{len(row) + 1}i", len(row), *(len(text) for text in row)) + b"".join(row)
        for row in texts
    ]
    content = by_count(2, stored, 3, LZ4, fixed=False)
    values, offsets = run(
        decode_raw_multi_value("BYTES", len(content), len(rows), range(len(rows)), MAX), content
    )
    assert [values[a:b].to_pylist() for a, b in pairwise(offsets)] == texts


@pytest.mark.parametrize("padding", ["\0", "%"])
@given(values=st.lists(st.text("abcé東", max_size=7), min_size=1, max_size=20))
def test_padded_strings(padding: str, values: list[str]) -> None:
    width = max(1, *(len(value.encode()) for value in values))
    content = b"".join(value.encode().ljust(width, padding.encode()) for value in values)
    found = run(decode_dictionary("STRING", len(values), len(content), ord(padding)), content)
    assert found.to_pylist() == values


def variable_dictionary(values: list[bytes]) -> bytes:
    offsets = np.cumsum([16 + 4 * (len(values) + 1)] + [len(value) for value in values])
    header = b".vl;" + struct.pack(">iii", 1, len(values), 16)
    return header + offsets.astype(">i4").tobytes() + b"".join(values)


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=20))
def test_dictionaries_of_variable_length(values: list[bytes]) -> None:
    offsets = np.cumsum([16 + 4 * (len(values) + 1)] + [len(value) for value in values])
    content = (
        b".vl;" + struct.pack(">iii", 1, len(values), 16) + offsets.astype(">i4").tobytes() + b"".join(values)
    )
    assert run(decode_dictionary("BYTES", len(values), len(content), 0), content).to_pylist() == values


@given(st.lists(DECIMALS, min_size=1, max_size=9))
def test_big_decimals(values: list[decimal.Decimal]) -> None:
    stored = []
    for value in values:
        unscaled = int(value.scaleb(4, decimal.Context(prec=60)))
        stored.append(
            struct.pack(">h", 4) + unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        )
    offsets = np.cumsum([16 + 4 * (len(values) + 1)] + [len(value) for value in stored])
    content = (
        b".vl;" + struct.pack(">iii", 1, len(values), 16) + offsets.astype(">i4").tobytes() + b"".join(stored)
    )
    assert run(decode_dictionary("BIG_DECIMAL", len(values), len(content), 0), content).to_pylist() == values


@pytest.mark.parametrize(
    ("data_type", "stored", "expected"),
    [
        ("INT", struct.pack(">2i", -5, 7), [-5, 7]),
        ("LONG", struct.pack(">2q", -5, 7), [-5, 7]),
        ("FLOAT", struct.pack(">2f", -0.5, 7), [-0.5, 7.0]),
        ("DOUBLE", struct.pack(">2d", -0.1, 7), [-0.1, 7.0]),
        ("BOOLEAN", struct.pack(">2i", 0, 1), [False, True]),
        ("JSON", b'{}\0\0{"a"', ["{}", '{"a"']),
        ("STRING", b"\xff\xfeab", ["\ufffd\ufffd", "ab"]),
        ("BYTES", b"\0\1\2\0", [b"\0\1", b"\2\0"]),
    ],
)
def test_fixed_width_dictionaries(data_type: str, stored: bytes, expected: list[Any]) -> None:
    assert run(decode_dictionary(data_type, 2, len(stored), 0), stored).to_pylist() == expected


@pytest.mark.parametrize(
    ("decoder", "content", "message"),
    [
        (decode_dictionary("INT", 3, 8, 0), bytes(8), "dictionary size and cardinality disagree"),
        (decode_dictionary("STRING", 3, 8, 0), bytes(8), "dictionary size and cardinality disagree"),
        (decode_dictionary("STRING", 0, 8, 0), bytes(8), "its dictionary has no known cardinality"),
        (decode_dictionary("MAP", 3, 8, 0), bytes(8), "data type MAP is not read"),
        (decode_fixed_bit(3, 2, 4, range(4)), b"\xff", "forward index size and row count disagree"),
        (decode_fixed_bit(3, 1, 4, range(4)), b"\xff", "a code lies beyond the dictionary"),
        (
            decode_sorted(1, 8, 4, range(4)),
            struct.pack(">2i", 0, 4),
            "its sorted index does not cover the rows",
        ),
        (
            decode_multi_value(2, 6, 3, 3, range(3), MAX),
            bytes(4) + b"\x80\x00",
            "its row bitmap does not cover the rows",
        ),
        (
            decode_multi_value(2, 32, 3, 3, range(3), MAX),
            b"\xff\xab\xcd\xef" + bytes(28),
            "its forward index is encoded as MV_ENTRY_DICT, which is not read",
        ),
        (
            decode_raw("STRING", 9, 1, range(1), MAX),
            b"CLP.v1\0\0\0",
            "raw forward index version 1129074734 is not read",
        ),
        (
            decode_raw("INT", 36, 1, range(1), MAX),
            struct.pack(">7i", 2, 1, 1, 4, 1, 5, 28) + struct.pack(">2i", 32, 0),
            "its raw values are compressed with method 5, which is not read",
        ),
    ],
)
def test_what_is_not_read_has_its_reason(decoder: Decoder[Any], content: bytes, message: str) -> None:
    with pytest.raises(UnreadableColumn) as caught:
        run(decoder, content)
    assert str(caught.value) == message
