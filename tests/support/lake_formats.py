"""Delta and Iceberg in the tests' Spark session: their jars, fetched once, and the settings they need.

The benchmarks compare with the same jars (benchmarks/skipping/pom.xml).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from skipping.running_peer import CONNECTORS, jars, spark_minor

ICEBERG_CATALOG = "ice"
"""A Hadoop catalog of Iceberg: its table ``ice.NAMESPACE.TABLE`` lies in NAMESPACE/TABLE of a warehouse."""


def session_settings(warehouse: Path) -> Mapping[str, str]:
    """Return the settings of a session that reads and writes both, none on a Spark that they are not for."""
    if spark_minor() not in CONNECTORS:
        return {}
    catalog = f"spark.sql.catalog.{ICEBERG_CATALOG}"
    return {
        "spark.driver.extraClassPath": os.pathsep.join((*jars("delta"), *jars("iceberg"))),
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
