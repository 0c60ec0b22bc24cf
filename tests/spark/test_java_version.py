"""A Java on which PySpark would wait for ever is refused; the Java of the tests is not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from starskip.errors import StarskipError
from starskip.spark import command_session
from starskip.spark.command_session import require_java

pytestmark = pytest.mark.spark


def test_an_older_pyspark_is_refused_on_a_newer_java(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_java(spark)
    # The machine of the tests has one Java, which counts as too new here.
    monkeypatch.setattr(command_session, "_NEWEST_JAVA_BEFORE_4_2", 16)
    for version in ("4.0.4", "4.1.3"):
        monkeypatch.setattr(command_session, "__version__", version)
        with pytest.raises(StarskipError, match=rf"PySpark {version} does not run on Java \d+: let"):
            require_java(spark)
    monkeypatch.setattr(command_session, "__version__", "4.2.0")
    require_java(spark)
