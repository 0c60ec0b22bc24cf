"""End a job with the process that submitted it: a killed task must not leave its job running."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

import psutil

from starskip.errors import TRY_AGAIN

SUBMITTED_BY = "STARSKIP_SUBMITTED_BY"
"""Environment variable with the process id of the task that submitted a job, on the machine of its driver."""

_EVERY_S = 1.0


def end_with_submitter(environment: Mapping[str, str]) -> None:
    """Watch, in a thread, the process that SUBMITTED_BY names; leave with exit code 1 when it is gone.

    Without that variable, as when a person submits a job by hand, nothing is watched. Spark ends with its
    driver, and its executors with Spark.
    """
    text = environment.get(SUBMITTED_BY, "")
    if text.isdecimal():
        threading.Thread(target=_watch, args=(int(text),), name="submitter", daemon=True).start()


def _watch(process_id: int) -> None:
    try:
        submitter = psutil.Process(process_id)
        while submitter.is_running() and submitter.status() != psutil.STATUS_ZOMBIE:
            time.sleep(_EVERY_S)
    except psutil.NoSuchProcess:
        pass
    except psutil.Error:
        return  # it cannot be inspected: nothing is known of it
    # Not sys.exit: the working thread may be anywhere, and must publish nothing more.
    os._exit(TRY_AGAIN)
