"""Run one stage in this process, without Spark, and tell its end as a job's receipt does."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from starskip.advisor.run.night import Night
from starskip.execution.local_engine import LocalEngine
from starskip.night.job_receipt import JobReceipt, peak_memory_bytes
from starskip.night.stage_functions import stage_function
from starskip.skipping.registry import load_modules


def stage_here(stage: str, night: Night) -> JobReceipt:
    """Run the stage and return its receipt, which nobody needs to write; errors are the stage's own."""
    started_at, began = datetime.now(UTC), time.monotonic()
    load_modules(night.skipping_modules)
    result = stage_function(stage)(LocalEngine(), night)
    return JobReceipt(
        stage=stage,
        run_id=night.run_id,
        tables=tuple(sorted(night.tables or ())),
        engine="local",
        exit_code=0,
        counts=result.counts,
        warnings=tuple(result.warnings),
        problem="",
        started_at=started_at,
        seconds=round(time.monotonic() - began, 3),
        peak_memory_bytes=peak_memory_bytes(),
    )
