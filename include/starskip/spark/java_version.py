"""Refuse a Java on which the installed PySpark would wait for ever."""

from __future__ import annotations

from pyspark import __version__
from pyspark.sql import SparkSession

from starskip.errors import StarskipError

_NEWEST_JAVA_BEFORE_4_2 = 23


def require_java(session: SparkSession) -> None:
    """Raise StarskipError if Spark is older than 4.2 and its Java is newer than it can use.

    From Java 24 on the thread that serves results in Arrow's form dies there, and Python waits for it.
    """
    jvm = session.sparkContext._jvm
    assert jvm is not None
    java = int(jvm.java.lang.Runtime.version().feature())
    if java > _NEWEST_JAVA_BEFORE_4_2 and __version__.startswith(("4.0.", "4.1.")):
        raise StarskipError(
            f"PySpark {__version__} does not run on Java {java}: let JAVA_HOME name Java 17 or 21, "
            "or use PySpark 4.2"
        )
