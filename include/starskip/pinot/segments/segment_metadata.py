"""Turn the keys of ``metadata.properties`` into facts (Pinot's SegmentMetadataImpl, ColumnMetadataImpl).

Left out on purpose: ``hasInvertedIndex``, which was always true; per-column ``totalDocs``, which
releases after 1.5 no longer keep.
"""

from __future__ import annotations

from dataclasses import dataclass

from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.metadata_properties import Properties, list_values, single_value
from starskip.tables.segment_facts import ColumnFacts

_COLUMN_LISTS = (
    "segment.dimension.column.names",
    "segment.metric.column.names",
    "segment.time.column.name",
    "segment.datetime.column.names",
    "segment.complex.column.names",
)
_VERSIONS = ("v1", "v2", "v3")
_OLD_PADDING = "%"
_LONGEST_NUMBER = 18
PULLED_ROWS = "starskip.pulled.rows"
"""The key of our own that marks a segment as pulled from a live Pinot."""


@dataclass(frozen=True, slots=True)
class SegmentMetadata:
    """A segment's metadata; ``columns`` have no index sizes yet.

    ``pulled_rows``: rows that were pulled from a live Pinot; None for a segment that Pinot has written.
    ``raw_columns`` keep values instead of codes in their forward index, even where they own a
    dictionary. ``padding`` is the byte that fills up fixed-width strings.
    """

    segment: str
    version: str
    rows: int
    columns: tuple[ColumnFacts, ...]
    raw_columns: frozenset[str]
    padding: int
    pulled_rows: int | None = None


def read_segment_metadata(path: str, properties: Properties) -> SegmentMetadata:
    """Return the metadata in ``properties``; raises DamagedSegment naming ``path`` and the key."""
    keys = _Keys(path, properties)
    version = single_value(properties, "segment.index.version") or "v1"
    if version not in _VERSIONS:
        raise keys.bad(f"segment.index.version is {version!r}, not one of {', '.join(_VERSIONS)}")
    rows = keys.number("segment.total.docs")
    if rows is None or rows < 0:
        raise keys.bad("segment.total.docs is missing or negative")
    # A column stands in two lists when it is the time column.
    names = dict.fromkeys(name for key in _COLUMN_LISTS for name in list_values(properties, key))
    if not names:
        raise keys.bad("no column is listed")
    columns = tuple(_column(keys, name, rows) for name in names)
    return SegmentMetadata(
        segment=keys.text("segment.name"),
        version=version,
        rows=rows,
        columns=columns,
        raw_columns=frozenset(column.name for column in columns if _is_raw(properties, column)),
        padding=_padding(properties, names),
        pulled_rows=keys.number(PULLED_ROWS),
    )


def _column(keys: _Keys, name: str, rows: int) -> ColumnFacts:
    start = f"column.{name}."
    cardinality = keys.number(f"{start}cardinality")
    is_single_value = keys.flag(f"{start}isSingleValues", default=True)
    entries, most = rows, min(1, rows)
    if not is_single_value:
        # Missing or -1 (unavailable) counts as one value a row, as Pinot takes it.
        entries = max(keys.number(f"{start}totalNumberOfEntries") or 0, rows)
        most = max(keys.number(f"{start}maxNumberOfMultiValues") or 0, -(-entries // rows) if rows else 0)
    return ColumnFacts(
        name=name,
        data_type=keys.text(f"{start}dataType"),
        column_type=keys.text(f"{start}columnType"),
        # Unknown is written as the least int, by some as -1.
        cardinality=cardinality if cardinality is not None and cardinality >= 0 else None,
        entries=entries,
        is_sorted=keys.flag(f"{start}isSorted", default=False),
        has_dictionary=keys.flag(f"{start}hasDictionary", default=True),
        is_single_value=is_single_value,
        max_values_per_row=most,
        min_value=single_value(keys.properties, f"{start}minValue"),
        max_value=single_value(keys.properties, f"{start}maxValue"),
    )


def _is_raw(properties: Properties, column: ColumnFacts) -> bool:
    encoding = single_value(properties, f"column.{column.name}.forwardIndexEncoding")
    return not column.has_dictionary if encoding is None else encoding == "RAW"


def _padding(properties: Properties, names: dict[str, None]) -> int:
    padding = single_value(properties, "segment.padding.character")
    if not padding:
        # The key is young and was dropped again after 1.5; hasInvertedIndex marks the old ones.
        is_old = any(f"column.{name}.hasInvertedIndex" in properties for name in names)
        padding = _OLD_PADDING if is_old else "\0"
    return ord(padding[0]) & 0xFF


@dataclass(frozen=True, slots=True)
class _Keys:
    path: str
    properties: Properties

    def text(self, key: str) -> str:
        value = single_value(self.properties, key)
        if not value:
            raise self.bad(f"{key} is missing")
        return value

    def number(self, key: str) -> int | None:
        value = single_value(self.properties, key)
        if value is None:
            return None
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER):
            raise self.bad(f"{key} is no number")
        return int(value)

    def flag(self, key: str, *, default: bool) -> bool:
        value = single_value(self.properties, key)
        return default if value is None else value.lower() == "true"

    def bad(self, problem: str) -> DamagedSegment:
        return DamagedSegment(self.path, "bad_metadata", f"metadata.properties: {problem}")
