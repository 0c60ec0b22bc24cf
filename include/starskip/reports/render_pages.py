"""Render the pages in Airflow of a table's decision and history, of one night, two nights, and messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from starskip.night.experiments import ExperimentRun
from starskip.reports.compare_nights import compare_nights
from starskip.reports.decision import decision
from starskip.reports.decision_forms import DecisionForms
from starskip.reports.evidence import Evidence
from starskip.reports.history_chart import NARROW, HistoryChart, HistoryPoint, history_chart
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.page_links import PageLinks
from starskip.reports.render_html import change_values
from starskip.reports.report_lists import ReportRow, RowPage, gaps_between
from starskip.reports.template_environment import rendered_page
from starskip.reports.time_words import age_words

# Text from outside holds no angle brackets in a report, so that nothing of it can pass for a section.
_SECTION = re.compile(r'<details><summary><h3>([A-Za-z ,?-]+)</h3></summary>\s*<div id="([a-z-]+)">')


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


def render_compare(links: PageLinks, first: Evidence, second: Evidence, nights: Sequence[date]) -> str:
    """Return the page; ``nights``: the nights to choose from, newest first."""
    first, second = masked_evidence(first), masked_evidence(second)
    return rendered_page(
        "page_compare.html.j2",
        links=links,
        table=second.table,
        found=compare_nights(first, second),
        nights=sorted({*nights, first.run_date, second.run_date}, reverse=True),
    )


def render_table(
    links: PageLinks,
    evidence: Evidence,
    page: bytes,
    older: date | None,
    newer: date | None,
    forms: DecisionForms | None = None,
    experiments: Sequence[ExperimentRun] = (),
    rows: Sequence[ReportRow] = (),
    *,
    today: date | None = None,
) -> str:
    """Return the page of a table and night; ``page``: its whole report, to whose sections it has links.

    ``rows``: the table over the nights up to this one. ``today``: by which advice that is not of yesterday
    is old.
    """
    evidence = masked_evidence(evidence)
    return rendered_page(
        "page_table.html.j2",
        links=links,
        evidence=evidence,
        decision=decision(evidence),
        sections=report_sections(page),
        age=age_words(evidence.run_date, today),
        older=older,
        newer=newer,
        forms=forms,
        experiments=[each for each in experiments if evidence.table in each.tables],
        charts=history_charts(links, rows),
        **change_values(evidence),
    )


def report_sections(page: bytes) -> Sequence[tuple[str, str]]:
    """Return the anchors and titles of the sections of a report's page that are folded."""
    return [(anchor, title) for title, anchor in _SECTION.findall(page.decode())]
