"""Delta and Iceberg in the tests' Spark session: their jars, fetched once, and the settings they need.

The benchmarks compare with the same jars (benchmarks/skipping/pom.xml).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyspark
from skipping.running_peer import jars

_ARE_FOR_THIS_SPARK = pyspark.__version__.startswith("4.1.")
"""On other versions make test-matrix leaves out the tests that are marked ``table_formats``."""

ICEBERG_CATALOG = "ice"
"""A Hadoop catalog of Iceberg: its table ``ice.NAMESPACE.TABLE`` lies in NAMESPACE/TABLE of a warehouse."""


def session_settings(warehouse: Path) -> Mapping[str, str]:
    """Return the settings of a session that reads and writes Delta and Iceberg tables, none without jars.

    Its Java needs ``jars_behind_sparks``, too.
    """
    if not _ARE_FOR_THIS_SPARK:
        return {}
    catalog = f"spark.sql.catalog.{ICEBERG_CATALOG}"
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(warehouse),
        # Tables of tests come and go.
        f"{catalog}.cache-enabled": "false",
        # Their logs are small: 50 tasks for each would take most of a test's time.
        "spark.databricks.delta.snapshotPartitions": "1",
    }


def jars_behind_sparks() -> Mapping[str, str]:
    """Return the environment of a Java that has the jars, in their place behind Spark's own.

    In front, where ``spark.driver.extraClassPath`` puts them, Java could not use the archive of Spark's own
    classes (``spark_classes``).
    """
    if not _ARE_FOR_THIS_SPARK:
        return {}
    return {"SPARK_DIST_CLASSPATH": os.pathsep.join((*jars("delta"), *jars("iceberg")))}
