"""Delta and Iceberg in the tests' Spark session: their jars, fetched once, and the settings they need.

The benchmarks compare with the same jars (benchmarks/skipping/pom.xml).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from skipping.running_peer import CONNECTORS, has_iceberg, jars, spark_minor

ICEBERG_CATALOG = "ice"
"""A Hadoop catalog of Iceberg: its table ``ice.NAMESPACE.TABLE`` lies in NAMESPACE/TABLE of a warehouse."""


def table_formats() -> tuple[str, ...]:
    """Return what tables of this Spark can be: "files", and the formats with a connector published for it."""
    delta = ("delta",) if spark_minor() in CONNECTORS else ()
    return ("files", *delta, *(("iceberg",) if has_iceberg() else ()))


def new_table(table_format: str, folder: Path, warehouse: Path) -> tuple[str, str]:
    """Return the name in SQL, and the place, of a table that there is not yet; ``warehouse``: Iceberg's."""
    name = f"t{uuid4().hex[:8]}"
    if table_format == "delta":
        place = str(folder / "lake" / f"é {name}")
        return f"delta.`{place}`", place
    return f"{ICEBERG_CATALOG}.db.{name}", str(warehouse / "db" / name)


def session_settings(warehouse: Path) -> Mapping[str, str]:
    """Return the settings of a session that reads and writes both formats, as far as they are for this Spark.

    Its Java needs ``jars_behind_sparks``, too.
    """
    if spark_minor() not in CONNECTORS:
        return {}
    extensions = ["io.delta.sql.DeltaSparkSessionExtension"]
    settings = {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Their logs are small: 50 tasks for each would take most of a test's time.
        "spark.databricks.delta.snapshotPartitions": "1",
        # VACUUM lists a folder by as many tasks, 10,000 by default.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    }
    if has_iceberg():
        extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        catalog = f"spark.sql.catalog.{ICEBERG_CATALOG}"
        settings |= {
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": str(warehouse),
            # Tables of tests come and go.
            f"{catalog}.cache-enabled": "false",
        }
    return {"spark.sql.extensions": ",".join(extensions), **settings}


def jars_behind_sparks() -> Mapping[str, str]:
    """Return the environment of a Java that has the jars, in their place behind Spark's own.

    In front, where ``spark.driver.extraClassPath`` puts them, Java could not use the archive of Spark's own
    classes.
    """
    if spark_minor() not in CONNECTORS:
        return {}
    wanted = (*jars("delta"), *(jars("iceberg") if has_iceberg() else ()))
    return {"SPARK_DIST_CLASSPATH": os.pathsep.join(wanted)}
