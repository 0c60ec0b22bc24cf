"""Run the checks of a night that need no Airflow, in the order in which one mends what they find."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, MutableMapping
from dataclasses import replace
from datetime import date

from starskip.advisor.run.night import Night
from starskip.errors import StarskipError, some_of
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.doctor.check_lake import check_lake_tables
from starskip.night.doctor.check_libraries import check_extras, check_target_version, check_versions
from starskip.night.doctor.check_logs import (
    check_event_logs,
    check_log_day,
    check_log_files,
    check_log_records,
    check_logged_tables,
)
from starskip.night.doctor.check_pinot import check_pinot
from starskip.night.doctor.check_segments import (
    check_segment_tables,
    check_some_segments,
    check_table_configs,
    folders_of_segments,
)
from starskip.night.doctor.check_store import check_store
from starskip.night.doctor.finding import FAILED, OK, Finding, findings_of
from starskip.night.doctor.log_sample import sample_log
from starskip.skipping.registry import load_modules


def configured_night(
    path: str, arguments: NightArguments, environment: MutableMapping[str, str]
) -> tuple[Night | None, list[Finding]]:
    """Return the night of a configuration, None if that cannot be read, and what was found."""
    nights: list[Night] = []

    def read() -> Iterator[tuple[str, str]]:
        night = night_from_config(path, arguments, environment)
        load_modules(night.skipping_modules)
        nights.append(night)
        tables = "all tables" if night.tables is None else f"tables {some_of(night.tables)}"
        changed = len(night.settings.differences())
        yield OK, f"{path} is read: {tables}, {changed} settings differ from their defaults"

    found = list(findings_of("configuration", read))
    return (nights[0] if nights else None), found


def examine(night: Night, asked: date | None, environment: MutableMapping[str, str]) -> Iterator[Finding]:
    """Yield what the checks find; ``asked``: the night, None for the newest day in the log."""
    yield from findings_of("store", lambda: check_store(night))
    folders: Mapping[str, str] | None = None
    try:
        folders = folders_of_segments(night)
    except StarskipError as error:
        yield Finding("segments", FAILED, str(error))
    night = yield from _examine_log(night, asked, folders)
    if folders is not None and night.segments_root:
        yield from findings_of("segments", lambda: check_segment_tables(night, folders))
        yield from findings_of("segments", lambda: check_some_segments(night, folders))
    yield from findings_of("table configs", lambda: check_table_configs(night, folders or {}))
    yield from findings_of("target version", lambda: check_target_version(night))
    yield from findings_of("lake tables", lambda: check_lake_tables(night))
    yield from findings_of("event logs", lambda: check_event_logs(night))
    yield from findings_of("extras", lambda: check_extras(night, environment))
    yield from findings_of("live Pinot", lambda: check_pinot(night, environment))


def examine_versions(environment: MutableMapping[str, str]) -> Iterator[Finding]:
    """Yield what is installed, which needs no configuration."""
    yield from findings_of("versions", lambda: check_versions(environment))


def _examine_log(
    night: Night, asked: date | None, folders: Mapping[str, str] | None
) -> Generator[Finding, None, Night]:
    """Yield what the checks of the log find, and return the night that was chosen."""
    if not night.segments_root:
        return night
    if not night.log_paths:
        yield Finding("logs", FAILED, "sources.log_paths is not given: a night needs the brokers' query logs")
        return night
    try:
        sample = sample_log(night, of_night=asked is not None)
    except StarskipError as error:
        yield Finding("logs", FAILED, str(error))
        return night
    if asked is None and sample.days:
        night = replace(night, run_date=max(sample.days))
    yield from findings_of("logs", lambda: check_log_files(sample))
    yield from findings_of("log records", lambda: check_log_records(night, sample))
    yield from findings_of("log day", lambda: check_log_day(night, sample, asked))
    if folders is not None and sample.summary.queries:
        yield from findings_of("log tables", lambda: check_logged_tables(night, sample, folders))
    return night
