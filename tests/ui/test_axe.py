"""Axe-core finds nothing serious in the pages, in light and dark, on narrow and wide screens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from axe import axe_faults
from report_cases import lineitem, milliseconds, nothing_to_recommend
from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.reports.overview import Fault, Overview, TableRow
from starskip.reports.overview_filter import OverviewFilter
from starskip.reports.page_links import PageLinks
from starskip.reports.render_html import render_html
from starskip.reports.render_overview import render_overview
from starskip.reports.render_pages import render_history, render_night, render_report_frame, render_table
from starskip.reports.report_lists import ReportRow, RowPage
from starskip.reports.report_summary import report_summary
from starskip.reports.trend import TrendPoint

pytestmark = [pytest.mark.slow, pytest.mark.ui]

LINKS = PageLinks("/starskip")
DAY = date(2026, 11, 20)
LATER = date(2026, 11, 29)
STATES = {"open": 2, "approved": 1, "rejected": 1, "deferred": 1, "applied": 1, "kept": 1, "refuted": 1}


def overview_page(asked: OverviewFilter) -> str:
    trend = tuple(TrendPoint(DAY - timedelta(days=age), 0.5 + age / 10) for age in (3, 1, 0))
    row = TableRow(
        "lineitem", report_summary(milliseconds()), "reported", "", STATES, 1, (-0.1, 2), trend, 60.0
    )
    stopped = replace(row, table="orders", outcome="stopped", why="after score_votes")
    nothing = TableRow(
        "part", report_summary(nothing_to_recommend()), "reported", "no index would save enough"
    )
    faults = (Fault("night", "no log"), *(Fault("stopped", "after score_votes", "orders"),) * 9)
    found = Overview((DAY, DAY - timedelta(days=3)), faults, "entries", (row, stopped), (), (nothing,))
    return render_overview(LINKS, found, asked, dags=[("one", "/a"), ("other", "/b")], dag="one", today=LATER)


def nights() -> tuple[ReportRow, ...]:
    check = GateCheck("parse_query_logs", "few rejected", False, "41 %", "at most 5 %")
    found = [(0, milliseconds()), (1, lineitem()), (4, lineitem())]
    rows = [ReportRow(DAY - timedelta(days=age), "lineitem", report_summary(each)) for age, each in found]
    return (
        *rows,
        ReportRow(date(2026, 11, 15), "lineitem", stopped=(check,)),
        ReportRow(DAY, "", failed="x"),
    )


PAGES = {
    "overview": lambda: overview_page(OverviewFilter()),
    "overview of nothing": lambda: overview_page(OverviewFilter("x", "open", "range")),
    "history": lambda: render_history(LINKS, "lineitem", RowPage(nights(), DAY), is_newest=False),
    "table": lambda: render_table(
        LINKS, milliseconds(), render_html(lineitem()).encode(), DAY, DAY, rows=nights(), today=LATER
    ),
    "evidence": lambda: render_report_frame(LINKS, "lineitem", DAY, "shapes"),
    "report": lambda: render_html(milliseconds()).replace("<details>", "<details open>"),
    "night": lambda: render_night(LINKS, DAY, RowPage(nights()), older=DAY, like="line"),
}


@pytest.fixture(params=["light", "dark"])
def tab(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    with browser.new_context(color_scheme=request.param) as context:
        yield context.new_page()


@pytest.mark.parametrize("width", [420, 1400, 1920])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_is_found(tab: Any, name: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.set_content(PAGES[name]())
    assert axe_faults(tab) == []
    # Nothing stands beside the screen either: wide tables scroll in a region of their own.
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_a_fault_is_found(tab: Any) -> None:
    tab.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'></main>")
    (fault,) = axe_faults(tab)
    assert fault.startswith("image-alt: <img")
