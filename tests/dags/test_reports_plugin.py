"""The way to the report pages from Airflow's own: the plugin's entry and tab, and the link of the task."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starskip.airflow.report_places import DAG_ID, RUN_ROUTE, run_reports

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]


def test_the_plugin_brings_one_entry_one_tab_and_nothing_heavy() -> None:
    script = "\n".join(
        [
            "import json, sys",
            "import airflow.plugins_manager",
            "before = set(sys.modules)",
            "import starskip.airflow.reports_plugin as module",
            "print(json.dumps([sorted(set(sys.modules) - before), module.StarskipReports.external_views]))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    imported, views = json.loads(done.stdout.splitlines()[-1])
    assert set(imported) <= {
        "starskip",
        "starskip.airflow",
        "starskip.airflow.report_places",
        "starskip.airflow.reports_plugin",
        "starskip.errors",
        "starskip.extras",
    }
    assert [(view["destination"], view["href"]) for view in views] == [
        ("nav", "starskip/"),
        ("dag_run", "starskip/runs/{DAG_ID}/{RUN_ID}"),
    ]


def test_the_task_that_writes_reports_leads_to_them_and_no_other_does(nightly: Any) -> None:
    from types import SimpleNamespace

    linked = {task.task_id: task.operator_extra_links for task in nightly.tasks if task.operator_extra_links}
    assert list(linked) == ["write_report"]
    (link,) = linked["write_report"]
    run = SimpleNamespace(dag_id=DAG_ID, run_id="manual__2026-11-20T00:00:00+00:00")
    assert link.get_link(nightly.get_task("write_report"), ti_key=run) == (
        f"/dags/{DAG_ID}/runs/manual__2026-11-20T00%3A00%3A00%2B00%3A00/plugin/{RUN_ROUTE}"
    )
    assert nightly.dag_id == DAG_ID


def test_a_link_stays_within_its_path_whatever_the_run_is_called() -> None:
    assert (
        run_reports("/airflow/", "d", "../x?y#z") == f"/airflow/dags/d/runs/..%2Fx%3Fy%23z/plugin/{RUN_ROUTE}"
    )
