"""Leave files without matching rows out of a scan of a Delta or Iceberg table."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import numpy as np

from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.failing_indexes import Failures
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Expression
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.known_files import KnownFiles, packed_mask
from starskip.spark.skipping.lake_columns import ColumnTranslation, columns_of
from starskip.spark.skipping.lake_scan import TITLES, LakeListing, LakeScan
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.pruned_relation import MARK
from starskip.spark.skipping.read_expression import ExpressionReader
from starskip.spark.skipping.relation_report import TableReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.spark_listing import may_hold
from starskip.spark.skipping.why_not_skipped import why_not_skipped


class LakePruner:
    """Prunes the scans of table formats in the plans of one SparkContext."""

    def __init__(self, toolbox: JvmToolbox, warnings: RuleWarnings) -> None:
        """Know no file yet."""
        self._known = KnownFiles(toolbox)
        self._warnings = warnings

    def prune(self, scan: LakeScan, leaf: Node, predicates: Predicates, plan: Any) -> Any:
        """Return the scan's leaf without files that cannot match, None if every file may match.

        ``leaf`` is its node in the tree of ``plan``. What was decided goes into the report.
        """
        started_s = time.perf_counter()
        assert scan.table is not None
        report, (table, compatible) = scan.report, scan.table
        names = {attribute_identity(each): str(each.fields["name"]) for each in leaf.expressions("output")}
        reader = ExpressionReader(names, plan)
        columns = ColumnTranslation(scan.present, columns_of(table.source.options))

        def read(node: Node) -> Expression:
            return columns.of(reader.read(node))

        expressions = [read(each) for each in predicates]
        in_zones = compatible.in_zones(reader.zones)
        if in_zones.why_not is not None and in_zones.why_not != compatible.why_not:
            report.not_skipped_because.append(in_zones.why_not)
        failures: Failures = {}
        clause = build_clause(in_zones.indexes, expressions, failures)
        mask = None if clause is None else table.may_match(clause)
        report.not_skipped_because += [self._warnings.left_out(each, why) for each, why in failures.items()]
        report.not_skipped_because += sorted(
            f"column {each}, of which no index was made: refresh in full" for each in columns.changed
        )
        indexes = tuple(each for each in in_zones.indexes if each.specification not in failures)
        if mask is None or mask.all():
            report.not_skipped_because += (
                why_not_skipped(leaf, predicates, read, indexes)
                if table.files
                else ["the metadata tells of no file yet: refresh"]
            )
            report.metadata_ms = (time.perf_counter() - started_s) * 1000
            return None
        known = self._known.of(table)
        listing = scan.found(known, table)
        positions = listing.positions(table)
        report.tables.append(TableReport(table, indexes, expressions, listing, positions))
        chosen = may_hold(listing, positions, mask)
        report.metadata_ms = (time.perf_counter() - started_s) * 1000
        if not listing.files:
            report.not_skipped_because.append(f"{TITLES[scan.table_format]} leaves out all files by itself")
            return None
        report.take_listing(listing, chosen)
        if chosen.all():
            return None
        report.mark = _mark(table, listing, mask, chosen)
        return scan.java.relation(packed_mask(mask), MARK, report.mark)


def _mark(table: TableMetadata, listing: LakeListing, mask: Mask, chosen: Mask) -> str:
    """Return the text that tells scans of one table apart which leave out other files."""
    digest = hashlib.sha256(np.packbits(mask).tobytes())
    digest.update(listing.known.tobytes())
    digest.update(repr((table.source.path, table.version, table.identity)).encode())
    return f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"
