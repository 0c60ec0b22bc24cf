"""The page of one run of a nightly DAG."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from starskip.advisor.run.night import Night
from starskip.airflow.report_pages.alarms import alarms
from starskip.airflow.report_pages.answers import NO_ADVICE, links_of, message_answer, page_answer
from starskip.airflow.report_pages.asked_night import night_of_run, settings_of, tables_of
from starskip.airflow.report_pages.dag_runs import tasks_of_run
from starskip.airflow.report_pages.night_pages import TABLES_A_NIGHT
from starskip.airflow.report_pages.permitted_dags import PermittedDags
from starskip.airflow.report_pages.route import READING, Text, status_of
from starskip.errors import MissingSource
from starskip.night.night_runs import night_runs
from starskip.reports.render_run import RunPage, render_run
from starskip.reports.report_lists import RowPage, night_rows

REFRESH_SECONDS = 10

router = APIRouter()
page = partial(router.api_route, methods=READING)


@page(
    "/runs/{dag_id}/{run_id}",
    dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.RUN))],
)
def run(
    request: Request, dags: PermittedDags, dag_id: str, run_id: str, session: SessionDep, still: Text = ""
) -> Response:
    """Return the page of one run, as its tab shows it; it loads itself anew until the run is over."""
    dag = next((each for each in dags if each.dag_id == dag_id), None)
    if dag is None:
        return message_answer(request, NO_ADVICE, 404)
    found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    if found is None:
        raise MissingSource(f"there is no run {run_id} of {dag_id}", source=run_id)
    dag, night = night_of_run(dag, found)
    state = str(found.state)
    ends = [each for each in night_runs(night) if each.run_id == found.run_id]
    shown = RunPage(
        found.run_id,
        state,
        night.run_date,
        tables_of(found),
        {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in settings_of(found).items()
        },
        tasks_of_run(dag_id, run_id, session),
        _reports(night),
        _started_by(found),
        # An earlier try of the same run may have ended, too.
        ends[-1].problem if ends and state == "failed" else None,
        _reason_to_wait(found, session),
    )
    links = links_of(request, dag)
    here = links.run(run_id)
    answer = page_answer(
        render_run(
            links,
            shown,
            refreshed=here if not shown.is_over else "",
            still=f"{here}?still=1" if not (shown.is_over or still) else "",
            alarms=alarms(),
        ),
        status_of(shown.reports),
    )
    if not (shown.is_over or still):
        answer.headers["Refresh"] = str(REFRESH_SECONDS)
    return answer


def _reports(night: Night) -> RowPage:
    """Return the reports of the run's tables; how other runs of the night ended stands on their own pages."""
    found = night_rows(night, limit=TABLES_A_NIGHT)
    return replace(found, rows=tuple(row for row in found.rows if not row.failed))


def _started_by(run: DagRun) -> str:
    who = f" by {run.triggering_user_name}" if run.triggering_user_name else ""
    return f"{run.run_type}{who}"


def _reason_to_wait(run: DagRun, session: Session) -> str:
    """Return why a run that was asked for does not begin, as far as that is known."""
    if str(run.state) != "queued":
        return ""
    if session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == run.dag_id)):
        return "The DAG is switched off: switch it on in Airflow, and the run begins."
    return "It begins when the runs before it are over."
