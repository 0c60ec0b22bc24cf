"""The rule of Spark's optimizer that removes files without matching rows from the relations of a plan."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from starskip.errors import StarskipError, printable
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.spark.skipping.find_indexes import Scan, find_indexes
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.lake_scan import LakeScans, is_lake_scan
from starskip.spark.skipping.leaf_predicates import Predicates, leaf_predicates
from starskip.spark.skipping.plain_scan import PlainScan
from starskip.spark.skipping.plan_tree import Node, plan_tree
from starskip.spark.skipping.prune_scan import prune_scan
from starskip.spark.skipping.relation_facts import FileRelation, metadata_root, plan_document, relations_of
from starskip.spark.skipping.relation_report import RelationReport, other_report
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.spark_listing import SparkListings
from starskip.spark.skipping.table_finder import TableFinder, metadata_changed

log = logging.getLogger("starskip.skipping")

_CREATED_BY = "starskip skipping, of a table that was overwritten"


class OverwrittenTables:
    """The overwritten tables of one SparkContext; called by planning threads and by Spark's listeners.

    INSERT OVERWRITE, ``df.write.mode("overwrite")`` and TRUNCATE TABLE remove the whole folder. The metadata
    of the removed files is obsolete, but the list of indexes is not. It is written again when the query has
    ended, so that a refresh creates the indexes for the new files.
    """

    def __init__(self, tables: TableFinder) -> None:
        """Start with no table."""
        self._tables = tables
        self._pending: dict[str, list[TableMetadata]] = {}
        self._lock = threading.Lock()

    @property
    def has_pending(self) -> bool:
        """Return whether a query that removes a folder was planned, and has not ended yet."""
        return bool(self._pending)

    def planned(self, folder: str, metadata_root: str | None) -> None:
        """Record the indexes of a folder that a query is about to remove; raises as ``find`` does."""
        found = [table for table in self._tables.find([folder], metadata_root) if table.state.indexes]
        if found:
            with self._lock:
                self._pending[folder] = found

    def ended(self, folder: str) -> None:
        """Write the list of indexes of a folder again, if its metadata is gone."""
        with self._lock:
            for table in self._pending.pop(folder, []):
                _keep(table)

    def keep_all(self) -> None:
        """Do what ``ended`` does for all folders, whose queries may not have been reported."""
        with self._lock:
            for table in (each for tables in self._pending.values() for each in tables):
                _keep(table)


_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_COMMANDS = (f"{_LOGICAL}.Command", f"{_LOGICAL}.CommandResult")
"""Plans that are no queries, such as SET."""


class SkippingRule:
    """The rule of one SparkContext; all threads that plan queries call ``apply``."""

    def __init__(
        self,
        toolbox: JvmToolbox,
        tables: TableFinder,
        secondary: TableFinder,
        planned: Callable[[list[RelationReport]], None],
    ) -> None:
        """Start enabled; ``planned`` is called with the reports of each plan that has relations of files."""
        self.enabled = True
        self.metadata_root: str | None = None
        self.overwritten = OverwrittenTables(tables)
        self._toolbox = toolbox
        self._finders = tables, secondary
        self._planned = planned
        self._warnings = RuleWarnings()
        self._listings = SparkListings(toolbox)
        self._scans = LakeScans(toolbox, self._warnings)

    def apply(self, plan: Any) -> Any:
        """Return the plan with pruned relations; the plan itself if anything fails."""
        if not self.enabled:
            return plan
        try:
            return self._applied(plan)
        except Exception as error:
            self._warnings.read_whole(error, "a query")
            return plan

    def pruned(self, plan: Any) -> Any:
        """Return the plan with pruned relations even if the rule is not enabled; errors propagate."""
        return self._applied(plan)

    def _applied(self, plan: Any) -> Any:
        relations = relations_of(plan)
        if relations.emptied is not None:
            self.overwritten.planned(relations.emptied, self.metadata_root or metadata_root(self._settings()))
        planned = self._scans.planned(plan, relations, self._finders, self.metadata_root)
        if planned is not plan:
            plan, relations = planned, relations_of(planned)
        leaves: Any = plan.collectLeaves() if relations.of_files else ()
        found = [self._opened(each, leaves.apply(each.at)) for each in relations.of_files]
        if found or relations.others or not any(self._toolbox.is_of(each, plan) for each in _COMMANDS):
            self._planned([each.report for each in found] + list(map(other_report, relations.others)))
        indexed = list(filter(self._has_indexes, found))
        if not indexed:
            return plan
        predicates = leaf_predicates(plan_tree(plan_document(plan)))
        if len(predicates) != relations.leaves:
            raise RuntimeError(f"the plan has {relations.leaves} leaves, its JSON {len(predicates)}")
        return self._replaced(plan, indexed, predicates)

    def _opened(self, facts: FileRelation, leaf: Any) -> Scan:
        if is_lake_scan(facts):
            return self._scans.open(facts, leaf)
        return PlainScan(facts, leaf, self._toolbox, self._listings)

    def _has_indexes(self, scan: Scan) -> bool:
        return find_indexes(scan, self._finders, self.metadata_root, self._warnings)

    def _settings(self) -> Any:
        return self._toolbox.jvm.org.apache.spark.sql.classic.SparkSession.active().conf()

    def _replaced(
        self,
        plan: Any,
        indexed: Sequence[Scan],
        predicates: Sequence[tuple[Node, Predicates]],
    ) -> Any:
        places = Counter(each.facts.first for each in indexed)
        replacements: list[tuple[Any, Any]] = []
        for each in indexed:
            reasons = each.report.not_skipped_because
            if places[each.facts.first] > 1:
                # One JVM object in two places of the plan, which may be under two filters.
                reasons.append("the same DataFrame is in the query twice")
                continue
            try:
                leaf, reached = predicates[each.facts.at]
                made = prune_scan(each, leaf, reached, plan, self._warnings)
            except Exception as error:
                reasons.append(self._warnings.read_whole(error, each.report.path))
                continue
            if made is not None:
                replacements.append((each.logical, made))
        if not replacements:
            return plan
        # A Java map is a partial function of Scala: Spark looks nodes up in it, and calls nothing back.
        by_identity = self._toolbox.jvm.java.util.IdentityHashMap()
        for logical, made in replacements:
            by_identity.put(logical, made)
        return plan.transformDown(self._toolbox.java_to_scala(by_identity))


def _keep(table: TableMetadata) -> None:
    path, names = printable(table.source.path), ", ".join(table.state.indexes)
    try:
        chain = metadata_chain(table.storage)
        if chain.listed():
            return
        parts = replace(table.state, segments={}).to_parts()
        chain.commit(
            lambda found: found or parts,
            commit_id=uuid4().hex,
            created_at=datetime.now(UTC),
            created_by=_CREATED_BY,
        )
    except StarskipError as error:
        log.warning(
            "%s was overwritten, and its indexes %s with it: create them anew (%s)", path, names, error
        )
        return
    metadata_changed()
    log.warning(
        "%s was overwritten, and the metadata of its indexes %s with it: files are left out again after "
        "skipping.refresh, or starskip skipping refresh",
        path,
        names,
    )
