"""Rows of sampled segments to simulate on, and sizes of indexes, decoded in one pass over each segment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from starskip.advisor.cost.index_sizes import window_sizes
from starskip.advisor.cost.sampled_segments import SampledSegment, name_hash
from starskip.advisor.families.family import Family
from starskip.pinot.index_sizes.index_format import IndexFormat, index_format
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.facts_table import facts_rows, source_identity
from starskip.pinot.segments.segment_layout import read_segment_layout
from starskip.pinot.segments.segment_reader import RUN_ROWS, read_row_window, segment_facts
from starskip.settings import Settings
from starskip.storage.schemas import INDEX_SIZES, SEGMENT_WINDOWS
from starskip.tables.row_window import RowWindow
from starskip.tables.thin_window import thin_window
from starskip.tables.window_bytes import stream_bytes, window_bytes, window_from_bytes

_MIN_WINDOW_ROWS = 256
_MAX_READ_ROWS = 1 << 20
"""Rows decoded of a segment before they are thinned: sixteen roaring containers, which more rows repeat."""
_MAX_READ_VALUES = _MAX_READ_ROWS * 64
"""Values decoded of a segment at once, 256 MiB of codes: of many columns fewer rows are read."""
_LEAST_READ_ROWS = 2 * RUN_ROWS
"""However many columns: rows of two places of the segment."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """Rows to decode of each segment, and the indexes whose sizes they give: their format and families."""

    rows_per_table: int
    format: IndexFormat
    families: tuple[Family, ...]

    def rows(self, sample: SampledSegment) -> int:
        """Return how many rows are kept of the segment."""
        return max(self.rows_per_table // sample.wanted, _MIN_WINDOW_ROWS)

    def key(self, sample: SampledSegment, columns: Sequence[str]) -> str:
        """Return a text that differs where other rows would be decoded of the same file, or other sizes."""
        rows, names = [self.rows(sample), _read_rows(len(columns))], [each.name for each in self.families]
        return json.dumps([source_identity(sample.file), rows, str(self.format), names])


def decoding(settings: Settings, families: Sequence[Family]) -> Decoding:
    """Return what the settings of a night ask to be decoded."""
    scoring = settings.scoring
    return Decoding(scoring.window_rows_per_table, index_format(scoring.pinot_version), tuple(families))


@dataclass(frozen=True, slots=True)
class DecodedSegment:
    """Some rows of a segment, and what its metadata says of columns.

    ``stored``: the rows, or their bytes, which are unpacked when they are asked for. ``has_all_values``: all
    rows were decoded before they were thinned. ``values_a_row``: distinct values of a column for each row.
    ``sizes``: INDEX_SIZES by the decoded rows.
    """

    stored: RowWindow | bytes
    has_all_values: bool
    sorted_columns: frozenset[str]
    constant_columns: frozenset[str]
    values_a_row: Mapping[str, float]
    sizes: pa.RecordBatch

    @property
    def window(self) -> RowWindow:
        """Return the rows."""
        return window_from_bytes(self.stored) if isinstance(self.stored, bytes) else self.stored

    def covers(self, columns: Iterable[str]) -> bool:
        """Return whether these columns were asked for when it was decoded."""
        return self.window.columns.keys() | self.window.unreadable.keys() >= set(columns)


DecodedSource = Callable[
    [Iterable[SampledSegment], Sequence[str]], Iterator[tuple[SampledSegment, DecodedSegment]]
]
"""Yields sampled segments of one table with what is decoded of the given columns; damaged ones are left out.

collect_segment_metadata reports a damaged segment; the other segments suffice.
"""


def decoded_now(what: Decoding) -> DecodedSource:
    """Return a source that decodes each segment when it is first asked for, and keeps its rows."""
    held: dict[str, DecodedSegment] = {}

    def decoded(
        samples: Iterable[SampledSegment], columns: Sequence[str]
    ) -> Iterator[tuple[SampledSegment, DecodedSegment]]:
        for sample in samples:
            known = held.get(what.key(sample, columns))
            if known is None or not known.covers(columns):
                try:
                    known = held[what.key(sample, columns)] = decode_segment(sample, columns, what)
                except DamagedSegment:
                    continue
            yield sample, known

    return decoded


def decode_segment(sample: SampledSegment, columns: Sequence[str], what: Decoding) -> DecodedSegment:
    """Decode rows from all over a segment, of other places in each; raises DamagedSegment."""
    file = sample.file
    layout = read_segment_layout(file, TarLimits(), whole=False)
    facts = segment_facts(file, layout)
    place = name_hash(file) / 2**32
    whole = read_row_window(file, columns, max_rows=_read_rows(len(columns)), layout=layout, place=place)
    sizes = [
        window_sizes(whole, batch, what.format, what.families)
        for batch in facts_rows(file, facts).combine_chunks().to_batches()
    ]
    return DecodedSegment(
        thin_window(whole, what.rows(sample)),
        has_all_values=whole.rows == whole.segment_rows,
        sorted_columns=frozenset(c.name for c in facts.columns if c.is_sorted),
        constant_columns=frozenset(c.name for c in facts.columns if c.cardinality == 1),
        values_a_row={
            c.name: c.cardinality / facts.rows for c in facts.columns if c.cardinality and facts.rows
        },
        sizes=pa.concat_batches(sizes) if sizes else pa.RecordBatch.from_pylist([], INDEX_SIZES),
    )


def _read_rows(columns: int) -> int:
    # Powers of two: one column more or less must not have kept rows decoded again.
    fitting = 1 << (_MAX_READ_VALUES // max(columns, 1)).bit_length() - 1
    return min(_MAX_READ_ROWS, max(fitting, _LEAST_READ_ROWS))


def decoded_row(table: str, key: str, decoded: DecodedSegment) -> pa.RecordBatch:
    """Return a row of SEGMENT_WINDOWS."""
    row = {
        "table": table,
        "key": key,
        "columns": [*decoded.window.columns, *decoded.window.unreadable],
        "has_all_values": decoded.has_all_values,
        "sorted_columns": sorted(decoded.sorted_columns),
        "constant_columns": sorted(decoded.constant_columns),
        "values_a_row": list(decoded.values_a_row.items()),
        "window": window_bytes(decoded.window),
        "sizes": stream_bytes(decoded.sizes),
    }
    return pa.RecordBatch.from_pylist([row], SEGMENT_WINDOWS)


def decoded_from_row(row: Mapping[str, Any]) -> DecodedSegment:
    """Return what ``decoded_row`` holds."""
    with pa.ipc.open_stream(row["sizes"]) as reader:
        sizes = reader.read_next_batch()
    return DecodedSegment(
        row["window"],
        has_all_values=row["has_all_values"],
        sorted_columns=frozenset(row["sorted_columns"]),
        constant_columns=frozenset(row["constant_columns"]),
        values_a_row=dict(row["values_a_row"]),
        sizes=sizes,
    )
