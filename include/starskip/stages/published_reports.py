"""Published reports as people look for them: by night, by table, one by one; read, never written.

Every look at a night goes through a snapshot, so that it shows one version whole. What is damaged stands in
the list with its reason, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice

from starskip.artefacts.manifest import Part
from starskip.artefacts.snapshot import Snapshot
from starskip.errors import SourceError, StarskipError, StorageError
from starskip.reports.evidence import GateCheck
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.page_links import page_name, table_of_page
from starskip.reports.render_html import keeps_policy, render_html
from starskip.reports.report_row import ReportRow, RowPage
from starskip.reports.report_summary import report_summary
from starskip.stages.gate_verdicts import STAGES, GateVerdict, read_verdicts
from starskip.stages.night import Night

MAX_NIGHTS_LOOKED_AT = 400
"""Nights that one list looks through at most: a year, and a filter that finds nothing ends all the same."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A row whose report is not read yet."""

    row: ReportRow
    snapshot: Snapshot | None
    part: Part | None


def report_nights(night: Night) -> tuple[date, ...]:
    """Return the nights that have reports or verdicts in the store of ``night``, newest first."""
    storage = night.store.storage
    names = {name for artefact in _ARTEFACTS for name in storage.folders_in(artefact)}
    return tuple(sorted(filter(None, map(_night_date, names)), reverse=True))


def report_rows(
    night: Night, *, like: str = "", before: date | None = None, after: str = "", limit: int
) -> RowPage:
    """Return ``limit`` rows of all nights, of tables whose name holds ``like``, in any case of letters.

    From the night ``before`` on, and in that night behind the table whose page name is ``after``.
    Raises StorageError where the store cannot be read at all.
    """
    nights = [each for each in report_nights(night) if before is None or each <= before]
    found = islice(_rows_after(night, nights[:MAX_NIGHTS_LOOKED_AT], like, before, after), limit + 1)
    rows = list(found)
    shown = tuple(map(_with_summary, rows[:limit]))
    if len(rows) > limit:
        return RowPage(shown, shown[-1].run_date, page_name(shown[-1].table))
    return RowPage(shown, nights[MAX_NIGHTS_LOOKED_AT] if len(nights) > MAX_NIGHTS_LOOKED_AT else None)


def night_rows(night: Night, *, after: str = "", limit: int) -> RowPage:
    """Return the rows of this one night and its tables, behind the one whose page name is ``after``."""
    rows = _behind(
        after, [each for each in _rows_of(night) if not each.row.table or night.wants(each.row.table)]
    )
    shown = tuple(map(_with_summary, rows[:limit]))
    return RowPage(shown, night.run_date, page_name(shown[-1].table)) if len(rows) > limit else RowPage(shown)


def table_rows(night: Night, name: str, *, before: date | None = None, limit: int) -> RowPage:
    """Return the rows of the table whose page is called ``name``, of nights before ``before``."""
    nights = [each for each in report_nights(night) if before is None or each < before]
    found = (
        each
        for run_date in nights[:MAX_NIGHTS_LOOKED_AT]
        for each in _rows_of(replace(night, run_date=run_date))
        if page_name(each.row.table) == name
    )
    rows = list(islice(found, limit + 1))
    shown = tuple(map(_with_summary, rows[:limit]))
    if len(rows) > limit:
        return RowPage(shown, shown[-1].run_date)
    return RowPage(shown, nights[MAX_NIGHTS_LOOKED_AT - 1] if len(nights) > MAX_NIGHTS_LOOKED_AT else None)


def neighbour_nights(night: Night, table: str, *, limit: int = 40) -> tuple[date | None, date | None]:
    """Return the nights before and behind this one that have a report of ``table``, within ``limit``."""
    nights = report_nights(night)
    older = [each for each in nights if each < night.run_date][:limit]
    newer = [each for each in reversed(nights) if each > night.run_date][:limit]
    return _first_with(night, table, older), _first_with(night, table, newer)


def published_table(night: Night, name: str) -> str:
    """Return the table whose page is called ``name`` and that has a report; SourceError if there is none."""
    snapshot = night.store.snapshot("reports", night.date_text)
    table = table_of_page(name, snapshot.tables) if snapshot else None
    if table is None:
        raise SourceError(f"there is no report of {name} for the night of {night.date_text}", source=name)
    return table


def published_document(night: Night, table: str, document: str) -> bytes:
    """Return one file of a report, such as ``report.json``; SourceError if there is none."""
    snapshot = night.store.snapshot("reports", night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    content = _document(snapshot, part, document) if snapshot and part else None
    if content is None:
        raise SourceError(
            f"there is no {document} of {table} for the night of {night.date_text}", source=table
        )
    return content


def published_page(night: Night, table: str) -> bytes:
    """Return the report's page as published, for ``render_html.content_security_policy``.

    That of another version of Starskip has another style, which the policy would refuse: it is rendered
    anew from its evidence.
    """
    page = published_document(night, table, "report.html")
    if keeps_policy(page):
        return page
    content = published_document(night, table, "report.json")
    return render_html(evidence_from_json(content, f"report.json of {table}, {night.date_text}")).encode()


_ARTEFACTS = ("reports", *(f"gate_{stage}" for stage in STAGES))


def _rows_after(
    night: Night, nights: Sequence[date], like: str, before: date | None, after: str
) -> Iterator[_Found]:
    for run_date in nights:
        rows = list(_rows_of(replace(night, run_date=run_date)))
        if run_date == before:
            rows = _behind(after, rows)
        yield from (each for each in rows if like.casefold() in each.row.table.casefold())


def _behind(after: str, rows: list[_Found]) -> list[_Found]:
    names = [page_name(each.row.table) for each in rows]
    return rows[names.index(after) + 1 :] if after in names else rows


def _rows_of(night: Night) -> Iterator[_Found]:
    """Yield the tables of one night, sorted; a night that cannot be read is one row without a table."""
    try:
        snapshot = night.store.snapshot("reports", night.date_text)
        stopped = {v.table: v for v in reversed(read_verdicts(night)) if not v.passed}
    except StorageError as error:
        yield _Found(ReportRow(night.run_date, "", problem=str(error)), None, None)
        return
    parts = snapshot.parts() if snapshot else {}
    for table in sorted(parts.keys() | stopped.keys()):
        row = ReportRow(night.run_date, table, stopped=_failed(stopped.get(table)))
        yield _Found(row, snapshot, parts.get(table))


def _failed(verdict: GateVerdict | None) -> tuple[GateCheck, ...]:
    return tuple(
        GateCheck(verdict.stage, each.check, each.success, each.observed, each.expected)
        for each in (verdict.checks if verdict else ())
        if verdict and not each.success
    )


def _with_summary(found: _Found) -> ReportRow:
    if found.snapshot is None or found.part is None:
        return found.row
    try:
        content = _document(found.snapshot, found.part, "report.json")
        if content is None:
            return replace(found.row, problem="its report.json is missing: run write_report of that night")
        source = f"report.json of {found.row.table}, {found.row.run_date}"
        return replace(found.row, summary=report_summary(evidence_from_json(content, source)))
    except StarskipError as error:
        return replace(found.row, problem=str(error))


def _document(snapshot: Snapshot, part: Part, document: str) -> bytes | None:
    # Aside.write_file puts 32 hexadecimal digits and a dash before the name that it is given.
    for file in part.files:
        if file.name.rpartition("/")[2].partition("-")[2] == document:
            return snapshot.read_file(file)
    return None


def _first_with(night: Night, table: str, nights: Sequence[date]) -> date | None:
    for each in nights:
        with suppress(StorageError):  # a damaged neighbour must not take this report with it
            snapshot = night.store.snapshot("reports", each.isoformat())
            if snapshot is not None and table in snapshot.tables:
                return each
    return None


def _night_date(name: str) -> date | None:
    try:
        return date.fromisoformat(name) if len(name) == len("2026-11-18") else None
    except ValueError:
        return None
