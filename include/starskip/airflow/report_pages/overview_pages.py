"""The first page: an overview of all tables of a DAG, and the same as files."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from starskip.airflow.report_pages.alarms import alarms
from starskip.airflow.report_pages.answers import (
    NO_DAG_YET,
    download_answer,
    links_of,
    message_answer,
    no_night_yet,
    page_answer,
)
from starskip.airflow.report_pages.asked_night import ANY_NIGHT, stored_night
from starskip.airflow.report_pages.permitted_dags import AskedDag, PermittedDags
from starskip.airflow.report_pages.route import READING, Text
from starskip.reports.overview import overview
from starskip.reports.overview_files import overview_csv, overview_json
from starskip.reports.overview_filter import OverviewFilter
from starskip.reports.render_overview import render_overview

router = APIRouter()
page = partial(router.api_route, methods=READING)


def asked_filter(like: Text = "", state: Text = "", kind: Text = "") -> OverviewFilter:
    """Return what a request asks for."""
    return OverviewFilter(like.strip(), state, kind)


Asked = Annotated[OverviewFilter, Depends(asked_filter)]
PageNumber = Annotated[int, Query(ge=1, le=10_000, alias="page")]


@page("/")
def first(request: Request, dags: PermittedDags, asked: Asked, number: PageNumber = 1) -> Response:
    """Return the first page: of the first DAG."""
    return index(request, dags[0], dags, asked, number) if dags else message_answer(request, NO_DAG_YET)


@page("/dags/{dag_id}/")
def index(
    request: Request, dag: AskedDag, dags: PermittedDags, asked: Asked, number: PageNumber = 1
) -> Response:
    """Return the overview of all tables."""
    found, links = overview(stored_night(dag, ANY_NIGHT)), links_of(request, dag)
    others = [(each.dag_id, links_of(request, each).index()) for each in dags] if len(dags) > 1 else []
    if not found.nights and not others:
        return message_answer(request, no_night_yet(dag), links=links)
    shown = render_overview(
        links,
        found,
        asked,
        page=number,
        dags=others,
        dag=dag.dag_id if others else "",
        alarms=alarms(),
        today=datetime.now(UTC).date(),
    )
    return page_answer(shown)


@page("/dags/{dag_id}/overview.csv")
def csv_file(dag: AskedDag, asked: Asked) -> Response:
    """Return the overview for a spreadsheet."""
    return download_answer(overview_csv(asked.of(overview(stored_night(dag, ANY_NIGHT)))), "overview.csv")


@page("/dags/{dag_id}/overview.json")
def json_file(dag: AskedDag, asked: Asked) -> Response:
    """Return the overview as JSON."""
    return download_answer(overview_json(asked.of(overview(stored_night(dag, ANY_NIGHT)))), "overview.json")
