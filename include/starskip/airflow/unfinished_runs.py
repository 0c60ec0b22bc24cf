"""Mark runs of ``make night`` that were killed as failed; Airflow would show them as running for ever.

Run as a module it marks them, in the Airflow of its environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from starskip.airflow.report_places import DAG_ID


@contextmanager
def noted_run(home: Path) -> Iterator[bool]:
    """Note this process in ``home`` while the block runs; yield whether an earlier noted process was killed.

    If this process is killed, its note stays. While another run is still going on, the result is False.
    """
    notes = home / "nights"
    notes.mkdir(parents=True, exist_ok=True)
    others = [path for path in notes.iterdir() if path.name.isdecimal() and int(path.name) != os.getpid()]
    are_killed = bool(others) and not any(psutil.pid_exists(int(path.name)) for path in others)
    note = notes / str(os.getpid())
    note.touch()
    try:
        yield are_killed
    except KeyboardInterrupt:
        raise  # Airflow was ended in the middle of the run: the next one ends it there, too
    except BaseException:
        note.unlink(missing_ok=True)
        raise
    note.unlink(missing_ok=True)
    for path in others if are_killed else ():
        with suppress(OSError):
            path.unlink()


def end_unfinished_runs() -> int:
    """Mark the runs of ``airflow dags test`` that count as running as failed; return how many there are."""
    # Only in the process that does this: importing Airflow's models takes seconds.
    from airflow.models.dagrun import DagRun
    from airflow.sdk import timezone
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType
    from sqlalchemy import select

    with create_session() as session:
        wanted = select(DagRun).where(
            DagRun.dag_id == DAG_ID,
            DagRun.state == DagRunState.RUNNING,
            DagRun.triggered_by == DagRunTriggeredByType.TEST,
        )
        found = list(session.scalars(wanted))
        for run in found:
            run.state, run.end_date = DagRunState.FAILED, timezone.utcnow()
        return len(found)


if __name__ == "__main__":
    end_unfinished_runs()
