"""Pages of all tables: the newest nights, and one night."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from starskip.airflow.report_pages.answers import links_of, message_answer, page_answer
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, night_date, stored_night
from starskip.airflow.report_pages.messages import NO_DAG_YET, no_night_yet
from starskip.airflow.report_pages.permitted_dags import AskedDag, PermittedDags
from starskip.airflow.report_pages.route import READING, Text, status_of
from starskip.errors import MissingSource
from starskip.night.experiments import experiments_of
from starskip.reports.render_pages import render_index, render_night
from starskip.reports.report_lists import night_rows, recent_nights, report_nights

ROWS_A_PAGE = 40
ROWS_A_NIGHT = 12
TABLES_A_NIGHT = 100

router = APIRouter()
page = partial(router.api_route, methods=READING)


@page("/")
def first(request: Request, dags: PermittedDags) -> Response:
    """Return the first page: of the first DAG."""
    return index(request, dags[0], dags) if dags else message_answer(request, NO_DAG_YET)


@page("/dags/{dag_id}/")
def index(
    request: Request, dag: AskedDag, dags: PermittedDags, like: Text = "", until: Text = ""
) -> Response:
    """Return the newest nights with their tables."""
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
def night(request: Request, dag: AskedDag, run_date: str, like: Text = "", after: Text = "") -> Response:
    """Return the reports of one night."""
    night, like = stored_night(dag, night_date(run_date)), like.strip()
    found = night_rows(night, like=like, after=after, limit=TABLES_A_NIGHT)
    if not (found.rows or like):
        raise MissingSource(f"there is no report for the night of {night.date_text}", source=run_date)
    nights = report_nights(night)
    older = next((each for each in nights if each < night.run_date), None)
    newer = next((each for each in reversed(nights) if each > night.run_date), None)
    links = links_of(request, dag)
    shown = render_night(
        links,
        night.run_date,
        found,
        like=like,
        older=older,
        newer=newer,
        has_filter=True,
        experiments=experiments_of(night),
    )
    return page_answer(shown, status_of(found))
