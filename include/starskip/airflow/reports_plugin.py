"""Starskip's report pages inside Airflow: an entry in the navigation and a tab on each run.

Airflow finds this module by an entry point and imports it in each of its processes, tasks too. So the first
request, in the API server alone, imports the pages.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from starskip.airflow.report_places import NAV_ROUTE, RUN_ROUTE, URL_PREFIX


class LazyPages:
    """The pages as an ASGI application that the first request creates."""

    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if self.app is None:
            from starskip.airflow.report_pages.pages import report_pages

            self.app = report_pages()
        await self.app(scope, receive, send)


class StarskipReports(AirflowPlugin):
    """The pages and their two places; addresses are relative, so that Airflow may stand behind a proxy."""

    name = "starskip_reports"
    fastapi_apps = [{"app": LazyPages(), "url_prefix": URL_PREFIX, "name": "Starskip reports"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {
            "name": "Starskip",
            "href": f"{URL_PREFIX.removeprefix('/')}/",
            "url_route": NAV_ROUTE,
            "destination": "nav",
            "nav_top_level": True,
        },
        {
            "name": "Index advice",
            "href": f"{URL_PREFIX.removeprefix('/')}/runs/{{DAG_ID}}/{{RUN_ID}}",
            "url_route": RUN_ROUTE,
            "destination": "dag_run",
        },
    ]
