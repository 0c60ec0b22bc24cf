"""The log files that may hold records of a night; one without a log ends at once, in one line.

A file seldom ends at midnight: logrotate names it after the day on which it was closed, a shipper after the
day on which it was opened. So ``{run_date}`` in a path stands for the day before and the day after as well;
the time of a record decides whether it counts (parse_query_logs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night
from starskip.errors import MissingLog, MissingSource
from starskip.night.log_times import KnownLogs
from starskip.night.night_tables import night_tables
from starskip.pinot.logs.file_day import may_be_of_day
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.log_files import listed_logs, log_files

PLACE = "{run_date}"


_MOST_BYTES = 128 << 20
"""Bytes of records that are read: a longer log is not searched any further."""


@dataclass(frozen=True, slots=True)
class NightLogs:
    """The files, each once, and warnings on missing ones."""

    files: tuple[FileIdentity, ...]
    warnings: tuple[str, ...]


def night_logs(paths: Sequence[str], run_date: date, *, neighbours: bool) -> NightLogs:
    """Return the files that ``paths`` name for the night, with ``neighbours`` also for the days beside it.

    Raises SourceError for a path that names nothing, neither for the night nor for the days beside it.
    """
    existing, warnings = night_paths(paths, run_date, log_files, neighbours=neighbours)
    return NightLogs(listed_logs(existing), warnings)


def night_paths(
    paths: Sequence[str], run_date: date, look_up: Callable[[Sequence[str]], object], *, neighbours: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of the night, and of the days beside it, that name something, and warnings.

    ``look_up`` raises MissingSource for paths that name nothing. So does this for a path without a day, and
    if no path names anything: a broker that is gone leaves a path with a day without a file.
    """
    found: list[str] = []
    warnings: list[str] = []
    gone: list[MissingSource] = []
    for path in paths:
        of_path = [path.replace(PLACE, day.isoformat()) for day in _days(path, run_date, neighbours)]
        existing, missing = [], []
        for each in of_path:
            try:
                look_up([each])
            except MissingSource as error:
                missing.append(error)
            else:
                existing.append(each)
        if not existing and PLACE not in path:
            raise missing[0]
        if not existing:
            gone.append(missing[0])
        elif of_path[0] not in existing:
            warnings.append(f"{missing[0]}; the logs of the days beside it are read")
        found.extend(existing)
    if gone and not found:
        raise gone[0]
    warnings += [
        f"{error}; nor is there one of the days beside it, and the other logs are read" for error in gone
    ]
    return tuple(found), tuple(warnings)


def _days(path: str, run_date: date, neighbours: bool) -> list[date]:
    if PLACE not in path or not neighbours:
        return [run_date]
    return [run_date, run_date - timedelta(days=1), run_date + timedelta(days=1)]


def look_for_log(night: Night) -> None:
    """Raise MissingLog if the logs of the night hold no record of its day.

    For the start of a whole night: a stage by itself has no use for it. If all tables lie in the lake alone,
    no log is looked for. Files whose path names the day come first, and the first record of the day ends the
    look. A log with more than 128 MiB of records of other days passes: parse_query_logs judges it.
    """
    if not night.log_paths or not night.segments_root:
        return
    if night.tables is not None and not night_tables(night).folders:
        return
    logs = night_logs(night.log_paths, night.run_date, neighbours=night.settings.log.read_neighbouring_days)
    zone = night.settings.log.time_zone
    known = KnownLogs(night, logs.files)
    paths = [file.path for file in known.to_read]
    ordered = sorted(paths, key=lambda path: (night.date_text not in path, path))
    seen_bytes, outside = 0, sum(each.records for each in known.left_out.values())
    reading = night.settings.log
    formats = module_names(reading.formats)
    # A file is opened when the ones before it held nothing of the day.
    cut = partial(
        log_splits, split_bytes=reading.split_bytes, message_field=reading.message_field, formats=formats
    )
    for split in chain.from_iterable(cut([path]) for path in ordered):
        may_be_tonight = may_be_of_day(split.path, night.run_date, zone)
        for batch in parse_split(split, zone):
            of_night = pc.sum(is_of_day(batch, night.run_date, untimed=may_be_tonight)).as_py() or 0
            seen_bytes += batch.nbytes
            if of_night or seen_bytes > _MOST_BYTES:
                return
            outside += batch.num_rows
    raise no_log(night, len(logs.files), outside)


def is_of_day(batch: pa.RecordBatch, day: date, *, untimed: bool) -> pa.Array:
    """Return for each of LOG_RECORDS whether it is of ``day``; ``untimed``: the answer without a time."""
    start = datetime.combine(day, time())
    stamps = batch.column("logged_at")
    inside = pc.and_(
        pc.greater_equal(stamps, pa.scalar(start, stamps.type)),
        pc.less(stamps, pa.scalar(start + timedelta(days=1), stamps.type)),
    )
    return pc.fill_null(inside, untimed)


def no_log(night: Night, files: int, outside: int) -> MissingLog:
    """Return the error of a night if no file has a record of its day; ``outside``: records of other days."""
    return MissingLog(
        f"no log of {night.date_text}: {files:,} log files hold no record of that day and "
        f"{outside} of other days; run the night again when its log is there",
        source=night.date_text,
    )
