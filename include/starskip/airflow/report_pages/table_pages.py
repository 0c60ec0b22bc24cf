"""Pages of one table: its nights, and the report of one of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from starskip.airflow.report_pages.answers import download_answer, links_of, page_answer, report_answer
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, night_date, stored_night
from starskip.airflow.report_pages.permitted_dags import AskedDag, MayDecide
from starskip.airflow.report_pages.route import READING, Text, page_name_of
from starskip.errors import MissingSource
from starskip.night.experiments import experiments_of
from starskip.reports.decision_forms import decision_forms
from starskip.reports.page_links import DOCUMENTS
from starskip.reports.published_reports import (
    published_document,
    published_evidence,
    published_page,
    published_table,
)
from starskip.reports.render_pages import render_history, render_report_frame, render_table
from starskip.reports.report_lists import neighbour_nights, newest_night, table_rows

NIGHTS_A_HISTORY = 30
NIGHTS_OF_TREND = 14

Section = Annotated[str, Query(pattern="^[a-z-]{0,40}$")]
"""The anchor of a section of a report."""

Decided = Annotated[str, Query(pattern="^[a-z_]{0,20}$")]
"""The kind of decision that led to a page."""

router = APIRouter()
page = partial(router.api_route, methods=READING)


@page("/dags/{dag_id}/tables/{name}")
def newest(
    request: Request, dag: AskedDag, may_decide: MayDecide, name: str, decided: Decided = ""
) -> Response:
    """Return the newest advice on one table."""
    night = stored_night(dag, ANY_NIGHT)
    run_date = newest_night(night, page_name_of(name))
    if run_date is None:
        raise MissingSource(f"there is no report of {name}", source=name)
    return _advice(request, dag, name, run_date, decided, may_decide=may_decide)


@page("/dags/{dag_id}/tables/{name}/history")
def history(request: Request, dag: AskedDag, name: str, before: Text = "") -> Response:
    """Return one table over the nights."""
    night = stored_night(dag, ANY_NIGHT)
    from_night = night_date(before) if before else None
    found = table_rows(night, page_name_of(name), before=from_night, nights=NIGHTS_A_HISTORY)
    table = next((row.table for row in found.rows if row.table), None)
    if table is None and found.older is None:
        raise MissingSource(f"there is no report of {name}", source=name)
    shown = render_history(links_of(request, dag), table or name, found, is_newest=not before)
    return page_answer(shown)


@page("/dags/{dag_id}/tables/{name}/{run_date}")
def advice(
    request: Request, dag: AskedDag, may_decide: MayDecide, name: str, run_date: str, decided: Decided = ""
) -> Response:
    """Return the advice of one night on one table."""
    of_night = night_date(run_date)
    return _advice(request, dag, page_name_of(name), of_night, decided, may_decide=may_decide)


@page("/dags/{dag_id}/tables/{name}/{run_date}/evidence")
def evidence(request: Request, dag: AskedDag, name: str, run_date: str, section: Section = "") -> Response:
    """Return the report of one table and night, in a frame."""
    night = stored_night(dag, night_date(run_date))
    table = published_table(night, page_name_of(name))
    published_page(night, table)  # errors are shown here, and not in the frame
    links, experiments = links_of(request, dag), experiments_of(night)
    return page_answer(render_report_frame(links, table, night.run_date, section, experiments))


@page("/dags/{dag_id}/tables/{name}/{run_date}/{document}")
def document(dag: AskedDag, name: str, run_date: str, document: str) -> Response:
    """Return one file of a report."""
    night = stored_night(dag, night_date(run_date))
    if document not in DOCUMENTS:
        raise HTTPException(404)
    table = published_table(night, page_name_of(name))
    if document == "report.html":
        return report_answer(published_page(night, table))
    content = published_document(night, table, document)
    return download_answer(content, f"{name}-{night.date_text}-{document}")


def _advice(
    request: Request, dag: AskedDag, name: str, run_date: date, decided: str, *, may_decide: bool
) -> Response:
    night = stored_night(dag, run_date)
    table = published_table(night, name)
    whole, evidence = published_page(night, table), published_evidence(night, table)
    older, newer = neighbour_nights(night, table)
    # It is the newest advice that one decides on, and no experiment.
    may_decide = may_decide and newer is None and dag.experiment is None
    forms = decision_forms(night, table, evidence.created_at, may_decide=may_decide, decided=decided)
    links, experiments = links_of(request, dag), experiments_of(night)
    rows = table_rows(night, name, before=run_date + timedelta(days=1), nights=NIGHTS_OF_TREND).rows
    today = datetime.now(UTC).date()
    return page_answer(
        render_table(links, evidence, whole, older, newer, forms, experiments, rows, today=today)
    )
