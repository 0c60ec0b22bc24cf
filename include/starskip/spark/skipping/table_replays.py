"""Run queries of a table with skipping and without, and compare rows and cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructField, VariantType

from starskip.errors import SourceError, StarskipError, TransientError, UnsupportedQuery
from starskip.file_metadata.skipping_engine import Reading, Replay
from starskip.lake.lake_table import LakeTable
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.expression import Expression
from starskip.predicates.expression_sql import REASON, expression_sql
from starskip.settings import Settings
from starskip.spark.skipping.failures import FAILURES, failure_of, is_of_files, reason_of, spark_failures
from starskip.spark.skipping.isolated_session import isolated_session
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.opened_table import lake_snapshot
from starskip.spark.skipping.query_reports import scans_read
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.secondary_settings import as_session_settings
from starskip.spark.skipping.session import enabled_within, last_query_stats

Found = TypeVar("Found")

_RUNS = 2
"""Runs of each kind, alternating; one suffices if both give the same answer."""
_HALF = 0xFFFFFFFF
_NO_CONNECTOR = "DATA_SOURCE_NOT_FOUND"


class TableReplays:
    """Queries of one table, run with skipping and without; see ``SkippingEngine.replaying``."""

    def __init__(
        self, spark: SparkSession, table: LakeTable, root: str | None, settings: Settings | None
    ) -> None:
        """Make the session for the queries; the table is opened for the first one."""
        self._session = isolated_session(spark)
        self._table, self._root = table, root
        self._toolbox = JvmToolbox(self._session)
        self._opened: tuple[DataFrame, int] | None = None
        self._is_enabled = False
        for name, value in as_session_settings(settings).items() if settings is not None else ():
            self._session.conf.set(name, value)

    @contextmanager
    def enabled(self) -> Iterator[None]:
        """Enable skipping within the context: its start and self-test cost more than a query."""
        self._session.conf.set(ENABLED, "true")
        with enabled_within(self._session, self._root) as self._is_enabled:
            yield

    def __call__(self, predicate: Expression) -> Replay:
        """Query whole rows.

        Raises TransientError if the table changed between two plain runs.
        """
        return self._of_present_files(self._replayed, predicate)

    def plain_bytes(self, predicate: Expression) -> int:
        """Return the bytes of the files that Spark plans to read: partitions and formats leave out some."""
        return self._of_present_files(self._planned_bytes, predicate)

    def _of_present_files(self, find: Callable[[Expression], Found], predicate: Expression) -> Found:
        is_kept = self._opened is not None
        try:
            return find(predicate)
        except (TransientError, SourceError):
            # Files listed for an earlier query may be gone.
            self._opened = None
            if not is_kept:
                raise
        return find(predicate)

    def _planned_bytes(self, predicate: Expression) -> int:
        text = expression_sql(predicate)
        with spark_failures(self._table.path):
            rows, _ = self._opened or self._open()
            self._session.conf.set(ENABLED, "false")
            plan = _digest_of(rows, text)._jdf.queryExecution().executedPlan()
            scans = scans_read(self._toolbox, plan, planned_only=True)
        return sum(size_bytes for of_relation in scans.values() for _, size_bytes in of_relation)

    def _replayed(self, predicate: Expression) -> Replay:
        text = expression_sql(predicate)
        path = self._table.path
        with spark_failures(path):
            rows, files_total = self._opened or self._open()
            plain: list[Reading] = []
            skipping: list[Reading] = []
            reasons: tuple[str, ...] = ()
            for _ in range(_RUNS):
                self._session.conf.set(ENABLED, "false")
                try:
                    plain.append(_reading(self._toolbox, rows, text))
                except FAILURES as error:
                    if is_of_files(error):
                        raise
                    raise UnsupportedQuery(reason_of(error), reason=REASON) from error
                self._session.conf.set(ENABLED, "true")
                try:
                    skipping.append(_reading(self._toolbox, rows, text))
                except FAILURES as error:
                    # The query without skipping has succeeded.
                    failure = failure_of(error, path)
                    if isinstance(failure, (TransientError, SourceError)):
                        raise failure from error
                    raise StarskipError(f"with skipping alone the query fails: {failure}") from error
                reasons = self._reasons()
                if _answer(plain[-1]) == _answer(skipping[-1]):
                    break
        if len({_answer(each) for each in plain}) > 1:
            raise TransientError(f"{path}: two plain queries had other answers: the table is being written")
        other = [each for each in skipping if _answer(each) != _answer(plain[0])]
        read_bytes = sum(each.size_bytes for each in (*plain, *skipping))
        return Replay(files_total, _fastest(plain), _fastest(other or skipping), reasons, read_bytes)

    def _open(self) -> tuple[DataFrame, int]:
        """Return the table's rows and the number of its files, and keep them for the next query."""
        table, session = self._table, self._session
        snapshot = lake_snapshot(session, table.path, table.listed_format, table.options)
        if snapshot is None:
            rows = session.read.format(table.file_format).options(**table.options).load(table.path)
            self._opened = rows, _files_listed(rows)
        else:
            self._opened = _of_version(session, snapshot), snapshot.files.num_rows
        return self._opened

    def _reasons(self) -> tuple[str, ...]:
        if not self._is_enabled:
            return ("skipping cannot be enabled in this Spark",)
        stats = last_query_stats(self._session)
        return tuple(dict.fromkeys(reason for each in stats for reason in each["not_skipped_because"]))


def _of_version(session: SparkSession, snapshot: TableSnapshot) -> DataFrame:
    """Return the rows of a version of a Delta or Iceberg table, as Spark's connector reads them."""
    reader = session.read.format(snapshot.table_format)
    if snapshot.table_format == "delta":
        # Iceberg's metadata file already means one version, with the present columns.
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


def _digest_of(rows: DataFrame, text: str) -> DataFrame:
    """Return the query of whole rows: their number, and a digest in two halves."""
    row_hash = sql.xxhash64(*(_hashable(field) for field in rows.schema.fields))
    hashed = rows.where(text).select(row_hash.alias("hash"))
    # A sum of whole hashes would overflow, and a sum of doubles depends on the order.
    return hashed.agg(
        sql.count(sql.lit(1)).alias("rows"),
        sql.expr(f"coalesce(sum(hash & {_HALF}L), 0L)").alias("low"),
        sql.expr("coalesce(sum(shiftrightunsigned(hash, 32)), 0L)").alias("high"),
    )


def _reading(toolbox: JvmToolbox, rows: DataFrame, text: str) -> Reading:
    started_s = time.perf_counter()
    asked = _digest_of(rows, text)
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


def _answer(reading: Reading) -> tuple[int, int]:
    return reading.rows, reading.digest


def _fastest(readings: list[Reading]) -> Reading:
    return min(readings, key=lambda each: each.duration_ms)
