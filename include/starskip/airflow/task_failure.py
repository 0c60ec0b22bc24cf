"""Translate errors of Starskip to Airflow failures with a one-line reason, for the run's last task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from tempfile import gettempdir
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from starskip.advisor.run.stages import GROUPED
from starskip.airflow.progress_line import show_progress
from starskip.errors import MissingLog, StarskipError, TransientError
from starskip.number_text import some_names
from starskip.storage.files.full_disk import full_disk, is_full_disk

FAILURE = "failure"
"""XCom key under which a task that fails leaves its reason."""

GROUPING = "group_tables"
"""The task that divides the tables into groups, each of which has a chain of tasks of its own."""

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
    except AirflowTaskTimeout:
        note_failure(context, "it took longer than its execution_timeout, and was ended")
        raise
    except OSError as error:
        if not is_full_disk(error):
            raise
        reason = str(full_disk(error, error.filename or gettempdir()))
        note_failure(context, reason)
        raise AirflowException(reason) from None


@dataclass(frozen=True)
class RunTasks:
    """The tasks of one run and their states; ``groups``: the tables of each group, by its map index.

    A task of a group is called after the task and the group's place, such as score_votes_3.
    """

    states: Mapping[str, str]
    groups: Sequence[Sequence[str]] = ()

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {table: place for place, tables in enumerate(self.groups) for table in tables}

    def succeeded(self, task: str, table: str) -> bool:
        """Return whether a task that works on ``table`` succeeded, be it the task of the table's group."""
        names = (task, f"{task}_{self._place.get(table, -1)}")
        return any(self.states.get(name) == "success" for name in names)

    def failed(self) -> list[tuple[str, int]]:
        """Return the tasks that failed themselves, with their map indexes, -1 for a task of no group."""
        return [self._split(name) for name, state in self.states.items() if state == "failed"]

    def _split(self, name: str) -> tuple[str, int]:
        task, _, place = name.rpartition("_")
        # Other tasks of the DAG file may end in a number, too.
        is_of_group = task.removeprefix("check_") in GROUPED and place.isdigit()
        return (task, int(place)) if is_of_group else (name, -1)

    def label(self, task: str, place: int) -> str:
        """Return how people call a task: with the tables of its group."""
        return task if place < 0 else f"{task} of {some_names(self.groups[place])}"


def run_tasks(context: Mapping[str, Any]) -> RunTasks:
    """Return the tasks of the run that ``context`` belongs to."""
    run, ti = context["dag_run"], context["ti"]
    of_runs = ti.get_task_states(dag_id=run.dag_id, run_ids=[run.run_id])
    states = {task: str(state) for task, state in of_runs.get(run.run_id, {}).items()}
    return RunTasks(states, ti.xcom_pull(task_ids=GROUPING) or ())


def failure_reasons(context: Mapping[str, Any], tasks: RunTasks) -> dict[str, str]:
    """Return the tasks that failed, as people call them, each with the reason that it left."""
    found = {}
    for task, place in tasks.failed():
        reason = context["ti"].xcom_pull(task_ids=task, map_indexes=place, key=FAILURE)
        found[tasks.label(task, place)] = reason or "its log says why"
    return found


def is_log_missing(context: Mapping[str, Any], tasks: RunTasks) -> bool:
    """Return whether a task that failed has found no log of the night."""
    alone = [task for task, place in tasks.failed() if place < 0]
    return any(context["ti"].xcom_pull(task_ids=task, key=NO_LOG) for task in alone)
