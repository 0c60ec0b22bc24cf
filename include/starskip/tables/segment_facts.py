"""Facts of a segment and of its columns, from the segment's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column of one segment.

    ``cardinality`` is None where the segment does not know it (raw columns of realtime segments).
    ``entries`` counts values: equal to the segment's rows for a single-value column.
    ``index_bytes`` maps Pinot's index ids (``inverted_index``, ``dictionary``, …) to sizes in bytes.
    """

    name: str
    data_type: str
    column_type: str
    cardinality: int | None
    entries: int
    is_sorted: bool
    has_dictionary: bool
    is_single_value: bool
    max_values_per_row: int
    min_value: str | None
    max_value: str | None
    index_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """One segment: its table (without type suffix), format version, rows and columns."""

    table: str
    segment: str
    version: str
    rows: int
    columns: tuple[ColumnFacts, ...]
