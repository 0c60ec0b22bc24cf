"""Opens the table argument of skipping's functions: a path, or a DataFrame of a table's rows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from starskip.errors import ConfigError, SourceError
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import read_metadata
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_name import is_iceberg_name
from starskip.lake.table_snapshot import TableSnapshot
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.lake_relation import lake_relation
from starskip.spark.skipping.lake_scan import TITLES
from starskip.spark.skipping.plain_files import format_at
from starskip.spark.skipping.refresh_relation import location_of, qualified
from starskip.spark.skipping.table_relation import TableRelation, source_plan, table_relation
from starskip.storage.encryption.keyring import Keyring

_LOCAL = re.compile(r"^file:/+")
_OF_DELTA = "org.apache.spark.sql.delta."
_OF_ICEBERG = "org.apache.iceberg.spark."


def opened_table(
    spark: SparkSession,
    table: str | DataFrame,
    table_format: str | None,
    options: Mapping[str, str] | None,
    metadata_root: str | None,
    keyring: Keyring | None = None,
) -> TableRelation:
    """Return the relation of a table's files, for a Delta or Iceberg table of its newest snapshot's files.

    ``table_format``: instead of the format detected at the path. Raises SourceError for an argument that is
    no table, and NotPlainFiles for a table format that is asked for as plain files.
    """
    snapshot = lake_snapshot(spark, table, table_format, options)
    if snapshot is None:
        return table_relation(spark, table, table_format or "parquet", options)
    folder = qualified(spark, snapshot.location)
    existing = read_metadata(metadata_storage(location_of(spark, folder, metadata_root)), keyring=keyring)
    return lake_relation(spark, snapshot, folder, existing)


def lake_snapshot(
    spark: SparkSession,
    table: str | DataFrame,
    table_format: str | None,
    options: Mapping[str, str] | None = None,
) -> TableSnapshot | None:
    """Return the newest snapshot of a Delta or Iceberg table, None for plain files.

    Raises SourceError, also for an Iceberg table without a Parquet file.
    """
    found = _lake_table(spark, table, table_format)
    if found is None:
        return None
    path, of_format = found
    if options:
        raise ConfigError(
            f"{path}: a {TITLES[of_format]} table takes no options of a reader", setting="option"
        )
    snapshot = open_lake_table(_LOCAL.sub("/", path), of_format)
    formats = set(snapshot.files["file_format"].unique().to_pylist())
    if formats and "parquet" not in formats:
        raise SourceError(
            f"{path}: this {TITLES[of_format]} table has {' and '.join(sorted(formats))} files alone: "
            "skipping indexes are of Parquet files",
            source=path,
        )
    return snapshot


def _lake_table(
    spark: SparkSession, table: str | DataFrame, table_format: str | None
) -> tuple[str, str] | None:
    """Return path and format of a Delta or Iceberg table, None for another one."""
    if not isinstance(table, str):
        return _of_frame(table)
    if table_format in TITLES:
        return table, table_format
    if table_format is not None:
        return None
    if is_iceberg_name(table):
        return table, "iceberg"
    found = format_at(spark, table)
    return (table, found.spark_name) if found is not None and found.spark_name in TITLES else None


def _of_frame(frame: DataFrame) -> tuple[str, str] | None:
    plan = source_plan(frame)
    kind = plan.getClass().getSimpleName()
    # Delta's relation has an anonymous class that inherits from Spark's.
    toolbox = JvmToolbox(frame.sparkSession)
    if kind == "LogicalRelation" and toolbox.is_of(f"{DATASOURCES}.HadoopFsRelation", plan.relation()):
        index = plan.relation().location()
        if str(index.getClass().getName()).startswith(_OF_DELTA):
            return str(index.path().toString()), "delta"
    if kind == "DataSourceV2Relation":
        name = str(plan.table().getClass().getName())
        if name.startswith(_OF_ICEBERG):
            return str(plan.table().table().location()), "iceberg"
        if name.startswith(_OF_DELTA):
            return str(plan.table().path().toString()), "delta"
    return None
