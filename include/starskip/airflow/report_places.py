"""Addresses of the report pages inside Airflow; light, since every Airflow process imports it."""

from __future__ import annotations

from urllib.parse import quote

DAG_ID = "index_advisor_nightly"
"""The nightly DAG, unless its file names it otherwise."""

TAG = "starskip"
"""The tag of every nightly DAG."""

REPORTING = "write_report"
"""The task that publishes the reports, and knows where they are."""

URL_PREFIX = "/starskip"
NAV_ROUTE = "starskip"
RUN_ROUTE = "starskip-run"

FIRST_PAGE = f"/plugin/{NAV_ROUTE}"
"""The list of reports inside Airflow's page."""


def run_reports(base_url: str, dag_id: str, run_id: str) -> str:
    """Return the address of the tab of a run that shows its reports; ``base_url``: of Airflow's UI."""
    return f"{run_page(base_url, dag_id, run_id)}/plugin/{RUN_ROUTE}"


def run_page(base_url: str, dag_id: str, run_id: str) -> str:
    """Return the address of Airflow's page of a run."""
    return f"{base_url.rstrip('/')}/dags/{quote(dag_id, safe='')}/runs/{quote(run_id, safe='')}"
