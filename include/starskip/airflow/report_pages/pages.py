"""The report pages as an application that Airflow mounts; each route checks permissions before it reads."""

from __future__ import annotations

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from starlette.types import ASGIApp

from starskip.airflow.report_pages import (
    calendar_pages,
    compare_pages,
    night_pages,
    overview_pages,
    run_pages,
    table_pages,
)
from starskip.airflow.report_pages.answers import answer_errors
from starskip.airflow.report_pages.permitted_dags import permitted_dags
from starskip.airflow.report_pages.route import READING
from starskip.airflow.report_pages.strict_headers import StrictHeaders

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
    for each in (overview_pages, night_pages, compare_pages, table_pages, calendar_pages, run_pages):
        app.include_router(each.router)

    @app.api_route("/{anything:path}", methods=[*READING, *WRITING])
    def nothing(request: Request, anything: str) -> Response:
        del anything
        raise HTTPException(404 if request.method in READING else 405)

    return app
