"""Run one query with skipping and without, and compare rows and cost."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructField, VariantType

from starskip.errors import SourceError, StarskipError, TransientError, UnsupportedQuery
from starskip.indexes.skipping.skipping_engine import Reading, Replay
from starskip.indexes.skipping.workload.expression_sql import REASON, expression_sql
from starskip.lake.lake_table import LakeTable
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.expression import Expression
from starskip.settings import Settings
from starskip.spark.skipping.failures import FAILURES, failure_of, is_of_files, reason_of
from starskip.spark.skipping.isolated_session import isolated_session
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.opened_table import lake_snapshot
from starskip.spark.skipping.query_reports import scans_read
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.secondary_settings import as_session_settings
from starskip.spark.skipping.session import enabled_within, last_query_stats

_RUNS = 2
"""Runs of each kind, alternating; one suffices if both give the same answer."""
_HALF = 0xFFFFFFFF
_NO_CONNECTOR = "DATA_SOURCE_NOT_FOUND"


def replay_query(
    spark: SparkSession,
    table: LakeTable,
    predicate: Expression,
    root: str | None,
    settings: Settings | None = None,
) -> Replay:
    """Query whole rows, see ``SkippingEngine.replay``.

    Raises TransientError if the table changed between two plain runs.
    """
    text = expression_sql(predicate)
    session = isolated_session(spark)
    snapshot = lake_snapshot(session, table.path, table.listed_format, table.options)
    if snapshot is None:
        rows = session.read.format(table.file_format).options(**table.options).load(table.path)
        files_total = _files_listed(rows)
    else:
        rows = _of_version(session, snapshot)
        files_total = snapshot.files.num_rows
    toolbox = JvmToolbox(session)
    plain: list[Reading] = []
    skipping: list[Reading] = []
    reasons: tuple[str, ...] = ()
    session.conf.set(ENABLED, "true")
    for name, value in as_session_settings(settings).items() if settings is not None else ():
        session.conf.set(name, value)
    with enabled_within(session, root) as is_enabled:
        for _ in range(_RUNS):
            session.conf.set(ENABLED, "false")
            try:
                plain.append(_reading(toolbox, rows, text))
            except FAILURES as error:
                if is_of_files(error):
                    raise
                raise UnsupportedQuery(reason_of(error), reason=REASON) from error
            session.conf.set(ENABLED, "true")
            try:
                skipping.append(_reading(toolbox, rows, text))
            except FAILURES as error:
                # The query without skipping has succeeded.
                failure = failure_of(error, table.path)
                if isinstance(failure, (TransientError, SourceError)):
                    raise failure from error
                raise StarskipError(f"with skipping alone the query fails: {failure}") from error
            reasons = _reasons(session) if is_enabled else ("skipping cannot be enabled in this Spark",)
            if _answer(plain[-1]) == _answer(skipping[-1]):
                break
    if len({_answer(each) for each in plain}) > 1:
        raise TransientError(f"{table.path}: two plain queries had other answers: the table is being written")
    other = [each for each in skipping if _answer(each) != _answer(plain[0])]
    return Replay(files_total, _fastest(plain), _fastest(other or skipping), reasons)


def _of_version(session: SparkSession, snapshot: TableSnapshot) -> DataFrame:
    """Return the rows of a version of a Delta or Iceberg table, as Spark's connector reads them."""
    reader = session.read.format(snapshot.table_format)
    if snapshot.table_format == "delta":
        # Iceberg's metadata file is of one version already, with the columns of now.
        reader = reader.option("versionAsOf", str(snapshot.version))
    try:
        return reader.load(snapshot.place)
    except FAILURES as error:
        if _NO_CONNECTOR not in str(error):
            raise
        raise StarskipError(
            f"{snapshot.path}: this Spark has no connector of {snapshot.table_format.title()}, by which it "
            "reads such a table: name it in spark.conf of the configuration (docs/lake-tables.md)"
        ) from error


def _reading(toolbox: JvmToolbox, rows: DataFrame, text: str) -> Reading:
    started_s = time.perf_counter()
    row_hash = sql.xxhash64(*(_hashable(field) for field in rows.schema.fields))
    hashed = rows.where(text).select(row_hash.alias("hash"))
    # A sum of whole hashes would overflow, and a sum of doubles depends on the order.
    asked = hashed.agg(
        sql.count(sql.lit(1)).alias("rows"),
        sql.expr(f"coalesce(sum(hash & {_HALF}L), 0L)").alias("low"),
        sql.expr("coalesce(sum(shiftrightunsigned(hash, 32)), 0L)").alias("high"),
    )
    (found,) = asked.collect()
    duration_ms = (time.perf_counter() - started_s) * 1000
    scans = scans_read(toolbox, asked._jdf.queryExecution().executedPlan())
    read = [scan for of_relation in scans.values() for scan in of_relation]
    digest = (found["low"] + (found["high"] << 32)) % (1 << 64)
    return Reading(
        found["rows"],
        digest,
        sum(files for files, _ in read),
        sum(size_bytes for _, size_bytes in read),
        duration_ms,
    )


def _hashable(field: StructField) -> Any:
    column = sql.col(f"`{field.name.replace('`', '``')}`")
    return sql.to_json(column) if isinstance(field.dataType, VariantType) else column


def _files_listed(rows: DataFrame) -> int:
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    return int(leaves.apply(0).relation().location().allFiles().size())


def _reasons(session: SparkSession) -> tuple[str, ...]:
    stats = last_query_stats(session)
    return tuple(dict.fromkeys(reason for each in stats for reason in each["not_skipped_because"]))


def _answer(reading: Reading) -> tuple[int, int]:
    return reading.rows, reading.digest


def _fastest(readings: list[Reading]) -> Reading:
    return min(readings, key=lambda each: each.duration_ms)
