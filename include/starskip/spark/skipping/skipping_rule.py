"""Rewrite a plan of Spark's optimizer: the scans of files with indexes read only files that may match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.secondary.column_ids import COLUMN_IDS
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.lake_scan import LakeScans, is_lake_scan
from starskip.spark.skipping.leaf_predicates import Predicates, leaf_predicates
from starskip.spark.skipping.plain_scan import PlainScan
from starskip.spark.skipping.plan_tree import Node, plan_tree
from starskip.spark.skipping.prune_scan import Scan, prune_scan
from starskip.spark.skipping.relation_facts import FileRelation, Relations, plan_document, relations_of
from starskip.spark.skipping.relation_report import RelationReport, other_report
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.spark_listing import SparkListings
from starskip.spark.skipping.table_finder import TableFinder


class SkippingRule:
    """The rule of one SparkContext; all threads that plan queries call ``pruned``."""

    def __init__(
        self, toolbox: JvmToolbox, finders: tuple[TableFinder, TableFinder], warnings: RuleWarnings
    ) -> None:
        """Know no scan yet; ``finders``: of tables with skipping indexes, and with secondary ones."""
        self.metadata_root: str | None = None
        self._toolbox = toolbox
        self._finders = finders
        self._warnings = warnings
        self._listings = SparkListings(toolbox)
        self._scans = LakeScans(toolbox, warnings)

    def pruned(self, plan: Any, relations: Relations, report: Callable[[list[RelationReport]], None]) -> Any:
        """Return the plan with pruned scans; the plan itself if no file is left out.

        ``relations``: those of the plan. ``report`` is called with the reports of its relations, which are
        filled in thereafter.
        """
        planned = self._scans.planned(plan, relations, self._finders, self.metadata_root)
        if planned is not plan:
            plan, relations = planned, relations_of(planned)
        leaves: Any = plan.collectLeaves() if relations.of_files else ()
        scans = [self._opened(each, leaves.apply(each.at)) for each in relations.of_files]
        report([each.report for each in scans] + list(map(other_report, relations.others)))
        indexed = list(filter(self._has_indexes, scans))
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
        """Find the tables of a scan whose indexes are compatible; return whether there are any.

        The reasons why there are none, and why single indexes are not used, go into the scan's report.
        """
        reasons = scan.report.not_skipped_because
        try:
            why_not = scan.why_not()
            if why_not is not None:
                reasons.append(why_not)
                return False
            root = self.metadata_root or scan.facts.metadata_root
            found, secondary = (each.find(scan.folders, root) for each in self._finders)
            if scan.table_format:
                secondary = [each for each in secondary if COLUMN_IDS in each.source.options and each.indexes]
            if found or not secondary:
                reasons += _missing_indexes(scan.report.path, found, self._warnings)
            usable = [
                each
                for each in found
                if each.unlocked.locked_listing is None and (each.indexes or not scan.table_format)
            ]
            usable, secondary = (_up_to_date(each, reasons, self._warnings) for each in (usable, secondary))
            if usable or secondary:
                scan.take(usable, secondary)
        except Exception as error:
            reasons.append(self._warnings.read_whole(error, scan.report.path))
            return False
        return bool(scan.tables or scan.secondary)

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


def _missing_indexes(path: str, found: Sequence[TableMetadata], warnings: RuleWarnings) -> list[str]:
    """Return why there are no indexes of a table, or not all that its metadata has."""
    if not found:
        return [f"there is no metadata for {path}: create an index"]
    reasons = []
    for table in found:
        reasons += [warnings.left_out(each, why) for each, why in sorted(table.not_understood.items())]
        reasons += [warnings.told(each.means("not used")) for each in table.unlocked.locked if each.matters]
        if not (table.indexes or table.not_understood or table.unlocked.locked):
            reasons.append(f"all indexes of {table.source.path} are deleted: restore them, or create others")
    return reasons


def _up_to_date(
    tables: Iterable[TableMetadata], reasons: list[str], warnings: RuleWarnings
) -> list[TableMetadata]:
    """Return the tables whose indexes can be believed; why not, of the others, goes into ``reasons``."""
    whys = [(table, table.why_outdated) for table in tables]
    reasons += [warnings.told(why) for _, why in whys if why is not None]
    return [table for table, why in whys if why is None]
