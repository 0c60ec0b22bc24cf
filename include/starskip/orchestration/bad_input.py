"""From our errors to Airflow's: what a retry will not mend fails the task at once, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowFailException

from starskip.errors import StarskipError

BAD_INPUT = 3
"""Exit code of a job whose error a retry will not mend (spark.stage_job, interfaces.md)."""


@contextmanager
def failing_at_once() -> Iterator[None]:
    """Turn a StarskipError into a failure without retry that shows its message and no stack of ours."""
    try:
        yield
    except StarskipError as error:
        raise AirflowFailException(str(error)) from None
