"""Convert Parquet values from Spark 2's calendar, Julian before 1582-10-15, to today's.

Spark recognises such a file by its footer, and so do we. For a file without Spark's version the session's
settings decide, by default that it is in today's calendar. Times before 1900 also have the zone offsets that
Spark's Java had then: times of other zones than UTC are not converted, and a file with them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import printable
from starskip.lake.nested_values import Path, with_leaves
from starskip.lake.parquet.footer_bounds import LEGACY_CALENDAR_DAYS
from starskip.lake.unlike_spark import UnlikeSpark

_VERSION, _ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
_DATES, _INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
_UTC = frozenset({b"UTC", b"Etc/UTC", b"GMT", b"Etc/GMT", b"Z"})
_FIRST_OF_TODAY = -141_427
"""1582-10-15, in days since the epoch."""
_JULIAN_EPOCH, _EPOCH = -719_470, -719_468
"""March 1 of the year 0 in both calendars: years are counted from March, so that a leap day is the last."""
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, slots=True)
class HybridCalendar:
    """The values of a file that are in Spark 2's calendar: dates with times of 64 bits, or times of INT96."""

    dates: bool
    int96: bool
    zone: bytes | None

    def of_today(self, column: pa.ChunkedArray, name: str, is_int96: Sequence[bool]) -> pa.ChunkedArray:
        """Return a column with the days and times that Spark reads; ``is_int96`` has an item for each leaf.

        Raises UnlikeSpark for times that it cannot convert.
        """

        def changed(chunk: pa.Array) -> pa.Array:
            leaves = iter(is_int96)
            array = pa.chunked_array([chunk])
            return with_leaves(array, (name,), lambda leaf, path: self._leaf(leaf, path, leaves)).chunk(0)

        return pa.chunked_array([changed(each) for each in column.chunks], column.type)

    def _leaf(self, leaf: pa.Array, path: Path, is_int96: Iterator[bool]) -> pa.Array:
        kind, is_other = leaf.type, next(is_int96)
        if pa.types.is_date32(kind) and self.dates:
            days = leaf.cast(pa.int32()).fill_null(_FIRST_OF_TODAY).to_numpy(zero_copy_only=False)
            if not len(days) or days.min() >= _FIRST_OF_TODAY:
                return leaf
            return pa.array(days_of_today(days).astype(np.int32), mask=_nulls(leaf)).cast(kind)
        # Spark 2 wrote no times of 64 bits without a zone: it had no such type.
        if not pa.types.is_timestamp(kind) or not (self.int96 if is_other else self.dates and kind.tz):
            return leaf
        times = leaf.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        day = _DAY[kind.unit]
        if not len(times) or times.min() >= LEGACY_CALENDAR_DAYS * day:
            return leaf
        if self.zone not in _UTC:
            zone = "unknown" if self.zone is None else printable(self.zone.decode(errors="replace"), 60)
            raise UnlikeSpark(
                f"column {printable(path[0], 60)} has times before 1900 in the calendar that Spark 2 had, "
                f"and in the time zone {zone}, which Spark alone converts"
            )
        days, within = np.divmod(times, day)
        return pa.array(days_of_today(days) * day + within, mask=_nulls(leaf)).cast(kind)


def hybrid_calendar(told: Mapping[bytes, bytes] | None) -> HybridCalendar | None:
    """Return which values are in that calendar by the footer's metadata, None if none are."""
    told = told or {}
    version = told.get(_VERSION)
    if version is None:
        return None
    # Spark compares the texts, too.
    dates, int96 = version < b"3.0.0" or _DATES in told, version < b"3.1.0" or _INT96 in told
    return HybridCalendar(dates, int96, told.get(_ZONE)) if dates or int96 else None


def in_todays_calendar(found: pa.Table, footer: Any) -> pa.Table:
    """Return columns of a file, by their names in the file, as Spark's own reader reads them.

    Raises UnlikeSpark for times that cannot be converted.
    """
    calendar = hybrid_calendar(footer.metadata)
    if calendar is None:
        return found
    at = 0
    for field in footer.schema.to_arrow_schema():
        leaves = range(at, at + _leaves(field.type))
        at = leaves.stop
        place = found.schema.get_field_index(field.name)
        if place >= 0 and _has_times(field.type):
            is_int96 = [footer.schema.column(leaf).physical_type == "INT96" for leaf in leaves]
            found = found.set_column(
                place, found.field(place), calendar.of_today(found[field.name], field.name, is_int96)
            )
    return found


def days_of_today(days: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the days that have the same year, month and day in today's calendar.

    A leap day that today's calendar lacks becomes the next day.
    """
    wide = days.astype(np.int64)
    quads, within = np.divmod(wide - _JULIAN_EPOCH, 1461)
    years = 4 * quads + np.minimum(within // 365, 3)
    shift = _EPOCH - _JULIAN_EPOCH - years // 100 + years // 400
    return np.where(wide < _FIRST_OF_TODAY, wide + shift, wide)


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_times(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def _leaves(kind: pa.DataType) -> int:
    if not pa.types.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))
