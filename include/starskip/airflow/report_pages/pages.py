"""The report pages as an application that Airflow mounts; each route checks permissions before it reads."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dagrun import DagRun
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from sqlalchemy import select
from starlette.types import ASGIApp

from starskip.airflow.report_pages.answers import (
    answer_errors,
    download_answer,
    links_of,
    message_answer,
    page_answer,
    report_answer,
)
from starskip.airflow.report_pages.asked_night import (
    ANY_NIGHT,
    night_date,
    night_of_run,
    stored_night,
)
from starskip.airflow.report_pages.messages import NO_ADVICE, NO_DAG_YET, no_night_yet, without_report
from starskip.airflow.report_pages.permitted_dags import AskedDag, PermittedDags, permitted_dags
from starskip.airflow.report_pages.strict_headers import StrictHeaders
from starskip.errors import MissingSource
from starskip.night.night_runs import night_runs
from starskip.reports.page_links import DOCUMENTS, is_page_name
from starskip.reports.published_reports import published_document, published_page, published_table
from starskip.reports.render_pages import (
    render_history,
    render_index,
    render_night,
    render_report_frame,
)
from starskip.reports.report_lists import (
    neighbour_nights,
    night_rows,
    recent_nights,
    report_nights,
    table_rows,
)
from starskip.reports.report_row import RowPage

ROWS_A_PAGE = 40
ROWS_A_NIGHT = 12
NIGHTS_A_HISTORY = 30
TABLES_A_NIGHT = 100

READING = ["GET", "HEAD"]
WRITING = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

_Text = Annotated[str, Query(max_length=200)]


def report_pages() -> ASGIApp:
    """Return the pages with their headers."""
    return StrictHeaders(pages_app())


def pages_app() -> FastAPI:
    """Return the pages: those of one DAG lie below its name.

    The application checks the permission of all of its routes at once; the last route takes every address and
    method that no other route does.
    """
    app = FastAPI(
        title="Starskip report pages",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(permitted_dags)],
    )
    answer_errors(app)
    page = partial(app.api_route, methods=READING)

    @page("/")
    def first(request: Request, dags: PermittedDags) -> Response:
        return index(request, dags[0], dags) if dags else message_answer(request, NO_DAG_YET)

    @page("/dags/{dag_id}/")
    def index(
        request: Request, dag: AskedDag, dags: PermittedDags, like: _Text = "", until: _Text = ""
    ) -> Response:
        night, like, links = stored_night(dag, ANY_NIGHT), like.strip(), links_of(request, dag)
        last = night_date(until) if until else None
        found = recent_nights(night, like=like, until=last, rows=ROWS_A_PAGE, rows_a_night=ROWS_A_NIGHT)
        others = [(each.dag_id, links_of(request, each).index()) for each in dags] if len(dags) > 1 else []
        if not (found.nights or like or last or others):
            return message_answer(request, no_night_yet(dag), links=links)
        choices = report_nights(night)
        shown = render_index(
            links, found, choices, like=like, until=last, dags=others, dag=dag.dag_id if others else ""
        )
        return page_answer(shown)

    @page("/dags/{dag_id}/nights/{run_date}")
    def night(
        request: Request, dag: AskedDag, run_date: str, like: _Text = "", after: _Text = ""
    ) -> Response:
        night, like = stored_night(dag, night_date(run_date)), like.strip()
        found = night_rows(night, like=like, after=after, limit=TABLES_A_NIGHT)
        if not (found.rows or like):
            raise MissingSource(f"there is no report for the night of {night.date_text}", source=run_date)
        nights = report_nights(night)
        older = next((each for each in nights if each < night.run_date), None)
        newer = next((each for each in reversed(nights) if each > night.run_date), None)
        links = links_of(request, dag)
        shown = render_night(
            links, night.run_date, found, like=like, older=older, newer=newer, has_filter=True
        )
        return page_answer(shown, _status(found))

    @page("/dags/{dag_id}/tables/{name}")
    def history(request: Request, dag: AskedDag, name: str, before: _Text = "") -> Response:
        night = stored_night(dag, ANY_NIGHT)
        from_night = night_date(before) if before else None
        found = table_rows(night, _page_name(name), before=from_night, nights=NIGHTS_A_HISTORY)
        table = next((row.table for row in found.rows if row.table), None)
        if table is None and found.older is None:
            raise MissingSource(f"there is no report of {name}", source=name)
        shown = render_history(links_of(request, dag), table or name, found, is_newest=not before)
        return page_answer(shown)

    @page("/dags/{dag_id}/tables/{name}/{run_date}")
    def report(request: Request, dag: AskedDag, name: str, run_date: str) -> Response:
        night = stored_night(dag, night_date(run_date))
        table = published_table(night, _page_name(name))
        published_page(night, table)  # errors are shown here, and not in the frame
        neighbours = neighbour_nights(night, table)
        return page_answer(render_report_frame(links_of(request, dag), table, night.run_date, *neighbours))

    @page("/dags/{dag_id}/tables/{name}/{run_date}/{document}")
    def document(dag: AskedDag, name: str, run_date: str, document: str) -> Response:
        night = stored_night(dag, night_date(run_date))
        if document not in DOCUMENTS:
            raise HTTPException(404)
        table = published_table(night, _page_name(name))
        if document == "report.html":
            return report_answer(published_page(night, table))
        content = published_document(night, table, document)
        return download_answer(content, f"{name}-{night.date_text}-{document}")

    @page(
        "/runs/{dag_id}/{run_id}",
        dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))],
    )
    def run(request: Request, dags: PermittedDags, dag_id: str, run_id: str, session: SessionDep) -> Response:
        dag = next((each for each in dags if each.dag_id == dag_id), None)
        if dag is None:
            return message_answer(request, NO_ADVICE, 404)
        found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        if found is None:
            raise MissingSource(f"{dag_id} has no run {run_id}", source=run_id)
        links = links_of(request, dag)
        night, is_over = night_of_run(dag, found), str(found.state) in ("success", "failed")
        found_rows = night_rows(night, limit=TABLES_A_NIGHT)
        ends = [each for each in night_runs(night) if is_over and each.run_id == found.run_id]
        problem = ends[-1].problem if ends else None
        if not any(row.table for row in found_rows.rows):
            message = without_report(night.date_text, str(found.state), problem)
            return message_answer(request, message, links=links)
        note = "This run is not over: the list may be of an earlier run of the same night."
        failed = (f"This run failed: {problem}",) if problem else ()
        notes = failed if is_over else (note,)
        shown = render_night(links, night.run_date, found_rows, notes=notes)
        return page_answer(shown, _status(found_rows))

    @app.api_route("/{anything:path}", methods=[*READING, *WRITING])
    def nothing(request: Request, anything: str) -> Response:
        del anything
        raise HTTPException(404 if request.method in READING else 405)

    return app


def _page_name(name: str) -> str:
    if not is_page_name(name):
        raise HTTPException(404)
    return name


def _status(page: RowPage) -> int:
    return 503 if page.rows and not any(row.table or row.failed for row in page.rows) else 200
