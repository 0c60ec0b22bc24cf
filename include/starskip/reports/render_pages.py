"""Render the pages around reports: one night, a table's history, the frame of one report, and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from starskip.night.experiments import ExperimentRun
from starskip.reports.history_chart import NARROW, HistoryChart, HistoryPoint, history_chart
from starskip.reports.page_links import PageLinks
from starskip.reports.page_template import rendered_page
from starskip.reports.report_row import ReportRow, RowPage, gaps_between


@dataclass(frozen=True, slots=True)
class Message:
    """A message in place of a page: a title, a sentence, and commands that may help."""

    title: str
    text: str
    commands: tuple[str, ...] = ()


def render_night(
    links: PageLinks,
    run_date: date,
    page: RowPage,
    *,
    like: str = "",
    older: date | None = None,
    newer: date | None = None,
    experiments: Sequence[ExperimentRun] = (),
) -> str:
    """Return the reports of one night, with links to the nights beside it."""
    night = run_date.isoformat()
    return rendered_page(
        "page_night.html.j2",
        links=links,
        run_date=run_date,
        rows=page.rows,
        like=like,
        older=older,
        newer=newer,
        experiments=experiments,
        more=page.older and links.night(night, like=like, after=page.older_after),
    )


def render_history(links: PageLinks, table: str, page: RowPage, *, is_newest: bool = True) -> str:
    """Return one table over the nights: its saving as a chart, its chosen sets and how they changed."""
    behind = [*(row.run_date for row in page.rows[1:]), page.older]
    older = page.older and links.history(table, before=page.older.isoformat())
    return rendered_page(
        "page_history.html.j2",
        links=links,
        table=table,
        rows=[
            (row, _change(row, page.rows[i + 1 :]), gaps_between(page.gaps, row.run_date, next_one))
            for i, (row, next_one) in enumerate(zip(page.rows, behind, strict=True))
        ],
        charts=history_charts(links, page.rows),
        is_newest=is_newest,
        older=older,
        since=page.older,
    )


def render_report_frame(
    links: PageLinks, table: str, run_date: date, section: str = "", experiments: Sequence[ExperimentRun] = ()
) -> str:
    """Return the page that shows one report in a frame, opened at a section, with the way back."""
    return rendered_page(
        "page_report.html.j2",
        links=links,
        table=table,
        run_date=run_date,
        section=section,
        experiments=[each for each in experiments if table in each.tables],
    )


def render_message(links: PageLinks, message: Message) -> str:
    """Return a page that says only ``message``."""
    return rendered_page("page_message.html.j2", links=links, message=message)


def history_charts(links: PageLinks, rows: Sequence[ReportRow]) -> Sequence[HistoryChart]:
    """Return the saving over the nights of these rows, wide and narrow; nothing of fewer than two nights."""
    points = [_point(links, row) for row in rows if row.summary]
    return list(filter(None, (history_chart(points), history_chart(points, width=NARROW))))


def _point(links: PageLinks, row: ReportRow) -> HistoryPoint:
    assert row.summary is not None
    found = row.summary
    href = links.report(row.table, row.run_date.isoformat())
    return HistoryPoint(row.run_date, found.saving_ratio, found.interval, found.chosen, href)


def _change(row: ReportRow, before: tuple[ReportRow, ...]) -> Mapping[str, tuple[Any, ...]] | None:
    """Return what joined and what left the chosen set since the last report before, None without one."""
    former = next((each.summary for each in before if each.summary), None)
    if row.summary is None or former is None:
        return None
    return {
        "joined": tuple(each for each in row.summary.chosen if each not in former.chosen),
        "left": tuple(each for each in former.chosen if each not in row.summary.chosen),
    }
