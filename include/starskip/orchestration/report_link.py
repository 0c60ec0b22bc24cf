"""Link a task's page to the reports of its run."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

from starskip.orchestration.report_places import run_reports


class ReportLink(BaseOperatorLink):
    """Leads to the tab of the DAG run that shows the reports of its night."""

    name = "Index advice of this night"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address without its host: the browser knows under which one it sees Airflow."""
        del operator
        base = urlsplit(conf.get("api", "base_url", fallback="/")).path
        return run_reports(base, ti_key.dag_id, ti_key.run_id)
