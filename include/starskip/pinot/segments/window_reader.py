"""Decode a window of several columns in one pass over the tar."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from starskip.pinot.segments.decoding import Decoder, UnreadableColumn, require
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.forward_index_decoding import (
    decode_fixed_bit,
    decode_multi_value,
    decode_sorted,
)
from starskip.pinot.segments.loose_indexes import IndexPlace
from starskip.pinot.segments.raw_decoding import decode_raw, decode_raw_multi_value
from starskip.pinot.segments.run_decoding import decode_runs
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import SegmentLayout
from starskip.pinot.segments.tar_stream import TarMember, tar_members
from starskip.pinot.segments.value_arrays import number_array, number_bytes, padded_array, variable_array
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.segment_facts import ColumnFacts
from starskip.tables.value_ends import value_ends

_NULLS = "nullvalue_vector"
_VARIABLE_LENGTH = b".vl;\0\0\0\1"
_HEADER_BYTES = 16

_DECODING_ERRORS = (
    ArithmeticError,
    IndexError,
    MemoryError,
    OSError,
    UnreadableColumn,
    ValueError,
    pa.ArrowException,
    struct.error,
)
"""Errors that damaged bytes make NumPy, pyarrow's codecs (OSError) and our own checks raise."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One index of a column to decode: its kind, its place in the tar, and its decoder."""

    column: str
    index_id: str
    place: IndexPlace
    decoder: Decoder[Any]


def read_window(
    file: SegmentFile,
    layout: SegmentLayout,
    columns: Sequence[str],
    runs: Sequence[range],
    max_column_bytes: int,
    limits: TarLimits,
) -> RowWindow:
    """Return the rows of ``runs``, which ascend, of ``columns``; raises DamagedSegment for a damaged tar."""
    window = _Window(layout, runs, max_column_bytes)
    parts = window.plan(columns)
    if parts:
        with closing(tar_members(file.path, limits)) as members:
            for member in members:
                window.decode(member, parts.pop(member.name, []))
                if not parts:
                    break
    for missing in parts.values():
        for part in missing:
            window.unreadable[part.column] = f"{part.place.member} is not in the tar"
    return RowWindow(
        table=file.table,
        segment=layout.metadata.segment,
        segment_rows=layout.metadata.rows,
        rows=window.rows,
        columns={name: window.column(name) for name in columns if name not in window.unreadable},
        unreadable=window.unreadable,
    )


class _Window:
    def __init__(self, layout: SegmentLayout, runs: Sequence[range], max_column_bytes: int) -> None:
        self.unreadable: dict[str, str] = {}
        self._layout = layout
        self._facts = {column.name: column for column in layout.metadata.columns}
        # An empty run may lie behind the last chunk; at any other place it decodes the same.
        self._runs = [run or range(0) for run in runs]
        self.rows = sum(map(len, runs))
        self._max_bytes = max_column_bytes
        self._bytes_left: dict[str, int] = {}
        self._decoded: dict[tuple[str, str], Any] = {}

    def plan(self, columns: Sequence[str]) -> dict[str, list[_Part]]:
        """Return the indexes to decode, by member; columns that cannot be read are noted."""
        parts: dict[str, list[_Part]] = {}
        for name in columns:
            self._bytes_left[name] = self._max_bytes
            try:
                for part in self._parts(name):
                    parts.setdefault(part.place.member, []).append(part)
            except UnreadableColumn as error:
                self.unreadable[name] = str(error)
        return {member: sorted(found, key=lambda part: part.place.offset) for member, found in parts.items()}

    def _parts(self, name: str) -> list[_Part]:
        require(name in self._facts, "the segment has no such column")
        facts = self._facts[name]
        forward = self._place(name, "forward_index")
        require(4 * self.rows <= self._max_bytes, f"its window needs more than {self._max_bytes} bytes")
        decoders = [self._forward_decoder(facts, forward.size, run) for run in self._runs]
        parts = [_Part(name, "forward_index", forward, decode_runs(decoders, self._max_bytes))]
        if name not in self._layout.metadata.raw_columns:
            place = self._place(name, "dictionary")
            decoder = decode_dictionary(
                facts.data_type, facts.cardinality or 0, place.size, self._layout.metadata.padding
            )
            parts.append(_Part(name, "dictionary", place, decoder))
        if (name, _NULLS) in self._layout.places:
            place = self._place(name, _NULLS)
            parts.append(_Part(name, _NULLS, place, decode_null_vector(place.size, self._runs)))
        return parts

    def _place(self, name: str, index_id: str) -> IndexPlace:
        place = self._layout.places.get((name, index_id))
        if place is None or place.size < 0:
            raise UnreadableColumn(f"the segment holds no {index_id} of it")
        return place

    def _forward_decoder(self, facts: ColumnFacts, size: int, rows: range) -> Decoder[Any]:
        segment_rows, max_bytes = self._layout.metadata.rows, self._max_bytes
        if facts.name in self._layout.metadata.raw_columns:
            decode = decode_raw if facts.is_single_value else decode_raw_multi_value
            return decode(facts.data_type, size, segment_rows, rows, max_bytes)
        cardinality = facts.cardinality or 0
        require(0 < cardinality < 1 << 31, "its cardinality is not known")
        if not facts.is_single_value:
            return decode_multi_value(cardinality, size, segment_rows, facts.entries, rows, max_bytes)
        if facts.is_sorted:
            return decode_sorted(cardinality, size, segment_rows, rows)
        return decode_fixed_bit(cardinality, size, segment_rows, rows)

    def decode(self, member: TarMember, parts: Sequence[_Part]) -> None:
        """Decode the parts that lie in ``member``, in the order of their bytes."""
        position = 0
        for part in parts:
            if part.column in self.unreadable:
                continue
            if part.place.offset - len(part.place.magic) < position:
                self.unreadable[part.column] = "its index overlaps another one"
                continue
            position = self._run(member, part, position)

    def _run(self, member: TarMember, part: _Part, position: int) -> int:
        """Feed one decoder from ``member``, which stands at ``position``; return the new position."""
        place, decoder = part.place, part.decoder
        try:
            require(
                place.offset + place.size <= member.size,
                f"its {part.index_id} lies beyond the end of the file",
            )
            magic_start = place.offset - len(place.magic)
            member.skip(magic_start - position)
            position = magic_start + len(place.magic)
            require(member.read(len(place.magic)) == place.magic, f"its {part.index_id} has no magic marker")
            offset, length = next(decoder)
            while True:
                start = place.offset + offset
                require(
                    0 <= length <= place.size - offset and start >= position,
                    f"its {part.index_id} is damaged",
                )
                self._spend(part.column, length)
                member.skip(start - position)
                content = member.read(length)
                position = start + length
                offset, length = decoder.send(content)
        except StopIteration as finished:
            self._decoded[part.column, part.index_id] = finished.value
        except _DECODING_ERRORS as error:
            damaged = f"its {part.index_id} is damaged ({error})"
            self.unreadable[part.column] = str(error) if isinstance(error, UnreadableColumn) else damaged
        return position

    def _spend(self, column: str, length: int) -> None:
        self._bytes_left[column] -= length
        require(self._bytes_left[column] >= 0, f"its window needs more than {self._max_bytes} bytes")

    def column(self, name: str) -> ColumnWindow:
        """Return the decoded parts of ``name`` as one."""
        forward = self._decoded[name, "forward_index"]
        codes, offsets = forward if isinstance(forward, tuple) else (forward, None)
        dictionary = self._decoded.get((name, "dictionary"))
        nulls = self._decoded.get((name, _NULLS))
        if dictionary is not None:
            return ColumnWindow(codes=codes, dictionary=dictionary, offsets=offsets, nulls=nulls)
        encoded, facts = codes.dictionary_encode(), self._facts[name]
        return ColumnWindow(
            codes=encoded.indices.to_numpy().astype(np.int32, copy=False),
            offsets=offsets,
            values=encoded.dictionary,
            nulls=nulls,
            ends=value_ends(facts.min_value, facts.max_value, encoded.dictionary.type),
        )


def decode_null_vector(size: int, runs: Sequence[range]) -> Decoder[npt.NDArray[np.bool_]]:
    """Return which rows of ``runs`` are null; ``size``: bytes of the vector."""
    found = BitMap.deserialize((yield 0, size)) if size else BitMap()
    nulls = [np.zeros(len(run), dtype=bool) for run in runs]
    for run, of_run in zip(runs, nulls, strict=True):
        of_run[np.array(found & BitMap(run), dtype=np.int64) - run.start] = True
    return np.concatenate(nulls)


def decode_dictionary(data_type: str, cardinality: int, size: int, padding: int) -> Decoder[pa.Array[Any]]:
    """Ask for the whole dictionary of ``size`` bytes; return its ``cardinality`` values, sorted as stored.

    Layouts: fixed-width values end to end (FixedByteValueReaderWriter), or a header ``.vl;``, version,
    count and start, then count + 1 offsets from the dictionary's start (VarLengthValueReader).
    """
    width = number_bytes(data_type)
    require(cardinality > 0, "its dictionary has no known cardinality")
    if width is not None:
        require(size == cardinality * width, "dictionary size and cardinality disagree")
        return number_array(data_type, (yield 0, size))
    content = yield 0, size
    if size >= _HEADER_BYTES and content.startswith(_VARIABLE_LENGTH):
        count, start = (int(number) for number in np.frombuffer(content, ">i4", 2, len(_VARIABLE_LENGTH)))
        require(count == cardinality, "dictionary size and cardinality disagree")
        require(_HEADER_BYTES <= start <= size - 4 * (count + 1), "its dictionary is damaged")
        offsets = np.frombuffer(content, ">i4", count + 1, start).astype(np.int64)
        return variable_array(data_type, offsets, content)
    # Only empty strings: zero bytes for any number of values.
    require(
        size % cardinality == 0 and (size > 0 or cardinality == 1), "dictionary size and cardinality disagree"
    )
    if size == 0:
        return variable_array(data_type, np.zeros(2, dtype=np.int64), b"")
    return padded_array(data_type, size // cardinality, padding, content)
