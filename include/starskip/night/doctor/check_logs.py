"""Check query logs and Spark's event logs: they are there, and a sample of them is understood."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date

from starskip.advisor.run.night import Night
from starskip.advisor.workload.spark_events.event_logs import event_log_files
from starskip.errors import some_of
from starskip.night.doctor.finding import FAILED, OK, WARNING, counted
from starskip.night.doctor.log_sample import LogSample
from starskip.night.night_logs import look_for_log, night_paths
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.logs.rejected_records import not_understood_words
from starskip.pinot.segments.segment_files import folder_of

_SEE = "docs/query-logs.md says what is read"
_LEAST_COUNTED_RATIO = 0.5


def check_log_files(sample: LogSample) -> Iterator[tuple[str, str]]:
    """Say how many files there are, and which were read."""
    names = some_of(file.rpartition("/")[2] for file in sample.read)
    yield OK, f"{counted(len(sample.files), 'file')}; some records were read of {names}"
    for warning in sample.warnings:
        yield WARNING, warning


def check_log_records(night: Night, sample: LogSample) -> Iterator[tuple[str, str]]:
    """Say what share of the sampled records is understood, and has counters."""
    summary, gates = sample.summary, night.settings.gates
    if not summary.records:
        yield FAILED, f"the files that were read hold no record: {_SEE}"
        return
    rejected = sum(summary.rejected.values())
    if problem := not_understood_words(summary, gates.max_not_understood_ratio):
        yield FAILED, problem
        return
    understood = summary.records - rejected
    if rejected > gates.max_rejected_ratio * summary.records:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in summary.rejected.items())
        words = f"{rejected:,} of {counted(summary.records, 'sampled record')} are rejected ({reasons})"
        yield FAILED, f"{words}: starskip parse-log PATH --rejected 5 shows them"
    else:
        yield OK, f"{understood:,} of {counted(summary.records, 'sampled record')} understood"
    if not sample.counted:
        yield (
            FAILED,
            f"no sampled record has counters of what a query scanned, by which all is judged: {_SEE}",
        )
    elif sample.counted < _LEAST_COUNTED_RATIO * understood:
        words = f"only {sample.counted:,} of {understood:,} understood records have counters"
        yield WARNING, f"{words}: starskip parse-log PATH names the others"
    else:
        yield OK, f"{sample.counted:,} of them have counters of what a query scanned"


def check_log_day(night: Night, sample: LogSample, asked: date | None) -> Iterator[tuple[str, str]]:
    """Say which days are in the log; ``asked``: the day that must be there. Raises MissingLog."""
    days = some_of(day.isoformat() for day in sample.days)
    if asked is None:
        yield OK, f"the sample is of {days or 'no day'}; the night of {night.date_text} is checked"
        return
    if asked not in sample.days:
        look_for_log(night)
    yield OK, f"there are records of {asked}" + (f"; the sample is of {days}" if days else "")


def check_logged_tables(
    night: Night, sample: LogSample, folders: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Say which tables the log names, and whether they have segments; ``folders``: those of segments."""
    logged = set(sample.tables)
    if night.tables is not None:
        asked = {*night.tables, *(without_type(table)[0] for table in night.tables)}
        logged &= asked
    if not logged:
        words = " of the tables that are configured" if night.tables is not None else ""
        yield FAILED, f"the sample has no query{words}: it names {some_of(sample.tables) or 'no table'}"
        return
    known = {table for table in logged if folder_of(table, folders) is not None or table in night.lake_tables}
    if not known:
        yield (
            FAILED,
            f"no table of the log has segments: it names {some_of(logged)}, and segments are of "
            + (some_of(folders) or "none"),
        )
        return
    yield OK, f"the log names {some_of(known)}, which have segments"
    if logged - known:
        yield WARNING, f"the log names {some_of(logged - known)}, which have no segments and get no advice"


def check_event_logs(night: Night) -> Iterator[tuple[str, str]]:
    """Say how many event logs there are. Raises SourceError for a path that names none."""
    if not night.event_log_paths:
        if night.lake_tables:
            words = (
                "sources.spark_event_logs is not given: indexes of files are advised by what is asked there"
            )
            yield WARNING, words
        return
    neighbours = night.settings.log.read_neighbouring_days
    paths, warnings = night_paths(
        night.event_log_paths, night.run_date, event_log_files, neighbours=neighbours
    )
    files = event_log_files(paths)
    yield (OK, counted(len(files), "file")) if files else (WARNING, "the folders hold no event log")
    for warning in warnings:
        yield WARNING, warning
