"""Translate errors of Starskip to Airflow failures with a one-line reason, for the run's last task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from tempfile import gettempdir
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from starskip.airflow.progress_line import show_progress
from starskip.errors import MissingLog, StarskipError, TransientError
from starskip.storage.files.full_disk import full_disk, is_full_disk

FAILURE = "failure"
"""XCom key under which a task that fails leaves its reason."""

NO_LOG = "no_log"
"""XCom key that a task leaves which fails since no log holds the day of its night."""


def note_failure(context: Mapping[str, Any], reason: str) -> None:
    """Show why the task of ``context`` fails, and leave it for finish_night."""
    show_progress(f"{context['ti'].task_id}: FAILED: {reason}")
    context["ti"].xcom_push(key=FAILURE, value=reason)


@contextmanager
def failing_at_once(context: Mapping[str, Any]) -> Iterator[None]:
    """Turn a StarskipError into a failure without our stack trace; only a TransientError may be retried."""
    try:
        yield
    except StarskipError as error:
        note_failure(context, str(error))
        if isinstance(error, MissingLog):
            context["ti"].xcom_push(key=NO_LOG, value=True)
        failure = AirflowException if isinstance(error, TransientError) else AirflowFailException
        raise failure(str(error)) from None
    except OSError as error:
        if not is_full_disk(error):
            raise
        reason = str(full_disk(error, error.filename or gettempdir()))
        note_failure(context, reason)
        raise AirflowException(reason) from None


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
