"""Least and greatest values and counts of nulls from the footers of Parquet files, without reading rows.

Only certain bounds are returned (Parquet format 2.12, "Statistics"). A bound is null where a footer has none,
where it was written by other rules of order or calendar, and where it may have been cut short. All bounds of
a file that cannot be read are null. A file that is no whole Parquet file is reported as damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from starskip.lake.parquet.parquet_footers import Damaged, NoRows, each_footer

LEGACY_CALENDAR_DAYS = -25_567
"""1900-01-01, in days since the epoch: all calendars and time zones of old writers agree from then on."""
_DAY_US = 86_400_000_000
_CUT_BYTES = 64
"""Writers that cut long texts keep at least this many bytes; few writers note that they cut."""
_WRITER = re.compile(r"(parquet-mr|parquet-cpp-arrow) version (\d+)\.(\d+)")
_COMPARES_DECIMALS = {"parquet-mr": (1, 10), "parquet-cpp-arrow": (4, 0)}
_NEVER_CUT = ("parquet-mr", "parquet-cpp")
_SIGNED_BITS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}


@dataclass(frozen=True, slots=True)
class FooterColumn:
    """A column, or a field of structs, and the Arrow type that its values are read as."""

    path: tuple[str, ...]
    data_type: pa.DataType


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """One row a file. A null bound with ``values`` of 0 means no values, otherwise not known."""

    least: pa.Array
    greatest: pa.Array
    values: pa.Array


@dataclass(frozen=True, slots=True)
class Footers:
    """One row a file; ``rows`` is null for a file that cannot be read.

    ``damaged``: whether it is no whole Parquet file, so that nobody else can read it either.
    """

    rows: pa.Array
    columns: tuple[ColumnBounds, ...]
    damaged: pa.Array


def footer_bounds(
    paths: Sequence[str | None], columns: Sequence[FooterColumn], *, case_sensitive: bool = False
) -> Footers:
    """Return the bounds in files' footers, by path or URL; for a path of None no bounds are known.

    Raises SourceOutage and SourceError for a store that cannot be asked.
    """
    found = [_Lists() for _ in columns]
    rows: list[int | None] = []
    damaged: list[bool] = []
    for read in each_footer(paths):
        damaged.append(isinstance(read, Damaged))
        footer = None if isinstance(read, Damaged) else read
        rows.append(None if footer is None else footer.num_rows)
        leaves = {} if footer is None else _leaves(footer, case_sensitive)
        for column, lists in zip(columns, found, strict=True):
            lists.append(*_bounds(footer, leaves, column, case_sensitive))
    return Footers(
        pa.array(rows, pa.int64()),
        tuple(lists.arrays(column) for column, lists in zip(columns, found, strict=True)),
        pa.array(damaged, pa.bool_()),
    )


@dataclass(slots=True)
class _Lists:
    least: list[Any] = field(default_factory=list)
    greatest: list[Any] = field(default_factory=list)
    values: list[int | None] = field(default_factory=list)

    def append(self, least: Any, greatest: Any, values: int | None) -> None:
        self.least.append(least)
        self.greatest.append(greatest)
        self.values.append(values)

    def arrays(self, column: FooterColumn) -> ColumnBounds:
        def typed(values: list[Any]) -> pa.Array:
            kind = column.data_type
            if pa.types.is_timestamp(kind):
                return pa.array(values, pa.int64()).cast(kind)
            if pa.types.is_date32(kind):
                return pa.array(values, pa.int32()).cast(kind)
            return pa.array(values, kind)

        return ColumnBounds(typed(self.least), typed(self.greatest), pa.array(self.values, pa.int64()))


def _leaves(footer: Any, case_sensitive: bool) -> Mapping[str, int | None]:
    """Return the position of each leaf by its dotted path; None for a path that means several."""
    if isinstance(footer, NoRows):
        return {}
    positions: dict[str, int | None] = {}
    for position in range(footer.num_columns):
        path = footer.schema.column(position).path
        name = path if case_sensitive else path.lower()
        positions[name] = None if name in positions else position
    return positions


def _bounds(
    footer: Any, leaves: Mapping[str, int | None], column: FooterColumn, case_sensitive: bool
) -> tuple[Any, Any, int | None]:
    if footer is None:
        return None, None, None
    if isinstance(footer, NoRows):
        return None, None, 0
    name = ".".join(column.path)
    position = leaves.get(name if case_sensitive else name.lower())
    if position is None or not _is_path(footer, column.path, case_sensitive):
        return None, None, None
    leaf = footer.schema.column(position)
    if leaf.max_repetition_level or leaf.physical_type == "INT96":
        return None, None, None
    least, greatest, values = [], [], 0
    is_known = True
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group)
        if not chunk.num_rows:
            continue
        statistics = chunk.column(position).statistics
        if statistics is None or not statistics.has_null_count:
            return None, None, None
        here = chunk.num_rows - statistics.null_count
        values += here
        if here and statistics.has_min_max:
            least.append(statistics.min_raw)
            greatest.append(statistics.max_raw)
        elif here:
            is_known = False
    converter = _converter(leaf, column.data_type)
    if not is_known or converter is None or not least:
        return None, None, values
    try:
        low, high = min(map(converter, least)), max(map(converter, greatest))
    except (ValueError, ArithmeticError):
        return None, None, values
    if low > high or (isinstance(least[0], bytes) and not _is_compared_well(footer, column.data_type)):
        return None, None, values
    return (low, high, values) if _is_sure(footer, column.data_type, low, high) else (None, None, values)


def _is_path(footer: Any, path: Sequence[str], case_sensitive: bool) -> bool:
    """Return whether a path's parts are the file's: a column's name may have dots, as a field's path has."""
    if len(path) == 1:
        return "." not in path[0]
    try:
        fields: Any = footer.schema.to_arrow_schema()
    except pa.ArrowException:
        return False
    for part in path:
        found = [each for each in fields if _is_called(each.name, part, case_sensitive)]
        if len(found) != 1:
            return False
        fields = found[0].type if pa.types.is_struct(found[0].type) else ()
    return True


def _is_called(name: str, part: str, case_sensitive: bool) -> bool:
    return name == part if case_sensitive else name.lower() == part.lower()


def _converter(leaf: Any, kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return a function from raw values to values of ``kind``, None if the file's type may be another."""
    told = json.loads(leaf.logical_type.to_json())
    name, physical = told["Type"], leaf.physical_type
    if kind in _SIGNED_BITS:
        width = {"INT32": 32, "INT64": 64}.get(physical)
        if name == "Int" and told["isSigned"]:
            width = told["bitWidth"]
        elif name != "None":
            width = None
        return int if width is not None and width <= _SIGNED_BITS[kind] else None
    if pa.types.is_date32(kind):
        return int if (name, physical) == ("Date", "INT32") else None
    if pa.types.is_timestamp(kind):
        factor = {"microseconds": 1, "milliseconds": 1000}.get(told.get("timeUnit"))
        is_same = name == "Timestamp" and told["isAdjustedToUTC"] == (kind.tz is not None)
        return (lambda raw: _in_64_bits(raw * factor)) if is_same and factor else None
    if pa.types.is_decimal(kind):
        if name != "Decimal" or told["scale"] != kind.scale or told["precision"] > kind.precision:
            return None
        return lambda raw: Decimal(f"{_unscaled(raw)}E{-kind.scale}")
    plain: Mapping[pa.DataType, tuple[str, str, Callable[[Any], Any]]] = {
        pa.string(): ("String", "BYTE_ARRAY", lambda raw: raw.decode()),
        pa.binary(): ("None", "BYTE_ARRAY", bytes),
        pa.bool_(): ("None", "BOOLEAN", bool),
    }
    wanted = plain.get(kind)
    return wanted[2] if wanted is not None and wanted[:2] == (name, physical) else None


def _unscaled(raw: Any) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def _in_64_bits(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise ValueError("beyond what a timestamp can be")
    return number


def _is_sure(footer: Any, kind: pa.DataType, low: Any, high: Any) -> bool:
    if pa.types.is_date32(kind):
        return low >= LEGACY_CALENDAR_DAYS or _is_of_today(footer)
    if pa.types.is_timestamp(kind):
        return low >= LEGACY_CALENDAR_DAYS * _DAY_US or _is_of_today(footer)
    if kind in (pa.string(), pa.binary()) and not footer.created_by.startswith(_NEVER_CUT):
        return all(len(each) < _CUT_BYTES // 4 for each in (low, high))
    return True


def _is_compared_well(footer: Any, kind: pa.DataType) -> bool:
    """Return whether a writer compared decimals stored as bytes as numbers, not as bytes.

    parquet-mr before 1.10 and parquet-cpp before Arrow 4 compared bytes; other writers are not known.
    """
    if not pa.types.is_decimal(kind):
        return True
    found = _WRITER.match(footer.created_by or "")
    return found is not None and (int(found[2]), int(found[3])) >= _COMPARES_DECIMALS[found[1]]


def _is_of_today(footer: Any) -> bool:
    """Return whether Spark wrote dates in the calendar in which it reads them now, whatever is configured."""
    told = footer.metadata or {}
    version = told.get(b"org.apache.spark.version", b"0").split(b".")[0]
    legacy = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"} & told.keys()
    return version.isdigit() and int(version) >= 3 and not legacy
