"""Keep the times of each log file's records from night to night: artefact ``log_times``.

A file that has not changed since, and that holds no record of the night, is not read again: a folder of a
year's logs costs what tonight's files cost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night
from starskip.errors import StorageError, StorageOutage
from starskip.extras import installed_version
from starskip.night.night_logs import NO_TABLE
from starskip.pinot.logs.file_day import may_be_of_day
from starskip.pinot.logs.log_formats import KNOWN_FORMATS, log_formats, module_names
from starskip.storage.artefact_store import CURRENT
from starskip.storage.files.file_identity import FileIdentity, is_racy
from starskip.storage.manifest import Part

LOG_TIMES = "log_times"
_READING = "reading"
_UNREADABLE = "unreadable_file"
_MICROSECONDS = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class LogTimes:
    """Records of a file, those without a time, and the first and last times, in µs of the log's own clock.

    ``is_whole``: whether all of it could be read.
    """

    records: int = 0
    untimed: int = 0
    first_us: int | None = None
    last_us: int | None = None
    is_whole: bool = True

    def __add__(self, other: LogTimes) -> LogTimes:
        """Return the times of both pieces of a file."""
        return LogTimes(
            self.records + other.records,
            self.untimed + other.untimed,
            min((each for each in (self.first_us, other.first_us) if each is not None), default=None),
            max((each for each in (self.last_us, other.last_us) if each is not None), default=None),
            self.is_whole and other.is_whole,
        )

    def lacks(self, day: date) -> bool:
        """Return whether no record with a time is of ``day``; False for a file without such records."""
        if self.first_us is None or self.last_us is None:
            return False
        start_us = (datetime(day.year, day.month, day.day) - _EPOCH) // _MICROSECONDS
        return self.last_us < start_us or self.first_us >= start_us + timedelta(days=1) // _MICROSECONDS


def times_of(batch: pa.RecordBatch) -> LogTimes:
    """Return the times of a batch of LOG_RECORDS."""
    stamps = batch.column("logged_at").cast(pa.timestamp("us")).cast(pa.int64())
    ends = pc.min_max(stamps).as_py()
    is_unreadable = pc.any(pc.equal(batch.column("reason"), _UNREADABLE)).as_py()
    return LogTimes(batch.num_rows, stamps.null_count, ends["min"], ends["max"], not is_unreadable)


class KnownLogs:
    """The log files of a night, and what earlier nights have seen in them."""

    def __init__(self, night: Night, files: Sequence[FileIdentity]) -> None:
        """Look up what is known; a log that users' formats read is not, since their code may change."""
        self._night, self._files = night, files
        self._seen_at_ns = time.time_ns()
        formats = log_formats(module_names(night.settings.log.formats))
        self._is_kept = formats == KNOWN_FORMATS
        known = _kept_times(night) if self._is_kept else {}
        self._known = {each.path: known[each.to_text()] for each in files if each.to_text() in known}
        zone = night.settings.log.time_zone
        self.left_out = {
            path: times
            for path, times in self._known.items()
            if times.lacks(night.run_date)
            and not (times.untimed and may_be_of_day(path, night.run_date, zone))
        }

    @property
    def to_read(self) -> list[FileIdentity]:
        """Return the files that may hold records of the night."""
        return [each for each in self._files if each.path not in self.left_out]

    def keep(self, read: Mapping[str, LogTimes]) -> None:
        """Publish the times of the files that were ``read``, and of those that were left out."""
        if not self._is_kept or self._night.is_experiment:
            return
        rows = [
            {"file": each.to_text(), "records": times.records, "untimed": times.untimed}
            | {"first_us": times.first_us, "last_us": times.last_us}
            for each in self._files
            if (times := {**read, **self.left_out}.get(each.path)) is not None
            and times.is_whole
            and not is_racy(each, observed_at_ns=self._seen_at_ns)
        ]
        night = self._night
        schema = night.store.schemas[LOG_TIMES]
        files = night.store.staged_write(LOG_TIMES, CURRENT).write(
            NO_TABLE, pa.Table.from_pylist(rows, schema)
        )
        night.store.publish(
            LOG_TIMES,
            CURRENT,
            {NO_TABLE: Part(files, {_READING: _reading(night)})},
            replace="all",
            created_at=night.started_at,
            created_by=night.run_id,
        )


def _reading(night: Night) -> str:
    """Return how the log is read: read otherwise, a record may have another time."""
    reading = night.settings.log
    return json.dumps([installed_version("starskip"), reading.time_zone, reading.message_field])


def _kept_times(night: Night) -> dict[str, LogTimes]:
    """Return the times by the identities of the files."""
    try:
        snapshot = night.store.snapshot(LOG_TIMES, CURRENT)
        part = snapshot.parts().get(NO_TABLE) if snapshot else None
        if snapshot is None or part is None or part.properties.get(_READING) != _reading(night):
            return {}
        columns = snapshot.read_table().to_pydict()
    except StorageOutage:
        raise
    except StorageError:
        return {}  # all files are read again
    file, *values = (columns[name] for name in ("file", "records", "untimed", "first_us", "last_us"))
    return {name: LogTimes(*each) for name, *each in zip(file, *values, strict=True)}
