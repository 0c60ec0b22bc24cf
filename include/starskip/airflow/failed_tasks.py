"""Find the failed tasks of a run, and their reasons, from the context of its last task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starskip.airflow.task_failure import FAILURE, NO_LOG


def task_states(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the state of each task of the run that ``context`` belongs to."""
    run = context["dag_run"]
    of_runs = context["ti"].get_task_states(dag_id=run.dag_id, run_ids=[run.run_id])
    return {task: str(state) for task, state in of_runs.get(run.run_id, {}).items()}


def failed_tasks(context: Mapping[str, Any], states: Mapping[str, str]) -> dict[str, str]:
    """Return the tasks that failed themselves, each with the reason that it left."""
    failed = [task for task, state in states.items() if state == "failed"]
    reasons = {task: context["ti"].xcom_pull(task_ids=task, key=FAILURE) for task in failed}
    return {task: reason or "its log says why" for task, reason in reasons.items()}


def is_log_missing(context: Mapping[str, Any], failed: Collection[str]) -> bool:
    """Return whether one of the ``failed`` tasks has found no log of the night."""
    return any(context["ti"].xcom_pull(task_ids=task, key=NO_LOG) for task in failed)
