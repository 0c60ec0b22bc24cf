"""The report pages as an application for Airflow to mount: each route reads, and asks permission first."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dagrun import DagRun
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from sqlalchemy import select
from starlette.types import ASGIApp

from starskip.errors import SourceError
from starskip.orchestration.report_pages.answers import (
    answer_errors,
    download_answer,
    links_of,
    message_answer,
    page_answer,
    report_answer,
)
from starskip.orchestration.report_pages.asked_night import (
    config_path,
    configured_night,
    night_date,
    night_of_run,
)
from starskip.orchestration.report_pages.strict_headers import StrictHeaders
from starskip.orchestration.report_places import DAG_ID
from starskip.reports.page_links import DOCUMENTS, is_page_name
from starskip.reports.render_pages import (
    Message,
    render_history,
    render_index,
    render_night,
    render_report_frame,
)
from starskip.stages.night import Night
from starskip.stages.published_reports import (
    neighbour_nights,
    night_rows,
    published_document,
    published_page,
    published_table,
    report_rows,
    table_rows,
)

ROWS_A_PAGE = 40
NIGHTS_A_HISTORY = 60
TABLES_A_NIGHT = 100

_Text = Annotated[str, Query(max_length=200)]


def report_pages(checkout: Path) -> ASGIApp:
    """Return the pages with their headers; ``checkout`` holds the sample's configuration."""
    return StrictHeaders(pages_app(checkout))


def pages_app(checkout: Path) -> FastAPI:
    """Return the pages.

    Airflow asks nobody for permission on behalf of an application that a plugin mounts. So this one asks
    for all of its routes at once, the last of which takes every address that no other does: whoever may
    read the DAG may read its reports, and nobody else learns even which there are.
    """
    app = FastAPI(
        title="Starskip report pages",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(requires_access_dag("GET", param_dag_id=DAG_ID))],
    )
    answer_errors(app)

    def night_of(text: str) -> Night:
        return configured_night(checkout, night_date(text))

    @app.get("/")
    def index(request: Request, like: _Text = "", before: _Text = "", after: _Text = "") -> Response:
        night = configured_night(checkout, date.min)
        links, from_night = links_of(request), night_date(before) if before else None
        page = report_rows(night, like=like.strip(), before=from_night, after=after, limit=ROWS_A_PAGE)
        if not (page.rows or like or before):
            return message_answer(request, _no_night_yet(checkout))
        return page_answer(render_index(links, page, like=like, is_newest=not before))

    @app.get("/nights/{run_date}")
    def night(request: Request, run_date: str, after: _Text = "") -> Response:
        night = night_of(run_date)
        page = night_rows(night, after=after, limit=TABLES_A_NIGHT)
        if not page.rows:
            raise SourceError(f"there is no report for the night of {night.date_text}", source=run_date)
        return page_answer(render_night(links_of(request), night.run_date, page))

    @app.get("/tables/{name}")
    def history(request: Request, name: str, before: _Text = "") -> Response:
        night = configured_night(checkout, date.min)
        from_night = night_date(before) if before else None
        page = table_rows(night, _page_name(name), before=from_night, limit=NIGHTS_A_HISTORY)
        if not page.rows:
            raise SourceError(f"there is no report of {name}", source=name)
        return page_answer(render_history(links_of(request), page.rows[0].table, page, is_newest=not before))

    @app.get("/tables/{name}/{run_date}")
    def report(request: Request, name: str, run_date: str) -> Response:
        night = night_of(run_date)
        table = published_table(night, _page_name(name))
        neighbours = neighbour_nights(night, table)
        return page_answer(render_report_frame(links_of(request), table, night.run_date, *neighbours))

    @app.get("/tables/{name}/{run_date}/{document}")
    def document(name: str, run_date: str, document: str) -> Response:
        night = night_of(run_date)
        if document not in DOCUMENTS:
            raise HTTPException(404)
        table = published_table(night, _page_name(name))
        if document == "report.html":
            return report_answer(published_page(night, table))
        content = published_document(night, table, document)
        return download_answer(content, f"{name}-{night.date_text}-{document}")

    @app.get(
        "/runs/{dag_id}/{run_id}",
        dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN, param_dag_id=DAG_ID))],
    )
    def run(request: Request, dag_id: str, run_id: str, session: SessionDep) -> Response:
        if dag_id != DAG_ID:
            return message_answer(
                request, Message("No index advice", f"Only runs of {DAG_ID} give advice."), 404
            )
        found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        if found is None:
            raise SourceError(f"{dag_id} has no run {run_id}", source=run_id)
        night, is_over = night_of_run(checkout, found), str(found.state) in ("success", "failed")
        page = night_rows(night, limit=TABLES_A_NIGHT)
        if not page.rows:
            how = "has left no report" if is_over else "has not come to its reports yet"
            message = Message(f"Night of {night.date_text}", f"This run {how}.")
            return message_answer(request, message)
        note = "This run is not over: what is listed may be of an earlier run of the same night."
        notes = () if is_over else (note,)
        return page_answer(render_night(links_of(request), night.run_date, page, notes=notes))

    @app.get("/{anything:path}")
    def nothing(anything: str) -> Response:
        del anything
        raise HTTPException(404)

    return app


def _page_name(name: str) -> str:
    if not is_page_name(name):
        raise HTTPException(404)
    return name


def _no_night_yet(checkout: Path) -> Message:
    return Message(
        "No night yet",
        f"Nothing is published in the artefacts that {config_path(checkout)} names. Run a night in the "
        f"folder of the checkout, or start {DAG_ID} in Airflow:",
        ("make night", f"airflow dags trigger {DAG_ID}"),
    )
