"""Gives a Spark session with the little memory of the night's driver."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "16m",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def small_session(more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Give a session on two cores with 1 GiB, to which results of 16 MiB may come."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Workers import what the driver imports.
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)
    builder = SparkSession.builder.master("local[2]").appName("bench-intersection")
    for name, value in (_SETTINGS | dict(more or {})).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
