"""Run one stage in this process, without Spark, and tell its end as a job's receipt does."""

from __future__ import annotations

from starskip.advisor.run.night import Night
from starskip.execution.local_engine import LocalEngine
from starskip.night.job_receipt import JobReceipt, StartedJob
from starskip.night.stage_functions import stage_function
from starskip.skipping.registry import load_modules


def stage_here(stage: str, night: Night) -> JobReceipt:
    """Run the stage and return its receipt, which nobody needs to write; errors are the stage's own."""
    job = StartedJob(stage)
    load_modules(night.skipping_modules)
    result = stage_function(stage)(LocalEngine(), night.read_once())
    return job.ended(night, "local", result)
