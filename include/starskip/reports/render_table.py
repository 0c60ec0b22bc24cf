"""Render the page of one table in Airflow: the advice of a night as a decision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from starskip.night.experiments import ExperimentRun
from starskip.reports.decision import decision
from starskip.reports.decision_forms import DecisionForms
from starskip.reports.evidence import Evidence
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.page_links import PageLinks
from starskip.reports.page_template import rendered_page
from starskip.reports.render_html import change_values
from starskip.reports.render_pages import history_charts
from starskip.reports.report_row import ReportRow
from starskip.reports.time_words import age_words

# Text from outside holds no angle brackets in a report, so that nothing of it can pass for a section.
_SECTION = re.compile(r'<details><summary><h3>([A-Za-z ,?-]+)</h3></summary>\s*<div id="([a-z-]+)">')


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
