"""Main function of every Spark job: start Spark, run one stage on it, leave a receipt, exit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from starskip.advisor.run.night import Night
from starskip.night.stage_with_receipt import RunningEngine, Stage, run_stage_with_receipt
from starskip.night.submitting_process import end_with_submitter
from starskip.pinot.logs.log_formats import module_names
from starskip.skipping.registry import load_modules
from starskip.spark.command_session import require_java
from starskip.spark.spark_engine import SparkEngine
from starskip.spark.understood_failure import understood_failure
from starskip.user_modules import module_files


def stage_job(stage: Stage) -> int:
    """Run ``stage`` on Spark for the night that the command line describes; return the exit code."""
    end_with_submitter(os.environ)
    return run_stage_with_receipt(stage, lambda night: _spark(night, stage.__name__))


@contextmanager
def _spark(night: Night, stage: str) -> Iterator[RunningEngine]:
    load_modules(night.skipping_modules)
    try:
        session = SparkSession.builder.appName(f"{stage}:{night.date_text}").getOrCreate()
        try:
            require_java(session)
            formats = module_names(night.settings.log.formats)
            for file in module_files((*night.family_modules, *night.skipping_modules, *formats)):
                session.sparkContext.addPyFile(file)
            java: Any = session.sparkContext._jvm
            process_id = int(java.java.lang.ProcessHandle.current().pid())
            yield RunningEngine(SparkEngine(session), "spark", process_id)
        finally:
            session.stop()
    except (PySparkException, Py4JError) as error:
        raise understood_failure(error) from error
