"""The report pages as an application that Airflow mounts; each route checks permissions before it reads."""

from __future__ import annotations

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from starskip.airflow.report_pages import (
    calendar_pages,
    decide_pages,
    night_pages,
    overview_pages,
    run_pages,
    table_pages,
    what_if_pages,
)
from starskip.airflow.report_pages.answers import StrictHeaders, answer_errors
from starskip.airflow.report_pages.permitted_dags import permitted_dags
from starskip.airflow.report_pages.route import READING

WRITING = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


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
    # A route stands before the routes that would take its address for a name.
    for each in (
        overview_pages,
        night_pages,
        decide_pages,
        what_if_pages,
        table_pages,
        calendar_pages,
        run_pages,
    ):
        app.include_router(each.router)
    _add_experiments(app)

    @app.api_route("/{anything:path}", methods=[*READING, *WRITING])
    def nothing(request: Request, anything: str) -> Response:
        del anything
        raise HTTPException(404 if request.method in READING else 405)

    return app


def _add_experiments(app: FastAPI) -> None:
    """Let each page of a night show an experiment too; nothing can be changed there."""
    for route in list(app.routes):
        if isinstance(route, APIRoute) and "{run_date}" in route.path and "GET" in route.methods:
            path = route.path.replace("{dag_id}/", "{dag_id}/experiments/{experiment}/", 1)
            app.add_api_route(path, route.endpoint, methods=READING, dependencies=route.dependencies)
