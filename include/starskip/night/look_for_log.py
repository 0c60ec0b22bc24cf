"""A look at the broker logs before the night's work: a night without a log ends at once, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night
from starskip.errors import MissingLog
from starskip.night.lake_only import find_lake_only
from starskip.night.night_logs import night_logs
from starskip.pinot.logs.file_day import may_be_of_day
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split

_MOST_BYTES = 128 << 20
"""Bytes of records that are read: a longer log is not searched any further."""


def look_for_log(night: Night) -> None:
    """Raise MissingLog if the logs of the night hold no record of its day.

    For the start of a whole night: a stage by itself has no use for it. If all tables lie in the lake alone,
    no log is looked for. Files whose path names the day come first, and the first record of the day ends the
    look. A log with more than 128 MiB of records of other days passes: parse_query_logs judges it.
    """
    if not night.log_paths or not night.segments_root:
        return
    if night.tables is not None and night.tables <= find_lake_only(night):
        return
    logs = night_logs(night.log_paths, night.run_date, neighbours=night.settings.log.read_neighbouring_days)
    zone = night.settings.log.time_zone
    ordered = sorted(logs.files, key=lambda file: (night.date_text not in file, file))
    seen_bytes = outside = 0
    reading = night.settings.log
    formats = module_names(reading.formats)
    for split in log_splits(ordered, reading.split_bytes, reading.message_field, formats):
        may_be_tonight = may_be_of_day(split.path, night.run_date, zone)
        for batch in parse_split(split, zone):
            of_night = pc.sum(is_of_day(batch, night.run_date, untimed=may_be_tonight)).as_py() or 0
            seen_bytes += batch.nbytes
            if of_night or seen_bytes > _MOST_BYTES:
                return
            outside += batch.num_rows
    raise no_log(night, logs.files, outside)


def is_of_day(batch: pa.RecordBatch, day: date, *, untimed: bool) -> pa.Array:
    """Return for each of LOG_RECORDS whether it is of ``day``; ``untimed``: the answer without a time."""
    start = datetime.combine(day, time())
    stamps = batch.column("logged_at")
    inside = pc.and_(
        pc.greater_equal(stamps, pa.scalar(start, stamps.type)),
        pc.less(stamps, pa.scalar(start + timedelta(days=1), stamps.type)),
    )
    return pc.fill_null(inside, untimed)


def no_log(night: Night, files: Sequence[str], outside: int) -> MissingLog:
    """Return the error of a night if no file has a record of its day; ``outside``: records of other days."""
    return MissingLog(
        f"no log of {night.date_text}: {len(files)} log files hold no record of that day and "
        f"{outside} of other days; run the night again when its log is there",
        source=night.date_text,
    )
