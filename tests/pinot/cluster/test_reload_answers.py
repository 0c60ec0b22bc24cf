"""Answers to a reload as Pinot 0.11 and 1.5.1 gave them."""

from __future__ import annotations

from typing import Any

import pytest
from starskip.pinot.cluster.controller import ReloadStatus, reload_jobs, reload_status

OF_0_11 = {
    "status": 'Segment reload details: {"t_OFFLINE":{"reloadJobId":"1f-2","reloadJobMetaZKStorageStatus":'
    '"SUCCESS","numMessagesSent":"1"}}'
}
OF_1_5 = {
    "status": '{"t_OFFLINE":{"reloadJobId":"1f-2","reloadJobMetaZKStorageStatus":"SUCCESS",'
    '"numMessagesSent":"1"}}'
}
OF_ONE_SEGMENT = {
    "status": "Submitted reload job id: 1f-2, sent 1 reload messages. Job meta ZK storage status: SUCCESS"
}


@pytest.mark.parametrize("answer", [OF_0_11, OF_1_5, OF_ONE_SEGMENT])
def test_each_version_names_its_job(answer: dict[str, str]) -> None:
    assert reload_jobs(answer) == ("1f-2",)


def test_a_hybrid_table_has_two_jobs() -> None:
    answer = {"status": '{"t_OFFLINE":{"reloadJobId":"a"},"t_REALTIME":{"reloadJobId":"b"}}'}
    assert reload_jobs(answer) == ("a", "b")


@pytest.mark.parametrize("answer", [{}, {"status": "{"}, {"status": '{"t": null}'}, "done", None, ["x"]])
def test_an_answer_without_a_job_names_none(answer: Any) -> None:
    assert reload_jobs(answer) == ()


def test_progress_of_both_versions() -> None:
    of_0_11 = {"totalSegmentCount": 4, "successCount": 3, "totalServerCallsFailed": 1}
    assert reload_status(of_0_11) == ReloadStatus(4, 3, None, 1, "")
    of_1_5 = {**of_0_11, "failureCount": 1, "status": "COMPLETED_WITH_ERRORS"}
    assert reload_status(of_1_5) == ReloadStatus(4, 3, 1, 1, "COMPLETED_WITH_ERRORS")
