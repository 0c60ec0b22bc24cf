"""Errors of ours that Airflow may try again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from starskip.errors import (
    CommitConflict,
    ConfigError,
    MissingLog,
    SourceError,
    SourceOutage,
    StarskipError,
    StorageError,
    StorageOutage,
)

pytestmark = [pytest.mark.slow, pytest.mark.dags, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (StorageOutage("s3://b/x: the store at h does not answer in time", location="x"), False),
        (SourceOutage("s3://b: the store answers 503 SlowDown, after repeated attempts", source="b"), False),
        (CommitConflict("votes: other writers came first 100 times; run this step again"), False),
        (StorageError("votes/x.parquet: is damaged", location="x"), True),
        (SourceError("unknown table x", source="x"), True),
        (MissingLog("no log of 2026-11-18", source="2026-11-18"), True),
        (ConfigError("night.yaml: tables must be a list", setting="tables"), True),
    ],
)
def test_only_what_may_pass_is_tried_again(error: StarskipError, is_final: bool) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
    from starskip.airflow.task_failure import failed_tasks, failing_at_once, is_log_missing

    left: dict[str, Any] = {}
    task = SimpleNamespace(
        task_id="check_votes",
        xcom_push=lambda key, value: left.update({key: value}),
        xcom_pull=lambda task_ids, key: left.get(key),
    )
    with pytest.raises(AirflowException) as caught, failing_at_once({"ti": task}):
        raise error
    assert isinstance(caught.value, AirflowFailException) == is_final
    failed = failed_tasks({"ti": task}, {"check_votes": "failed", "select": "success"})
    assert failed == {"check_votes": str(error)} and str(caught.value) == str(error)
    assert is_log_missing({"ti": task}, failed) == isinstance(error, MissingLog)
