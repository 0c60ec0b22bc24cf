"""One Spark session for the whole test run, made when a test first asks for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kept_java_names import keep_java_names
from lake_formats import jars_behind_sparks, session_settings
from pyspark.sql import SparkSession
from starskip.spark import skipping


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tables of the Iceberg catalog ``ice``."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    environment = pytest.MonkeyPatch()
    # A machine whose name does not resolve cannot start a driver otherwise.
    environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    environment.setenv("PYSPARK_PYTHON", sys.executable)
    environment.delenv("SPARK_HOME", raising=False)
    keep_java_names(environment)
    # It reports its shutdown to a log that pytest has closed by then.
    logging.getLogger("py4j").setLevel(logging.ERROR)
    builder = SparkSession.builder.master("local[2]")
    for name, value in session_settings(warehouse).items():
        builder = builder.config(name, value)
    builder = (
        builder.appName("starskip tests")
        # What nights run with: nothing that grows may pass through the driver.
        .config("spark.driver.memory", "1g")
        .config("spark.driver.maxResultSize", "16m")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark-local")))
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        # Two processors have few rows to group or sort; 200 parts would each be written and told of.
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.showConsoleProgress", "false")
        # Queries of tests are alike, but a hundred others lie between two: more than Spark keeps classes of.
        .config("spark.sql.codegen.cache.maxEntries", "2000")
        # Without the optimising compiler (short_lived_java.py) Java keeps room for little compiled code, and
        # once that is full all is interpreted. Half of the heap is for what is new: little of it stays.
        .config("spark.driver.extraJavaOptions", "-XX:ReservedCodeCacheSize=256m -Xmn500m")
    )
    with pytest.MonkeyPatch.context() as of_java:
        for name, value in jars_behind_sparks().items():
            of_java.setenv(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()
    environment.undo()


@pytest.fixture
def skipping_on(spark: SparkSession) -> Iterator[SparkSession]:
    skipping.enable(spark)
    yield spark
    skipping.disable(spark)
