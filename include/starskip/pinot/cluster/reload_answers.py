"""Answers of the controller to a reload, which differ from version to version."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_JOB = re.compile(r"job id: ([0-9A-Za-z-]+)")


@dataclass(frozen=True, slots=True)
class ReloadStatus:
    """Progress of a reload; counts are of segments on servers, so replicas count each.

    ``failed`` is None and ``state`` empty before Pinot 1.5; then: IN_PROGRESS, COMPLETED or
    COMPLETED_WITH_ERRORS. ``silent_servers``: requests to servers without an answer.
    """

    total: int
    succeeded: int
    failed: int | None
    silent_servers: int
    state: str


def reload_jobs(answer: Any) -> tuple[str, ...]:
    """Return the ids of the jobs that an answer to a reload names, none if it names none.

    For a table it is JSON, within a text, with words before it in 0.11; for one segment it is a sentence.
    """
    status = str(answer.get("status", "")) if isinstance(answer, dict) else str(answer)
    _, brace, rest = status.partition("{")
    try:
        named = json.loads(brace + rest) if brace else {}
    except ValueError:
        named = {}
    found = [job for job in map(_job_of, _values(named)) if job]
    return tuple(found) or tuple(_JOB.findall(status))


def _values(named: Any) -> list[Any]:
    return list(named.values()) if isinstance(named, dict) else []


def _job_of(table: Any) -> str:
    return str(table.get("reloadJobId") or "") if isinstance(table, dict) else ""


def reload_status(answer: Mapping[str, Any]) -> ReloadStatus:
    """Return the progress that the controller tells of a job."""
    failed = answer.get("failureCount")
    return ReloadStatus(
        total=int(answer.get("totalSegmentCount") or 0),
        succeeded=int(answer.get("successCount") or 0),
        failed=None if failed is None else int(failed),
        silent_servers=int(answer.get("totalServerCallsFailed") or 0),
        state=str(answer.get("status") or ""),
    )
