"""The optimizer's rule: of each relation whose table has metadata, leave out the files that cannot match."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from starskip.errors import printable
from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.column_name import column_name
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.failing_indexes import Failures
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.compatible_indexes import CompatibleIndexes, compatible_indexes
from starskip.spark.skipping.failures import error_summary
from starskip.spark.skipping.fingerprint_comparison import (
    dependent_rows,
    partitions_differ,
    unsure_partitions,
)
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity, leaf_predicates
from starskip.spark.skipping.overwritten_tables import OverwrittenTables
from starskip.spark.skipping.plan_tree import Node, plan_tree
from starskip.spark.skipping.pruned_relation import pruned_relation
from starskip.spark.skipping.read_expression import ExpressionReader
from starskip.spark.skipping.read_signature import read_signature
from starskip.spark.skipping.relation_facts import (
    ENABLED,
    FileRelation,
    folders_name_partitions,
    metadata_root,
    plan_document,
    relations_of,
)
from starskip.spark.skipping.relation_report import RelationReport, TableReport, other_report
from starskip.spark.skipping.spark_listing import SparkListings, may_hold
from starskip.spark.skipping.table_finder import TableFinder
from starskip.spark.skipping.why_not_skipped import why_not_skipped

log = logging.getLogger("starskip.skipping")

_INDEX = f"{DATASOURCES}.InMemoryFileIndex"
_CATALOG_INDEX = f"{DATASOURCES}.CatalogFileIndex"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_COMMANDS = (f"{_LOGICAL}.Command", f"{_LOGICAL}.CommandResult")
"""What is no query, such as SET."""


@dataclass(slots=True)
class _Leaf:
    """A relation of files; ``unknown``: columns of which the metadata may not say what the paths do."""

    facts: FileRelation
    logical: Any
    relation: Any
    report: RelationReport
    tables: list[tuple[TableMetadata, CompatibleIndexes]]
    unknown: frozenset[str] = frozenset()

    def partition_columns(self) -> frozenset[str]:
        """Return the columns that stand in paths."""
        return frozenset(self.relation.partitionSchema().fieldNames())

    def partitions_are_indexed(self) -> bool:
        """Tell whether there is metadata of one of them."""
        named = {column_name((name,)).lower() for name in self.partition_columns()}
        indexes = (index for _, trusted in self.tables for index in trusted.indexes)
        return any(name.lower() in named for index in indexes for name in index.columns)


class SkippingRule:
    """Of one SparkContext; ``apply`` is called by all threads that plan queries."""

    def __init__(
        self,
        toolbox: JvmToolbox,
        tables: TableFinder,
        planned: Callable[[list[RelationReport]], None],
    ) -> None:
        """``planned`` is told of each plan with relations of files; ``enabled`` turns all off and on."""
        self.enabled = True
        self.metadata_root: str | None = None
        self._toolbox = toolbox
        self._tables = tables
        self._planned = planned
        self.overwritten = OverwrittenTables(tables)
        self._listings = SparkListings(toolbox)
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def apply(self, plan: Any) -> Any:
        """Return the plan with pruned relations; the plan itself whenever anything fails."""
        if not self.enabled:
            return plan
        try:
            return self._applied(plan)
        except Exception as error:
            self._warn(error, "a query")
            return plan

    def pruned(self, plan: Any) -> Any:
        """Return the plan with pruned relations, whether the rule is enabled or not; raises what fails."""
        return self._applied(plan)

    def _applied(self, plan: Any) -> Any:
        relations = relations_of(plan)
        if relations.emptied is not None:
            self.overwritten.planned(relations.emptied, self.metadata_root or metadata_root(self._settings()))
        leaves: Any = plan.collectLeaves() if relations.of_files else ()
        found = [_leaf(each, leaves.apply(each.at)) for each in relations.of_files]
        if found or relations.others or not any(self._toolbox.is_of(each, plan) for each in _COMMANDS):
            self._planned([leaf.report for leaf in found] + list(map(other_report, relations.others)))
        known = [leaf for leaf in found if self._find_tables(leaf)]
        if not known:
            return plan
        predicates = leaf_predicates(plan_tree(plan_document(plan)))
        if len(predicates) != relations.leaves:
            raise RuntimeError(f"the plan has {relations.leaves} leaves, its JSON {len(predicates)}")
        return self._replaced(plan, known, predicates)

    def _settings(self) -> Any:
        return self._toolbox.jvm.org.apache.spark.sql.classic.SparkSession.active().conf()

    def _find_tables(self, leaf: _Leaf) -> bool:
        """Find tables whose metadata was collected of files read as they are about to be; else say why."""
        report = leaf.report
        try:
            facts = leaf.facts
            if facts.kind not in (_INDEX, _CATALOG_INDEX):
                lister = facts.kind.rpartition(".")[2]
                report.not_skipped_because.append(
                    f"its files are listed by {lister}, which is not Spark's own listing of a folder"
                )
                return False
            if not facts.is_enabled:
                report.not_skipped_because.append(f"{ENABLED} is false")
                return False
            found = self._tables.find(facts.folders, self.metadata_root or facts.metadata_root)
            if not found:
                report.not_skipped_because.append(f"there is no metadata for {report.path}: create an index")
                return False
            for table in found:
                report.not_skipped_because += [
                    self._warn_of(each, why) for each, why in sorted(table.not_understood.items())
                ]
                if not (table.indexes or table.not_understood):
                    deleted = (
                        f"all indexes of {table.source.path} are deleted: restore them, or create others"
                    )
                    report.not_skipped_because.append(deleted)
            now = read_signature(leaf.relation)
            if (why := dependent_rows(now)) is not None:
                report.not_skipped_because.append(why)
                return False
            leaf.unknown = unsure_partitions(now)
            for table in found:
                trusted = compatible_indexes(table, now)
                if trusted.why_not is not None:
                    report.not_skipped_because.append(trusted.why_not)
                if trusted.indexes:
                    leaf.tables.append((table, trusted))
                if partitions_differ(table.source.fingerprint, now):
                    leaf.unknown = leaf.partition_columns()
        except Exception as error:
            report.not_skipped_because.append(self._warn(error, report.path))
            return False
        return bool(leaf.tables)

    def _replaced(self, plan: Any, known: list[_Leaf], predicates: list[tuple[Node, Predicates]]) -> Any:
        places = Counter(leaf.facts.first for leaf in known)
        replacements: list[tuple[Any, Any]] = []
        for leaf in known:
            try:
                if places[leaf.facts.first] > 1:
                    # One object in two places of the plan, which may be under two filters.
                    leaf.report.not_skipped_because.append("the same DataFrame is in the query twice")
                elif (made := self._pruned(leaf, *predicates[leaf.facts.at], plan)) is not None:
                    replacements.append((leaf.logical, made))
            except Exception as error:
                leaf.report.not_skipped_because.append(self._warn(error, leaf.report.path))
        if not replacements:
            return plan
        # A map is a partial function, this one of identities; no call comes back for a node.
        by_identity = self._toolbox.jvm.java.util.IdentityHashMap()
        for logical, made in replacements:
            by_identity.put(logical, made)
        return plan.transformDown(self._toolbox.java_to_scala(by_identity))

    def _pruned(self, leaf: _Leaf, node: Node, predicates: Predicates, plan: Any) -> Any:
        """Return the relation without files that cannot match, None if all of them may."""
        started_s = time.perf_counter()
        report = leaf.report
        corrupt = leaf.facts.corrupt_record
        index: Any = None
        if leaf.partitions_are_indexed():
            index = self._listed(leaf)
            if not folders_name_partitions(leaf.relation, index):
                # A partition's value is what the catalog says today, or a zone said when a frame was made.
                leaf.unknown = leaf.partition_columns()
        names = {
            attribute_identity(each): str(each.fields["name"])
            for each in node.expressions("output")
            if each.fields["name"] != corrupt and each.fields["name"] not in leaf.unknown
        }
        reader = ExpressionReader(names, plan)
        expressions = [reader.read(each) for each in predicates]
        matching = []
        used: list[SkippingIndex] = []
        for table, trusted in leaf.tables:
            asked = trusted.in_zones(reader.zones)
            if asked.why_not is not None and asked.why_not != trusted.why_not:
                report.not_skipped_because.append(asked.why_not)
            failures: Failures = {}
            mask = _matching(table, asked.indexes, expressions, failures)
            report.not_skipped_because += [self._warn_of(each, why) for each, why in failures.items()]
            indexes = tuple(each for each in asked.indexes if each.specification not in failures)
            used += indexes
            if mask is not None:
                matching.append((table, indexes, mask))
        if all(mask.all() for _, _, mask in matching):
            unsure = {str(name) for name in leaf.unknown} | {corrupt}
            if any(table.files for table, _ in leaf.tables):
                reasons = why_not_skipped(node, predicates, reader.read, used, unsure)
            else:
                reasons = ["the metadata tells of no file yet: refresh"]
            report.not_skipped_because += reasons
            report.metadata_ms = (time.perf_counter() - started_s) * 1000
            return None
        listing = self._listings.of(self._listed(leaf) if index is None else index)
        chosen = np.ones(listing.files, np.bool_)
        for table, indexes, mask in matching:
            positions = listing.positions(table)
            report.tables.append(TableReport(table, indexes, expressions, listing, positions))
            chosen &= may_hold(listing, positions, mask)
        report.metadata_ms = (time.perf_counter() - started_s) * 1000
        report.take_listing(listing, chosen)
        if chosen.all():
            return None
        made, report.mark = pruned_relation(leaf.logical, listing, chosen)
        return made

    def _listed(self, leaf: _Leaf) -> Any:
        """Return the InMemoryFileIndex of all files that a relation has now."""
        location = leaf.relation.location()
        return self._toolbox.all_partitions(location) if leaf.facts.kind == _CATALOG_INDEX else location

    def _warn(self, error: Exception, what: str) -> str:
        """Say once of each kind of failure why nothing is skipped; return it."""
        text = error_summary(error)
        if self._is_new(text):
            log.warning("not skipping files of %s, which is read whole: %s", what, text)
        return f"it could not be found out which files to leave out: {text}"

    def _warn_of(self, specification: str, why: str) -> str:
        """Say once why an index is left out, of which others of its table are not; return it."""
        text = printable(f"{specification} is not used: {why}", 400)
        if self._is_new(text):
            log.warning("index %s", text)
        return text

    def _is_new(self, text: str) -> bool:
        with self._lock:
            new = text not in self._warned and len(self._warned) < _WARNINGS
            if new:
                self._warned.add(text)
        return new


_WARNINGS = 100
"""More kinds of failures than these are not logged: what differs in their texts is the queries'."""


def _leaf(facts: FileRelation, logical: Any) -> _Leaf:
    relation = logical.relation()
    return _Leaf(facts, logical, relation, RelationReport(facts.roots, relation.location()), [])


def _matching(
    table: TableMetadata,
    indexes: Sequence[SkippingIndex],
    predicates: list[Expression],
    failures: Failures,
) -> Mask | None:
    clause = build_clause(indexes, predicates, failures)
    return None if clause is None else clause.may_match(table)
