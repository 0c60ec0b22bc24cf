"""Page of two nights of one table side by side."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Request, Response

from starskip.airflow.report_pages.answers import links_of, page_answer
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, night_date, stored_night
from starskip.airflow.report_pages.permitted_dags import AskedDag
from starskip.airflow.report_pages.route import READING, Text, page_name_of
from starskip.errors import MissingSource
from starskip.reports.published_reports import published_evidence, published_table
from starskip.reports.render_compare import render_compare
from starskip.reports.report_lists import neighbour_nights, newest_night, report_nights

router = APIRouter()
page = partial(router.api_route, methods=READING)


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
