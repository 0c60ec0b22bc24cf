"""The page of one night: its tables."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from starskip.airflow.report_pages.answers import links_of, page_answer
from starskip.airflow.report_pages.asked_night import night_date, stored_night
from starskip.airflow.report_pages.permitted_dags import AskedDag
from starskip.airflow.report_pages.route import READING, Text, status_of
from starskip.errors import MissingSource
from starskip.night.experiments import experiments_of
from starskip.reports.render_pages import render_night
from starskip.reports.report_lists import night_rows, report_nights

TABLES_A_NIGHT = 100

router = APIRouter()
page = partial(router.api_route, methods=READING)


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
        experiments=experiments_of(night),
    )
    return page_answer(shown, status_of(found))
