"""The pages of one night, its tables, and of two nights of one table side by side."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Request, Response

from starskip.airflow.report_pages.answers import links_of, page_answer
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, night_date, stored_night
from starskip.airflow.report_pages.permitted_dags import AskedDag
from starskip.airflow.report_pages.route import READING, Text, page_name_of, status_of
from starskip.errors import MissingSource
from starskip.night.experiments import experiments_of
from starskip.reports.published_reports import published_evidence, published_table
from starskip.reports.render_pages import render_compare, render_night
from starskip.reports.report_lists import neighbour_nights, newest_night, night_rows, report_nights

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


@page("/dags/{dag_id}/tables/{name}/compare")
def compare(request: Request, dag: AskedDag, name: str, first: Text = "", second: Text = "") -> Response:
    """Return two nights side by side: by default the newest and the one before it."""
    night = stored_night(dag, ANY_NIGHT)
    newest = night_date(second) if second else newest_night(night, page_name_of(name))
    if newest is None:
        raise MissingSource(f"there is no report of {name}", source=name)
    night = replace(night, run_date=newest)
    table = published_table(night, page_name_of(name))
    older = night_date(first) if first else neighbour_nights(night, table)[0]
    if older is None:
        raise MissingSource(f"there is no report of {table} before {night.date_text}", source=table)
    before = replace(night, run_date=older)
    published_table(before, page_name_of(name))
    shown = render_compare(
        links_of(request, dag),
        published_evidence(before, table),
        published_evidence(night, table),
        report_nights(night),
    )
    return page_answer(shown)
