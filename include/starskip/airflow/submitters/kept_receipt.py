"""Keep the token of a job's receipt with the job's own id, for a try that takes up the job of an earlier one.

Operators that survive their worker keep the id of what they have submitted in the state of the task. A later
try that finds the job there submits nothing, so that the receipt it looks for is the earlier try's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEY = "starskip_receipt"


class KeptReceipt:
    """Mixed into an operator of a provider: ``receipt_token`` is that of the job it waits for.

    Where the operator knows no jobs of earlier tries, as in Airflow 3.2, the token stays the new one.
    """

    receipt_token = ""

    def execute_resumable(self, context: Any) -> Any:
        """Take the token of the job that an earlier try has left, until one is submitted."""
        new = self.receipt_token
        self.receipt_token = kept_token(context) or new
        self._new_token = new
        return super().execute_resumable(context)  # type: ignore[misc]

    def submit_job(self, context: Any) -> Any:
        """Submit the job, whose token is the new one."""
        self.receipt_token = self._new_token
        keep_token(context, self.receipt_token)
        return super().submit_job(context)  # type: ignore[misc]


def kept_token(context: Mapping[str, Any]) -> str | None:
    """Return the token of the job that an earlier try has submitted."""
    state = context.get("task_state_store")
    found = None if state is None else state.get(_KEY)
    return found if isinstance(found, str) else None


def keep_token(context: Mapping[str, Any], token: str) -> None:
    """Keep the token of a job that is being submitted."""
    state = context.get("task_state_store")
    if state is not None:
        state.set(_KEY, token)


def forget_job(context: Mapping[str, Any]) -> None:
    """Forget what was submitted: the job of a task that somebody clears later is to run again."""
    state = context.get("task_state_store")
    if state is not None:
        state.clear()
