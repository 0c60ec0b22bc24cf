"""The context in which Airflow executes a task of the nightly DAG, without a run of Airflow's."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any


def context_of(nightly: Any) -> dict[str, Any]:
    run = SimpleNamespace(
        data_interval_start=datetime(2026, 11, 20, 2, tzinfo=UTC),
        data_interval_end=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_after=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_type="manual",
        run_id="manual",
        conf={},
    )
    told = SimpleNamespace(task_id="score_votes", xcom_push=lambda **_: None)
    params = dict.fromkeys(nightly.params)
    return {"dag_run": run, "params": params, "var": {"value": {}}, "ti": told}
