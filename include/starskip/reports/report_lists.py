"""Lists of published reports by night and by table; read, never written.

Each night is read by its newest manifest, so that one version shows completely. A damaged night or report
stands in the list with its reason, and the others are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, stopping_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES, stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import StorageError
from starskip.night.night_runs import NIGHT_RUNS, failed_run
from starskip.reports.page_links import page_name
from starskip.reports.published_reports import report_parts, without_collections
from starskip.reports.report_summary import ReportSummary, summary_of
from starskip.storage.manifest import Part

_MOST_NEIGHBOURS = 40
AT_ONCE = 6
"""Nights that are read at the same time, since a store in the network answers slowly."""


_ARTEFACTS = ("reports", NIGHT_RUNS, *(f"gate_{stage}" for stage in STAGE_NAMES))
Gap = tuple[date, date]
"""The first and the last of some days in a row on which no night was run."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A row whose summary is not read yet."""

    row: ReportRow
    part: Part | None = None


def report_nights(night: Night) -> tuple[date, ...]:
    """Return the nights that have reports or verdicts in the store of ``night``, newest first."""
    storage = night.store.storage
    names = {name for artefact in _ARTEFACTS for name in storage.folders_in(artefact)}
    return tuple(sorted(filter(None, map(_night_date, names)), reverse=True))


def night_rows(night: Night, *, like: str = "", after: str = "", limit: int) -> RowPage:
    """Return the rows of this one night and its tables, behind the table whose page name is ``after``."""
    rows = [
        each
        for each in _rows_of(night, lambda table: like.casefold() in table.casefold(), _ended_nights(night))
        if not each.row.table or night.wants(each.row.table)
    ]
    rows = _behind(after, rows)
    shown = _with_summaries(rows[:limit])
    return RowPage(shown, night.run_date, page_name(shown[-1].table)) if len(rows) > limit else RowPage(shown)


def table_rows(night: Night, name: str, *, before: date | None = None, nights: int) -> RowPage:
    """Return the rows of the table whose page is called ``name``, of the ``nights`` next before ``before``.

    A night that cannot be read is a row without a table.
    """
    left = [each for each in report_nights(night) if before is None or each < before]
    with without_collections():
        found = _of_nights(night, left[:nights], lambda table: page_name(table) == name)
    older = left[nights - 1] if len(left) > nights else None
    return RowPage(_with_summaries(found), older, gaps=_gaps(left))


def newest_night(night: Night, name: str) -> date | None:
    """Return the newest night, among 40, that has a report of the table whose page is called ``name``."""
    return _first_with(night, name, report_nights(night)[:_MOST_NEIGHBOURS])


def neighbour_nights(night: Night, table: str) -> tuple[date | None, date | None]:
    """Return the nights before and behind this one, among 40 each way, that have a report of ``table``."""
    nights = report_nights(night)
    older = [each for each in nights if each < night.run_date][:_MOST_NEIGHBOURS]
    newer = [each for each in reversed(nights) if each > night.run_date][:_MOST_NEIGHBOURS]
    name = page_name(table)
    return _first_with(night, name, older), _first_with(night, name, newer)


def _gaps(nights: Sequence[date]) -> tuple[Gap, ...]:
    """Return the days between ``nights``, newest first, on which none was run."""
    day = timedelta(days=1)
    return tuple((older + day, newer - day) for newer, older in pairwise(nights) if newer - older > day)


def _behind(after: str, rows: list[_Found]) -> list[_Found]:
    names = [page_name(each.row.table) for each in rows]
    return rows[names.index(after) + 1 :] if after in names else rows


def _of_nights(night: Night, nights: Sequence[date], wants: Callable[[str], bool]) -> list[_Found]:
    ended = _ended_nights(night)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda each: _rows_of(replace(night, run_date=each), wants, ended), nights)
        return [each for of_night in found for each in of_night]


def _with_summaries(rows: Sequence[_Found]) -> tuple[ReportRow, ...]:
    return tuple(map(_with_summary, rows))


def _ended_nights(night: Night) -> Collection[str]:
    """Return the nights whose run is known to have ended: no other night has to be asked for that."""
    return frozenset(night.store.storage.folders_in(NIGHT_RUNS))


def _rows_of(night: Night, wants: Callable[[str], bool], ended: Collection[str]) -> list[_Found]:
    """Return the tables of one night that are wanted: stopped ones first, then by name.

    Above them stands, without a table, why the night failed, and which of its parts cannot be read.
    """
    parts: Mapping[str, Part] = {}
    stopped: dict[str, GateVerdict] = {}
    rows = []
    try:
        parts = report_parts(night)
    except StorageError as error:
        rows.append(_Found(ReportRow(night.run_date, "", problem=str(error))))
    try:
        if night.date_text in ended and (run := failed_run(night)):
            rows.append(_Found(ReportRow(night.run_date, "", failed=run.night_problem)))
    except StorageError as error:
        rows.append(_Found(ReportRow(night.run_date, "", problem=str(error))))
    try:
        stopped = stopping_verdicts(night)
    except StorageError as error:
        rows.append(_Found(ReportRow(night.run_date, "", problem=str(error))))
    wanted = filter(wants, parts.keys() | stopped.keys())
    for table in sorted(wanted, key=lambda each: (each not in stopped, each)):
        verdict = stopped.get(table)
        is_reported = verdict is not None and not stage_named(verdict.stage).stops_report
        row = ReportRow(
            night.run_date,
            table,
            stopped=verdict.checks if verdict else (),
            is_reported_still=is_reported,
        )
        rows.append(_Found(row, parts.get(table)))
    return rows


def _with_summary(found: _Found) -> ReportRow:
    if found.part is None:
        return found.row
    if reason := found.part.properties.get(FAILED):
        return replace(found.row, problem=f"its report could not be written: {reason}")
    try:
        return replace(found.row, summary=summary_of(found.part, found.row.table, found.row.run_date))
    except StorageError as error:
        return replace(found.row, problem=str(error))


def _first_with(night: Night, name: str, nights: Sequence[date]) -> date | None:
    for each in nights:
        with suppress(StorageError):  # a damaged neighbour must not take this report with it
            parts = report_parts(replace(night, run_date=each))
            if any(
                page_name(table) == name and not part.properties.get(FAILED) for table, part in parts.items()
            ):
                return each
    return None


def _night_date(name: str) -> date | None:
    try:
        return date.fromisoformat(name) if len(name) == len("2026-11-18") else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One table and night: its report, or why there is none.

    ``stopped``: the failed checks of the first gate that stopped the table; a report beside them comes from
    an earlier run of the same night, unless ``is_reported_still``. ``table`` is empty if a whole night cannot
    be read, or failed: ``failed`` says why.
    """

    run_date: date
    table: str
    summary: ReportSummary | None = None
    stopped: tuple[GateCheck, ...] = ()
    problem: str | None = None
    is_reported_still: bool = False
    failed: str | None = None


def gaps_between(gaps: Sequence[Gap], newer: date, older: date | None) -> tuple[Gap, ...]:
    """Return the gaps before ``newer`` and behind ``older``, None for all that are older, newest first."""
    return tuple(gap for gap in gaps if gap[1] < newer and (older is None or gap[0] > older))


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows; the list goes on at the night ``older``, None if it ends.

    It goes on behind the table whose page name is ``older_after``, if that is not empty.
    """

    rows: tuple[ReportRow, ...]
    older: date | None = None
    older_after: str = ""
    gaps: tuple[Gap, ...] = ()
