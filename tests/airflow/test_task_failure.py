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
    from starskip.airflow.task_failure import RunTasks, failing_at_once, failure_reasons, is_log_missing

    left: dict[str, Any] = {}
    task = SimpleNamespace(
        task_id="check_votes",
        xcom_push=lambda key, value: left.update({key: value}),
        xcom_pull=lambda task_ids, key, map_indexes=None: left.get(key),
    )
    with pytest.raises(AirflowException) as caught, failing_at_once({"ti": task}):
        raise error
    assert isinstance(caught.value, AirflowFailException) == is_final
    tasks = RunTasks({"check_votes": "failed", "select": "success"})
    assert (
        failure_reasons({"ti": task}, tasks)
        == {"check_votes": str(error)}
        == {"check_votes": str(caught.value)}
    )
    assert is_log_missing({"ti": task}, tasks) == isinstance(error, MissingLog)


def test_a_task_of_a_group_is_called_after_its_tables() -> None:
    from starskip.airflow.task_failure import RunTasks, failure_reasons

    groups = [["a", "b"], [f"t{number}" for number in range(25)]]
    states = {"score_votes_0": "success", "score_votes_1": "failed", "select_indexes_1": "upstream_failed"}
    tasks = RunTasks(states, groups)
    left = {("score_votes", 1): "it has no memory"}
    task = SimpleNamespace(xcom_pull=lambda task_ids, key, map_indexes: left.get((task_ids, map_indexes)))
    found = failure_reasons({"ti": task}, tasks)
    assert found == {"score_votes of t0, t1, t2 and 22 more": "it has no memory"}
    assert tasks.succeeded("score_votes", "b")
    assert not tasks.succeeded("score_votes", "t7")
    assert not tasks.succeeded("select_indexes", "b")


def test_a_task_that_took_too_long_says_so() -> None:
    from airflow.sdk.exceptions import AirflowTaskTimeout
    from starskip.airflow.task_failure import FAILURE, failing_at_once

    left: dict[str, Any] = {}
    task = SimpleNamespace(task_id="score_votes", xcom_push=lambda key, value: left.update({key: value}))
    with pytest.raises(AirflowTaskTimeout), failing_at_once({"ti": task}):
        raise AirflowTaskTimeout
    assert left == {FAILURE: "it took longer than its execution_timeout, and was ended"}
