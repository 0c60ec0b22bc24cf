"""The calendar of nights, and the button that runs one day again."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import partial

from airflow.api.common.trigger_dag import trigger_dag
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.utils.types import DagRunTriggeredByType
from fastapi import APIRouter, Depends, HTTPException, Request, Response

from starskip.airflow.report_pages.alarms import alarms
from starskip.airflow.report_pages.answers import links_of, page_answer
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, log_zone_of, night_date, stored_night
from starskip.airflow.report_pages.changes import PostedForm, field_of, see_other
from starskip.airflow.report_pages.dag_runs import active_runs
from starskip.airflow.report_pages.nightly_dags import NightlyDag
from starskip.airflow.report_pages.permitted_dags import AskedDag, is_permitted
from starskip.airflow.report_pages.route import READING, Text
from starskip.errors import MissingSource
from starskip.night.stored_note import stored_note
from starskip.reports.night_days import calendar_year, days_between, night_days
from starskip.reports.render_calendar import Chosen, backfill_command, render_calendar
from starskip.reports.render_pages import Message
from starskip.reports.report_lists import report_nights

_MOST_CHOSEN = 366

router = APIRouter()
page = partial(router.api_route, methods=READING)
_may_start_runs = requires_access_dag("POST", DagAccessEntity.RUN)


@page("/dags/{dag_id}/calendar")
def calendar(
    request: Request,
    dag: AskedDag,
    user: GetUserDep,
    session: SessionDep,
    until: Text = "",
    first: Text = "",
    last: Text = "",
) -> Response:
    """Return a year of nights, by default the newest; ``first`` and ``last`` choose days of their own."""
    night, complete = stored_night(dag, ANY_NIGHT), _last_complete(dag)
    asked = _range(first, last or first, complete) if first else ()
    active = active_runs(dag, session)
    chosen = None
    if asked:
        days = night_days(night, asked, active)
        may_start = is_permitted("POST", DagAccessEntity.RUN, dag.dag_id, request, user)
        chosen = Chosen(days, backfill_command(dag.dag_id, days, log_zone_of(dag)), may_start)
    end = night_date(until) if until else None
    year = calendar_year(report_nights(night), [*asked[:1], *asked[-1:]], end, complete)
    shown = render_calendar(
        links_of(request, dag),
        dag.dag_id,
        night_days(night, days_between(year.first, year.last), active),
        chosen=chosen,
        older=year.older,
        newer=year.newer,
        last_complete=complete,
        stored=stored_note(night),
        alarms=alarms(),
    )
    return page_answer(shown)


@router.post("/dags/{dag_id}/calendar/{run_date}/repeat", dependencies=[Depends(_may_start_runs)])
def repeat(
    request: Request, dag: AskedDag, form: PostedForm, run_date: str, user: GetUserDep, session: SessionDep
) -> Response:
    """Start a run of this day alone, unless there is one that is not over, and lead to its page."""
    (day,) = _range(run_date, run_date, _last_complete(dag))
    if field_of(form, "night") != run_date:
        raise HTTPException(422)
    links = links_of(request, dag)
    if day in (active := active_runs(dag, session)):
        return see_other(links.run(active[day][1]))
    run = trigger_dag(
        dag.dag_id,
        conf={"run_date": day.isoformat()},
        triggered_by=DagRunTriggeredByType.UI,
        triggering_user_name=user.get_name(),
        session=session,
    )
    if run is None:
        raise HTTPException(409, Message("Not started", "Airflow has started no run of that night."))
    run.note = f"Night of {day.isoformat()}"  # which the list of runs shows, whose names tell no night
    return see_other(links.run(run.run_id))


def _last_complete(dag: NightlyDag) -> date:
    return datetime.now(log_zone_of(dag)).date() - timedelta(days=1)


def _range(first: str, last: str, complete: date) -> tuple[date, ...]:
    """Return the days that a reader asks for, whichever is named first.

    Raises MissingSource if they are none, or not over yet.
    """
    begin, end = sorted((night_date(first), night_date(last)))
    if end > complete:
        raise MissingSource(f"{begin} to {end} are not all over yet", source=first)
    if (end - begin).days >= _MOST_CHOSEN:
        raise MissingSource(f"{begin} to {end} are more than {_MOST_CHOSEN} days", source=first)
    return days_between(begin, end)
