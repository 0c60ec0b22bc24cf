"""The log files that may hold records of a night.

A file seldom ends at midnight: logrotate names it after the day on which it was closed, a shipper after the
day on which it was opened. So ``{run_date}`` in a path stands for the day before and the day after as well;
the time of a record decides whether it counts (parse_query_logs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from starskip.errors import MissingSource
from starskip.storage.files.log_files import log_files

PLACE = "{run_date}"
NO_TABLE = "-"
"""Stands for the table of records that name none; no table of Pinot can be called so."""


@dataclass(frozen=True, slots=True)
class NightLogs:
    """The files, each once, and warnings on missing ones."""

    files: tuple[str, ...]
    warnings: tuple[str, ...]


def night_logs(paths: Sequence[str], run_date: date, *, neighbours: bool) -> NightLogs:
    """Return the files that ``paths`` name for the night, with ``neighbours`` also for the days beside it.

    Raises SourceError for a path that names nothing, neither for the night nor for the days beside it.
    """
    existing, warnings = night_paths(paths, run_date, log_files, neighbours=neighbours)
    return NightLogs(log_files(existing), warnings)


def night_paths(
    paths: Sequence[str], run_date: date, look_up: Callable[[Sequence[str]], object], *, neighbours: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of the night, and of the days beside it, that name something, and warnings.

    ``look_up`` raises MissingSource for paths that name nothing; so does this, if no day's path does.
    """
    found: list[str] = []
    warnings: list[str] = []
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
        if not existing:
            raise missing[0]
        if of_path[0] not in existing:
            warnings.append(f"{missing[0]}; the logs of the days beside it are read")
        found.extend(existing)
    return tuple(found), tuple(warnings)


def _days(path: str, run_date: date, neighbours: bool) -> list[date]:
    if PLACE not in path or not neighbours:
        return [run_date]
    return [run_date, run_date - timedelta(days=1), run_date + timedelta(days=1)]
