"""Runs of a nightly DAG as Airflow's database has them: runs that go on, and the tasks of one run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from sqlalchemy import select
from sqlalchemy.orm import Session

from starskip.advisor.run.stages import STAGE_NAMES
from starskip.airflow.report_pages.asked_night import is_tried, run_date_of, tables_of
from starskip.airflow.report_pages.nightly_dags import NightlyDag
from starskip.errors import ConfigError
from starskip.reports.night_days import ActiveRun, DayState
from starskip.reports.render_run import RunTask

_BEGUN = ("running", "success", "failed", "up_for_retry")
_ACTIVE = {"running": DayState.RUNNING, "queued": DayState.QUEUED}


def active_runs(dag: NightlyDag, session: Session) -> Mapping[date, ActiveRun]:
    """Return the runs of all tables that are queued or running, by their nights; no experiments."""
    wanted = select(DagRun).where(DagRun.dag_id == dag.dag_id, DagRun.state.in_(_ACTIVE)).order_by(DagRun.id)
    found: dict[date, ActiveRun] = {}
    for run in (each for each in session.scalars(wanted) if not (tables_of(each) or is_tried(each))):
        with suppress(ConfigError):  # a run of no date: it fails by itself
            found[run_date_of(dag, run)] = (_ACTIVE[str(run.state)], run.run_id)
    return found


def tasks_of_run(dag_id: str, run_id: str, session: Session) -> tuple[RunTask, ...]:
    """Return the tasks of a run: the stages of a night in their order, then all others."""
    wanted = select(TaskInstance).where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id)
    order = [each for stage in STAGE_NAMES for each in (stage, f"check_{stage}")]
    tasks = [
        RunTask(each.task_id, str(each.state or "waiting"), _seconds(each), each.try_number or 0)
        for each in session.scalars(wanted)
    ]
    return tuple(sorted(tasks, key=lambda task: order.index(task.name) if task.name in order else len(order)))


def _seconds(task: TaskInstance) -> float | None:
    # Airflow notes a start for tasks, too, that it never begins.
    if task.start_date is None or str(task.state) not in _BEGUN:
        return None
    return ((task.end_date or datetime.now(UTC)) - task.start_date).total_seconds()
