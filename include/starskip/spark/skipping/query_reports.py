"""Record the relations of each query, and Spark's read metrics when the query has ended."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starskip.errors import printable
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox, java_list
from starskip.spark.skipping.pruned_relation import MARK, mark
from starskip.spark.skipping.relation_facts import joined_texts
from starskip.spark.skipping.relation_report import RelationReport
from starskip.spark.skipping.spark_listing import forget_oldest

log = logging.getLogger("starskip.skipping")

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_COMMANDS = (f"{_LOGICAL}.Command", f"{_LOGICAL}.CommandResult")
"""Plans that are no queries, such as SET."""
_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_SCAN_V2 = "org.apache.spark.sql.execution.datasources.v2.BatchScanExec"
_ICEBERG = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
_STREAMING = "stream execution thread"
_SERVING = ("serve", _STREAMING)
"""Prefixes of the names of JVM threads that serve toPandas, toArrow, or the start of a stream."""
_QUERIES_KEPT = 1000
_THREADS_KEPT = 1000
_FILES_KEPT = 200_000_000
"""Files in the listings of all kept queries; a query keeps a byte for each file."""


@dataclass(slots=True)
class _Query:
    """A query; ``scans``: files and bytes read by each scan, by the key of its relation, if it has ended."""

    thread: int
    reports: list[RelationReport]
    scans: dict[tuple[str, str], list[tuple[int, int]]]

    @property
    def marks(self) -> set[str]:
        """The marks of the relations that were pruned."""
        return {report.mark for report in self.reports if report.mark is not None}

    @property
    def files(self) -> int:
        """The number of files in the listings that it references."""
        return sum(report.listing.files for report in self.reports if report.listing is not None)


class QueryReports:
    """The queries of one SparkContext, identified by their planning tracker."""

    def __init__(self, toolbox: JvmToolbox) -> None:
        """Start without queries; ``enabled``: whether queries are kept that skip() did not make.

        ``ended`` is called with the logical plan of each query and command that has ended, successful or not.
        """
        self.enabled = False
        self.ended: Callable[[Any], None] | None = None
        self._toolbox = toolbox
        self._lock = threading.Lock()
        self._callers: set[int] = set()
        # Not Spark's local properties, which go into its event logs, and from one Python thread to another.
        self._caller = toolbox.jvm.java.lang.InheritableThreadLocal()
        self._numbers = toolbox.jvm.com.google.common.collect.MapMaker().weakKeys().makeMap()
        self._queries: OrderedDict[int, _Query] = OrderedDict()
        self._finished: OrderedDict[int, _Query] = OrderedDict()
        self._skipped: OrderedDict[int, _Query] = OrderedDict()
        self._sessions: set[str] = set()
        self._next = 0
        # Spark drains its event queue when the JVM exits, and Python may have exited before.
        self._listener = new_java(toolbox.gateway, "ListenerUntilExit")
        self._listener.handOnTo(_Listener(self))

    def planned(self, plan: Any, reports: list[RelationReport]) -> None:
        """Add the reports of a plan, or of a subquery, to the query that this thread is planning."""
        if not reports and any(self._toolbox.is_of(each, plan) for each in _COMMANDS):
            return
        tracker = self._toolbox.jvm.org.apache.spark.sql.catalyst.QueryPlanningTracker.get()
        if not tracker.isDefined():
            return
        self._listen()
        number, thread = self._numbers.get(tracker.get()), self.calling_thread()
        with self._lock:
            query = self._queries.get(number) if number is not None else None
            if query is None:
                query = self._kept(tracker.get(), _Query(thread, [], {}))
            query.reports.extend(reports)
            if self._current_thread_name().startswith(_STREAMING):
                # Spark reports the end of streaming batches to no listener.
                self._keep_finished(query)

    def skipped(self, execution: Any, reports: list[RelationReport]) -> None:
        """Make a query that skip() pruned the last one of this thread, before it has run, too."""
        self._listen()
        number, thread = self._numbers.get(execution.tracker()), self.calling_thread()
        with self._lock:
            planned = self._queries.get(number) if number is not None else None
            # The rule ran first: skip() ignores relations that it pruned.
            before = [] if planned is None else [each for each in planned.reports if each.mark is not None]
            query = _Query(thread, before + reports, {})
            self._next += 1
            self._skipped[self._next] = query
            forget_oldest(self._skipped, _QUERIES_KEPT, _FILES_KEPT)
            self._keep_finished(query)

    def finished(self, execution: Any) -> None:
        """Record the metrics of a query that ended, as the last one of the thread that planned it."""
        number = self._numbers.get(execution.tracker())
        with self._lock:
            query = self._queries.get(number) if number is not None else None
            if query is None and not self._skipped:
                return
        # A plan that runs again reads the same files, and Spark does not count them again.
        before = {} if query is None else query.scans
        scans = before or scans_read(self._toolbox, execution.executedPlan())
        with self._lock:
            read = self._read(query if self.enabled else None, scans)
            if query is not None:
                query.scans = scans
            elif read is not None:
                self._kept(execution.tracker(), read)
            if read is not None:
                self._keep_finished(read)
            forget_oldest(self._queries, _QUERIES_KEPT, _FILES_KEPT)

    def forget(self) -> None:
        """Forget the last query of every thread."""
        with self._lock:
            self._finished.clear()

    def close(self) -> None:
        """Stop listening, since Python is about to exit."""
        self._listener.handOnTo(None)

    def last_of_thread(self) -> list[dict[str, Any]]:
        """Return one dict for each relation of the last query of the calling thread that ended."""
        thread = self.calling_thread()
        with self._lock:
            query = self._finished.get(thread)
        return [] if query is None else _stats(query)

    def of_planned(self, execution: Any) -> list[dict[str, Any]]:
        """Return the same for a query that was planned and has not run, with the planned scans."""
        scans = scans_read(self._toolbox, execution.executedPlan(), planned_only=True)
        number = self._numbers.get(execution.tracker())
        with self._lock:
            query = self._read(self._queries.get(number) if number is not None else None, scans)
        return [] if query is None else _stats(query)

    def calling_thread(self) -> int:
        """Return the id of the JVM thread of the caller, also in threads that serve it."""
        # Each Python thread has a JVM thread of its own; callbacks run in other Python threads.
        number = int(self._toolbox.jvm.java.lang.Thread.currentThread().getId())
        with self._lock:
            if number in self._callers:
                return number
        if self._current_thread_name().startswith(_SERVING):
            caller = self._caller.get()
            return number if caller is None else int(caller)
        self._caller.set(number)
        with self._lock:
            if len(self._callers) >= _THREADS_KEPT:
                self._callers.clear()
            self._callers.add(number)
        return number

    def _current_thread_name(self) -> str:
        return str(self._toolbox.jvm.java.lang.Thread.currentThread().getName())

    def _read(
        self, query: _Query | None, scans: dict[tuple[str, str], list[tuple[int, int]]]
    ) -> _Query | None:
        """Return the query with its scans; scans with the mark of a skip() get its reports."""
        marks = {mark for mark, _ in scans}
        made = [each for each in self._skipped.values() if marks & each.marks]
        if query is None and not made:
            return None
        thread, reports = (made[-1].thread, []) if query is None else (query.thread, list(query.reports))
        decided = {report.key: report for each in made for report in each.reports}
        for key, found in scans.items():
            if key in decided:
                reports += [decided[key]] * (len(found) - sum(report.key == key for report in reports))
        return _Query(thread, reports, scans)

    def _kept(self, tracker: Any, query: _Query) -> _Query:
        self._next += 1
        self._queries[self._next] = query
        self._numbers.put(tracker, self._next)
        if len(self._queries) > _QUERIES_KEPT:
            self._queries.popitem(last=False)
        return query

    def _keep_finished(self, query: _Query) -> None:
        self._finished[query.thread] = query
        self._finished.move_to_end(query.thread)
        forget_oldest(self._finished, _THREADS_KEPT, _FILES_KEPT)

    def _listen(self) -> None:
        session = self._toolbox.jvm.org.apache.spark.sql.classic.SparkSession.active()
        identity = str(session.sessionUUID())
        with self._lock:
            new = identity not in self._sessions
            self._sessions.add(identity)
        if new:
            session.listenerManager().register(self._listener)


def scans_read(
    toolbox: JvmToolbox, plan: Any, *, planned_only: bool = False
) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Return files and bytes read by each scan of a physical plan, by the key of its relation.

    With ``planned_only``: what a plan that has not run would read.
    """
    jvm = toolbox.jvm
    predef = jvm.java.lang.Class.forName("scala.Predef$").getField("MODULE$").get(None)
    # Predef.$conforms is the identity function, so this collects all nodes.
    every = jvm.scala.PartialFunction.fromFunction(getattr(predef, "$conforms")())
    nodes = jvm.org.apache.spark.sql.execution.ExplainUtils.collectWithSubqueries(plan, every)
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for scan in toolbox.instances(nodes, _SCAN):
        relation = scan.relation()
        marked = mark(relation)
        roots = joined_texts(relation.location().rootPaths(), "\n") if marked is None else ""
        if planned_only:
            listed = scan.selectedPartitions()
            read = int(listed.totalNumberOfFiles()), int(listed.totalFileSize())
        else:
            metrics = scan.metrics()
            read = int(metrics.apply("numFiles").value()), int(metrics.apply("filesSize").value())
        found.setdefault((marked or "", roots), []).append(read)
    for scan in toolbox.instances(nodes, _SCAN_V2):
        if str(scan.scan().getClass().getName()) == _ICEBERG:
            key, read = _read_of_iceberg(toolbox, scan.scan())
            found.setdefault(key, []).append(read)
    return found


def _read_of_iceberg(toolbox: JvmToolbox, scan: Any) -> tuple[tuple[str, str], tuple[int, int]]:
    """Return the key of a scan, and files and bytes of its tasks; Iceberg's metrics count its own choice."""
    marked, root, files, size = java_list(new_java(toolbox.gateway, "IcebergFiles", scan).read(MARK))
    return (marked, "" if marked else root), (int(files), int(size))


def _stats(query: _Query) -> list[dict[str, Any]]:
    left = {key: list(found) for key, found in query.scans.items()}
    made = []
    for report in query.reports:
        of_relation = left.get(report.key, [])
        # A reused scan runs once.
        read = of_relation.pop(0) if len(of_relation) > 1 else next(iter(of_relation), (None, None))
        made.append(report.as_stats(*read))
    return made


class _Listener:
    """Spark's QueryExecutionListener, called by the thread of its listeners."""

    def __init__(self, reports: QueryReports) -> None:
        self._reports = reports

    def onSuccess(self, _name: str, execution: Any, _duration_ns: int) -> None:  # noqa: N802 - Spark's name
        try:
            self._reports.finished(execution)
        except Exception as error:
            log.warning("no statistics of a query: %s", printable(str(error), 300))
        self._ended(execution)

    def onFailure(self, _name: str, execution: Any, _error: Any) -> None:  # noqa: N802 - Spark's name
        self._ended(execution)

    def _ended(self, execution: Any) -> None:
        if self._reports.ended is None:
            return
        try:
            # A query that Spark could not analyze has changed no table, and has no plan to look at.
            if execution.tracker().phases().contains("analysis"):
                self._reports.ended(execution.analyzed())
        except Exception as error:
            log.warning("the state of a table's indexes is not known: %s", printable(str(error), 300))

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)
