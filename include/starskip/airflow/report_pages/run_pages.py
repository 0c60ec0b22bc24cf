"""The page of one run of a nightly DAG."""

from __future__ import annotations

from functools import partial

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dagrun import DagRun
from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import select

from starskip.airflow.report_pages.answers import links_of, message_answer, page_answer
from starskip.airflow.report_pages.asked_night import night_of_run
from starskip.airflow.report_pages.messages import NO_ADVICE, without_report
from starskip.airflow.report_pages.night_pages import TABLES_A_NIGHT
from starskip.airflow.report_pages.permitted_dags import PermittedDags
from starskip.airflow.report_pages.route import READING, status_of
from starskip.errors import MissingSource
from starskip.night.night_runs import night_runs
from starskip.reports.render_pages import render_night
from starskip.reports.report_lists import night_rows

router = APIRouter()
page = partial(router.api_route, methods=READING)


@page(
    "/runs/{dag_id}/{run_id}",
    dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))],
)
def run(request: Request, dags: PermittedDags, dag_id: str, run_id: str, session: SessionDep) -> Response:
    """Return the night of one run, as its tab shows it."""
    dag = next((each for each in dags if each.dag_id == dag_id), None)
    if dag is None:
        return message_answer(request, NO_ADVICE, 404)
    found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    if found is None:
        raise MissingSource(f"{dag_id} has no run {run_id}", source=run_id)
    dag, night = night_of_run(dag, found)
    links, is_over = links_of(request, dag), str(found.state) in ("success", "failed")
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
    return page_answer(shown, status_of(found_rows))
