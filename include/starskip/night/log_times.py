"""Keep the times of each log file's records from night to night: artefact ``log_times``.

A file that has not changed since, and that holds no record of the night, is not read again: a folder of a
year's logs costs what tonight's files cost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.gate import mapping_of
from starskip.advisor.run.night import NO_TABLE, Night
from starskip.errors import StorageError, StorageOutage, some_of
from starskip.pinot import logs
from starskip.pinot.logs.file_day import log_source, may_be_of_day
from starskip.pinot.logs.log_formats import KNOWN_FORMATS, log_formats, module_names
from starskip.storage.artefact_store import CURRENT
from starskip.storage.files.file_identity import FileIdentity, is_racy

LOG_TIMES = "log_times"
_READING = "reading"
_SOURCES = "sources"
_MOST_SOURCES = 500
_NIGHTS_OF_SOURCES = 8
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
        known, self._earlier_sources = _kept_times(night) if self._is_kept else ({}, {})
        zone = night.settings.log.time_zone
        self.left_out = {
            each.path: times
            for each in files
            if (times := known.get(each.to_text())) is not None
            and times.lacks(night.run_date)
            and not (times.untimed and may_be_of_day(each.path, night.run_date, zone))
        }

    @property
    def to_read(self) -> list[FileIdentity]:
        """Return the files to read: the others are known to hold no record of the night."""
        return [each for each in self._files if each.path not in self.left_out]

    def keep(self, read: Mapping[str, LogTimes], of_night: Collection[str]) -> list[str]:
        """Publish the times of the files that were ``read``, and of the files that were left out.

        ``of_night``: the files with records of the night. Return a warning on brokers that have none, and had
        some in both of the two nights before.
        """
        if not self._is_kept or self._night.is_experiment:
            return []
        known = {**read, **self.left_out}
        rows = [
            {"file": each.to_text(), "records": times.records, "untimed": times.untimed}
            | {"first_us": times.first_us, "last_us": times.last_us}
            for each in self._files
            if (times := known.get(each.path)) is not None
            and times.is_whole
            and not is_racy(each, observed_at_ns=self._seen_at_ns)
        ]
        night = self._night
        schema = night.store.schemas[LOG_TIMES]
        written = night.store.staged_write(LOG_TIMES, CURRENT).write(
            NO_TABLE, pa.Table.from_pylist(rows, schema)
        )
        told = {_READING: _reading(night), _SOURCES: self._sources(of_night)}
        night.publish_note(LOG_TIMES, CURRENT, told, written)
        return self._silent(of_night)

    def _sources(self, of_night: Collection[str]) -> dict[str, list[str]]:
        """Return the brokers with records by night, of this night and the newest ones."""
        sources = sorted({log_source(path) for path in of_night})
        kept: dict[str, Any] = {**self._earlier_sources, self._night.date_text: sources[:_MOST_SOURCES]}
        return dict(sorted(kept.items())[-_NIGHTS_OF_SOURCES:])

    def _silent(self, of_night: Collection[str]) -> list[str]:
        days = [(self._night.run_date - timedelta(days=each)).isoformat() for each in (1, 2)]
        before = [set(self._earlier_sources.get(day, ())) for day in days]
        missing = set.intersection(*before) - {log_source(path) for path in of_night}
        words = "no record of the day in logs that had some in the two nights before"
        return [f"{words}: {some_of(missing)}"] if missing else []


def _reading(night: Night) -> str:
    """Return how the log is read: read otherwise, a record may have another time."""
    reading = night.settings.log
    return json.dumps([_parser_digest(), reading.time_zone, reading.message_field])


@cache
def _parser_digest() -> str:
    """Return a digest of the code that finds records and their times."""
    digest = blake2b(digest_size=8)
    for file in sorted(files(logs).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".py"):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _kept_times(night: Night) -> tuple[dict[str, LogTimes], Mapping[str, Sequence[str]]]:
    """Return the times by the identities of the files, and the brokers with records by night."""
    try:
        snapshot = night.store.snapshot(LOG_TIMES, CURRENT)
        part = snapshot.parts().get(NO_TABLE) if snapshot else None
        if snapshot is None or part is None:
            return {}, {}
        sources = mapping_of(part.properties.get(_SOURCES))
        if part.properties.get(_READING) != _reading(night):
            return {}, sources
        columns = snapshot.read_table().to_pydict()
    except StorageOutage:
        raise
    except StorageError:
        return {}, {}  # all files are read again
    file, *values = (columns[name] for name in ("file", "records", "untimed", "first_us", "last_us"))
    return {name: LogTimes(*each) for name, *each in zip(file, *values, strict=True)}, sources
