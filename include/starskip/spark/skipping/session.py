"""Enable and disable skipping in a Spark session, and return the statistics of queries."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from starskip.errors import ConfigError, printable
from starskip.secondary.lifecycle import ARTEFACT as SECONDARY_ARTEFACT
from starskip.secondary.secondary_index import secondary_index
from starskip.skipping.registry import load_modules
from starskip.spark.skipping.failures import error_summary
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.on_spark_connect import classic_only
from starskip.spark.skipping.overwritten_tables import OverwrittenTables
from starskip.spark.skipping.query_reports import QueryReports
from starskip.spark.skipping.relation_facts import relations_of
from starskip.spark.skipping.relation_report import RelationReport, other_report
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.self_test import check_rule, check_skip
from starskip.spark.skipping.skipping_rule import SkippingRule
from starskip.spark.skipping.table_finder import TableFinder
from starskip.storage.encryption.keyring import Keyring, KeySource

log = logging.getLogger("starskip.skipping")

MODULES = "spark.starskip.skipping.modules"
_RULE = "org.apache.spark.sql.catalyst.rules.Rule"
_LISTENERS_MS = 10_000
_SESSIONS_KEPT = 1000


class _Skipping:
    """The state of one SparkContext; made once, since Spark cannot unregister a rule."""

    def __init__(self, spark: SparkSession) -> None:
        self.toolbox = JvmToolbox(spark)
        self.tables = TableFinder(time.monotonic)
        secondary = TableFinder(time.monotonic, SECONDARY_ARTEFACT, secondary_index)
        self.enabled = False
        self.reports = QueryReports(self.toolbox)
        self.overwritten = OverwrittenTables(self.toolbox, self.tables)
        self.reports.ended = self.overwritten.ended
        self._warnings = RuleWarnings()
        self.rule = SkippingRule(self.toolbox, (self.tables, secondary), self._warnings)
        self.registered = False
        self.tested: set[str] = set()
        """Sessions, by UUID, whose planning was tested to skip files."""
        self.keys: Mapping[str, KeySource] = {}
        self.switch(enabled=False)

    def switch(self, *, enabled: bool) -> None:
        """Turn the rule on or off; turning it off forgets the statistics."""
        self.enabled = self.reports.enabled = enabled
        if not enabled:
            self.reports.forget()

    def register(self, spark: SparkSession) -> None:
        """Make Spark apply the rule once to each planned query, in this session and new ones."""
        if not self.registered:
            made = self.toolbox.subclass_instance(_RULE, "apply", self.apply)
            extensions = spark._jsparkSession.extensions()
            extensions.injectPreCBORule(self.toolbox.constant_function(made))
            self.registered = True

    def apply(self, plan: Any) -> Any:
        """Return the plan that Spark goes on with: the plan itself if anything fails, or while disabled."""
        if not self.enabled:
            return plan
        try:
            return self.pruned(plan, partial(self.reports.planned, plan))
        except Exception as error:
            self._warnings.read_whole(error, "a query")
            return plan

    def pruned(self, plan: Any, report: Callable[[list[RelationReport]], None]) -> Any:
        """Return the plan with pruned scans, even while disabled; ``report`` as the rule has it."""
        relations = relations_of(plan)
        if relations.emptied is not None:
            self.overwritten.planned(relations.emptied, self.rule.metadata_root)
        return self.rule.pruned(plan, relations, report)


_lock = threading.RLock()
_of_contexts: WeakKeyDictionary[SparkContext, _Skipping] = WeakKeyDictionary()


@atexit.register
def _stop_callbacks() -> None:
    """Stop callbacks from the JVM, which runs on for a while unless ``stop`` was called."""
    for skipping in list(_of_contexts.values()):
        with suppress(Exception):  # for example because the JVM has ended
            skipping.reports.close()
        with suppress(Exception):
            skipping.overwritten.keep_all()


@classic_only
def enable(
    spark: SparkSession,
    metadata_root: str | None = None,
    modules: Iterable[str] = (),
    keys: Mapping[str, KeySource] = MappingProxyType({}),
) -> None:
    """Skip irrelevant files in all queries of this session and of the other sessions of its application.

    ``metadata_root``: the location of all tables' metadata, if not beside their files (also the setting
    ``starskip.metadata.root``). ``modules``: Python modules with index types and functions of users (also
    ``spark.starskip.skipping.modules``, with commas). ``keys``: files with keys of encrypted metadata, by
    name (also the folder ``STARSKIP_KEYS_DIR``); indexes without their key are not used. If a module cannot
    be imported, a warning gives the reason, and the others are used. If this Spark is not supported, a
    warning gives the reason, and queries read all files.
    """
    listed = str(spark.conf.get(MODULES, "") or "").split(",")
    for name in (*modules, *(each.strip() for each in listed if each.strip())):
        try:
            load_modules([name])
        except ConfigError as error:
            log.warning("%s; its index types are not used", error)
    with _lock:
        try:
            skipping = _of(spark)
            skipping.tables.forget()
            skipping.keys = _usable(keys)
            skipping.tables.keyring = Keyring.from_environment(os.environ, skipping.keys)
            skipping.rule.metadata_root = metadata_root
            skipping.register(spark)
            skipping.switch(enabled=True)
            skipping.reports.calling_thread()
            _check_once(skipping, spark)
        except Exception as error:
            _give_up(spark, error)


@classic_only
def disable(spark: SparkSession) -> None:
    """Read all files in queries again, and forget the statistics."""
    with _lock:
        skipping = _of_contexts.get(spark.sparkContext)
        if skipping is not None:
            skipping.switch(enabled=False)


@contextmanager
def enabled_within(spark: SparkSession, metadata_root: str | None) -> Iterator[bool]:
    """Enable skipping within the context only; yields whether it is enabled."""
    found = _of_contexts.get(spark.sparkContext)
    before = (False, None) if found is None else (found.enabled, found.rule.metadata_root)
    keys = {} if found is None else found.keys
    enable(spark, metadata_root, keys=keys)
    try:
        yield is_enabled(spark)
    finally:
        with _lock:
            found = _of_contexts.get(spark.sparkContext)
            if found is not None:
                found.switch(enabled=before[0])
                found.rule.metadata_root = before[1]


@contextmanager
def judging(
    spark: SparkSession, metadata_root: str, keys: Mapping[str, KeySource]
) -> Iterator[Callable[[DataFrame], list[RelationReport]]]:
    """Yield a function that plans a DataFrame, and returns what metadata below a root says of its files.

    Within the context no query skips a file.
    """
    with _lock:
        skipping = _of(spark)
    before = skipping.enabled, skipping.rule.metadata_root, skipping.tables.keyring
    level = log.level
    # What a warning says of an index type stands in the reports, too.
    log.setLevel(logging.ERROR)
    skipping.switch(enabled=False)
    skipping.rule.metadata_root = metadata_root
    skipping.tables.keyring = Keyring.from_environment(os.environ, keys)

    def judged(dataframe: DataFrame) -> list[RelationReport]:
        reports: list[RelationReport] = []
        with _active(skipping, dataframe.sparkSession):
            skipping.pruned(dataframe._jdf.queryExecution().optimizedPlan(), reports.extend)
        return reports

    try:
        yield judged
    finally:
        log.setLevel(level)
        enabled, skipping.rule.metadata_root, skipping.tables.keyring = before
        skipping.switch(enabled=enabled)
        skipping.tables.forget()


@classic_only
def is_enabled(spark: SparkSession) -> bool:
    """Return whether queries skip files."""
    skipping = _of_contexts.get(spark.sparkContext)
    return skipping is not None and skipping.enabled


@classic_only
def skip(dataframe: DataFrame) -> DataFrame:
    """Return a DataFrame of the same rows that reads only files that may hold them, without ``enable``.

    It plans the query twice, unlike the rule. If it fails, a warning gives the reason, and ``dataframe`` is
    returned. ``last_query_stats`` covers the returned DataFrame, and queries on it.
    """
    spark = dataframe.sparkSession
    try:
        with _lock:
            skipping = _of(spark)
        with _active(skipping, spark):
            chosen, reports = _pruned(skipping, dataframe)
    except Exception as error:
        log.warning("not skipping, because %s", error_summary(error))
        return dataframe
    try:
        with _active(skipping, spark):
            skipping.reports.skipped(dataframe._jdf.queryExecution(), reports)
    except Exception as error:
        log.warning("no statistics of a query: %s", error_summary(error))
    return chosen


@classic_only
def last_query_stats(spark: SparkSession) -> list[dict[str, Any]]:
    """Return the statistics of each relation of the last query that ended in the calling thread.

    While skipping is not enabled, that is the last query made by ``skip``. JVM threads serve ``toPandas`` and
    ``toArrow``; they are assigned to the calling thread once that has planned another query, or has called
    this function.

    ``path``, ``files_total``, ``files_read``, ``bytes_total``, ``bytes_read``, ``rows_skipped`` (None if the
    metadata lacks it), ``skipped_by`` (files that each used index alone would skip), ``not_skipped_because``,
    ``metadata_ms``. Files and bytes read are Spark's own metrics.
    """
    skipping = _of_contexts.get(spark.sparkContext)
    if skipping is None:
        return []
    try:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_LISTENERS_MS)
    except Exception as error:  # others keep the listeners busy
        log.warning("Spark's listeners are behind: %s", error_summary(error))
    return skipping.reports.last_of_thread()


@classic_only
def explain(query: DataFrame | str, spark: SparkSession | None = None) -> list[dict[str, Any]]:
    """Return the dicts of ``last_query_stats`` for a query that is only planned.

    Raises ConfigError if skipping is not enabled, or for a SQL text without ``spark``.
    """
    if isinstance(query, str):
        if spark is None:
            raise ConfigError("explain of a text takes the session, too", setting="spark")
        query = spark.sql(query)
    session = query.sparkSession
    skipping = _of_contexts.get(session.sparkContext)
    if skipping is None or not skipping.enabled:
        raise ConfigError("skipping is not enabled: call enable(spark) first", setting="spark")
    if query.isStreaming:
        # Spark does not plan a stream that has not started.
        analyzed = query._jdf.queryExecution().analyzed()
        return [other_report(each).as_stats(None, None) for each in relations_of(analyzed).others]
    datasets = skipping.toolbox.jvm.org.apache.spark.sql.classic.Dataset
    logical = query._jdf.queryExecution().logical()
    return skipping.reports.of_planned(datasets.ofRows(session._jsparkSession, logical).queryExecution())


def keyring_of(spark: SparkSession, keys: Mapping[str, KeySource]) -> Keyring:
    """Return the given keys, the keys given to ``enable``, and the environment's keys.

    Raises ConfigError for a key that cannot be read.
    """
    skipping = _of_contexts.get(spark.sparkContext)
    return Keyring.from_environment(os.environ, {**(skipping.keys if skipping else {}), **keys})


def _usable(keys: Mapping[str, KeySource]) -> Mapping[str, KeySource]:
    found = {}
    for name, source in keys.items():
        try:
            Keyring.from_environment(os.environ, {name: source})
            found[name] = source
        except ConfigError as error:
            log.warning("%s; metadata encrypted by the key %s is not used", error, printable(name))
    return found


def keep_overwritten(spark: SparkSession) -> None:
    """Restore the lists of indexes of tables that were overwritten in this process."""
    skipping = _of_contexts.get(spark.sparkContext)
    if skipping is not None:
        skipping.overwritten.keep_all()


def _check_once(skipping: _Skipping, spark: SparkSession) -> None:
    """Raise RuntimeError unless this session's planning skips files; it is tested until it does."""
    session = str(spark._jsparkSession.sessionUUID())
    if session not in skipping.tested:
        check_rule(spark, skipping.tables)
        if len(skipping.tested) >= _SESSIONS_KEPT:
            skipping.tested.clear()
        skipping.tested.add(session)


def _of(spark: SparkSession) -> _Skipping:
    found = _of_contexts.get(spark.sparkContext)
    if found is None:
        found = _of_contexts[spark.sparkContext] = _Skipping(spark)
    return found


def _pruned(skipping: _Skipping, dataframe: DataFrame) -> tuple[DataFrame, list[RelationReport]]:
    spark = dataframe.sparkSession
    plan = dataframe._jdf.queryExecution().optimizedPlan()
    reports: list[RelationReport] = []
    plan = skipping.pruned(plan, reports.extend)
    datasets = skipping.toolbox.jvm.org.apache.spark.sql.classic.Dataset
    return DataFrame(datasets.ofRows(spark._jsparkSession, plan), spark), reports


@contextmanager
def _active(skipping: _Skipping, spark: SparkSession) -> Iterator[None]:
    """Make this session the active one, as Spark does while it plans a query."""
    sessions = skipping.toolbox.jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _give_up(spark: SparkSession, error: Exception) -> None:
    """Turn the rule off, and warn whether skip() still works."""
    found = _of_contexts.get(spark.sparkContext)
    if found is not None:
        found.switch(enabled=False)
    try:
        skipping = _of(spark)
        with _active(skipping, spark):
            check_skip(spark, skipping.tables, lambda dataframe: _pruned(skipping, dataframe)[0])
    except Exception:
        log.warning("not skipping, because %s", error_summary(error))
    else:
        log.warning(
            "queries skip no files by themselves, because %s; skip(dataframe) does", error_summary(error)
        )
