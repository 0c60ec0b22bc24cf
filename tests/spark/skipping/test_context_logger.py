"""An error of a query is PySpark's own also after one that was expected."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from starskip.errors import StarskipError
from starskip.spark.skipping.failures import spark_failures

pytestmark = pytest.mark.spark
_NAME = "SQLQueryContextLogger"


@pytest.fixture
def no_logger_yet() -> Iterator[None]:
    loggers = logging.Logger.manager.loggerDict
    before = loggers.pop(_NAME, None)
    yield
    loggers.pop(_NAME, None)
    if before is not None:
        loggers[_NAME] = before


@pytest.mark.usefixtures("no_logger_yet")
def test_an_error_of_a_query_after_an_expected_one_is_still_that_error(spark: SparkSession) -> None:
    with pytest.raises(StarskipError), spark_failures("t"):
        spark.range(1).selectExpr("nothing + 1")
    with pytest.raises(AnalysisException, match="nothing"):
        spark.range(1).selectExpr("nothing + 1")


@pytest.mark.usefixtures("skipping_on")
def test_a_query_that_cannot_be_analyzed_is_no_warning_of_ours(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(AnalysisException, match="nothing"):
        spark.range(1).selectExpr("nothing + 1")
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    assert [each for each in caplog.records if each.name == "starskip.skipping"] == []
