"""Read some records of the newest files of a log, in bounded memory and time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night
from starskip.errors import MissingSource
from starskip.night.night_logs import PLACE, night_logs
from starskip.pinot.logs.file_day import file_day, last_changed_day
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.storage.files.log_files import log_files

MOST_RECORDS = 2_000
MOST_BYTES = 16 << 20
_MOST_FILES = 4
_TAIL_BYTES = 1 << 20
_ANY_DAY = "20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


@dataclass(frozen=True, slots=True)
class LogSample:
    """Counts of the sampled records; ``files``: all files of the log, ``read``: those of which some was read.

    ``counted``: queries that have the entries they scanned. ``tables``: queries by the table they name, a
    multi-stage query's tables each. ``days``: records by day.
    """

    files: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: LogSummary = field(default_factory=LogSummary)
    counted: int = 0
    tables: Counter[str] = field(default_factory=Counter)
    days: Counter[date] = field(default_factory=Counter)


def files_of_any_day(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that the paths name for whatever night. Raises SourceError if a path names none."""
    found: list[str] = []
    for path in paths:
        try:
            found += log_files([path.replace(PLACE, _ANY_DAY)])
        except MissingSource as error:
            raise MissingSource(
                f"no log file at {path}, of whatever day: check the path", source=path
            ) from error
    return tuple(dict.fromkeys(found))


def sample_log(night: Night, *, of_night: bool) -> LogSample:
    """Return a sample of the night's files, or of the newest that there are of any night.

    Raises SourceError for a path that names no file.
    """
    reading = night.settings.log
    warnings: tuple[str, ...] = ()
    if of_night:
        found = night_logs(night.log_paths, night.run_date, neighbours=reading.read_neighbouring_days)
        files, warnings = tuple(file.path for file in found.files), found.warnings
        newest = sorted(files, key=lambda file: (night.date_text not in file, file))
    else:
        files = files_of_any_day(night.log_paths)
        newest = sorted(files, key=lambda file: (_day_of(file, reading.time_zone), file), reverse=True)
    sample = LogSample(tuple(files), tuple(newest[:_MOST_FILES]), warnings)
    each = MOST_RECORDS // max(len(sample.read), 1)
    for file in sample.read:
        for batch in _first_records(_last_split(night, file), reading.time_zone, each):
            sample = _with(sample, batch)
    return sample


def _day_of(file: str, time_zone: str) -> date:
    return file_day(file) or last_changed_day(file, time_zone) or date.min


def _last_split(night: Night, file: str) -> LogSplit:
    """Return the end of a plain file, which is its newest part; the whole of any other file."""
    reading = night.settings.log
    splits = log_splits([file], reading.split_bytes, reading.message_field, module_names(reading.formats))
    last = splits[-1]
    return last if last.end is None else replace(last, start=max(last.end - _TAIL_BYTES, 0))


def _first_records(split: LogSplit, time_zone: str, most: int) -> Iterator[pa.RecordBatch]:
    left, size_bytes = most, 0
    for batch in parse_split(split, time_zone):
        yield batch.slice(0, left)
        left, size_bytes = left - batch.num_rows, size_bytes + batch.nbytes
        if left <= 0 or size_bytes >= MOST_BYTES:
            return


def _with(sample: LogSample, batch: pa.RecordBatch) -> LogSample:
    queries = batch.filter(pc.equal(batch["kind"], "query"))
    counted = len(queries) - queries["entries_scanned_in_filter"].null_count
    tables: Counter[str] = Counter()
    for names in queries["table"].drop_null().to_pylist():
        tables.update(re.split(", ", names))
    days = Counter(batch["logged_at"].drop_null().cast(pa.date32(), safe=False).to_pylist())
    return replace(
        sample,
        summary=sample.summary + log_summary(batch),
        counted=sample.counted + counted,
        tables=sample.tables + tables,
        days=sample.days + days,
    )
