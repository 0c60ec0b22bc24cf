"""Leave files without matching rows out of a scan of a Delta or Iceberg table."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.indexes.secondary.whole_files import AND, WholeFiles
from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.failing_indexes import Failures
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.predicates.expression import Expression
from starskip.spark.skipping.files_left import read_ratio
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.known_files import KnownFiles, packed_mask
from starskip.spark.skipping.lake_columns import ColumnTranslation, columns_of
from starskip.spark.skipping.lake_or import with_bounds
from starskip.spark.skipping.lake_scan import TITLES, LakeListing, LakeScan
from starskip.spark.skipping.lake_secondary import lake_survivors, mask_over, positions_over
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.pruned_relation import MARK
from starskip.spark.skipping.read_expression import ExpressionReader
from starskip.spark.skipping.relation_report import TableReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.secondary_match import SecondaryMatch
from starskip.spark.skipping.spark_listing import may_hold
from starskip.spark.skipping.why_not_skipped import why_not_skipped

_OPEN_BYTES = 4 << 20
"""Bytes that opening a file counts as: Iceberg's read.split.open-file-cost, and Spark's own default."""


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
        report = scan.report
        names = {attribute_identity(each): str(each.fields["name"]) for each in leaf.expressions("output")}
        reader = ExpressionReader(names, plan)
        asked = [reader.read(each) for each in predicates]
        own = self._own(scan, asked, reader.zones)
        left = partial(self._whole_files, scan, leaf, own)
        secondary = list(lake_survivors(scan, asked, self._warnings, left))
        found: list[_Judged | SecondaryMatch] = [*([own] if own else []), *secondary]
        judged = [(each.table, each.mask) for each in found if each.mask is not None]
        if all(mask.all() for _, mask in judged):
            report.not_skipped_because += _why_not(leaf, predicates, reader, own, secondary)
            report.metadata_ms = (time.perf_counter() - started_s) * 1000
            return None
        table, mask = judged[0]
        for other, of_other in judged[1:]:
            mask = mask & mask_over(of_other, other, table)
        listing = scan.found(self._known.of(table), table)
        positions = listing.positions(table)
        for each in found:
            if each.mask is not None:
                report.tables.append(each.report(listing, _positions(listing, each.table, table)))
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

    def _own(self, scan: LakeScan, asked: Sequence[Expression], zones: frozenset[str]) -> _Judged | None:
        """Return what skipping indexes say of the files of their metadata, None without such metadata."""
        if scan.table is None:
            return None
        reasons, (table, compatible) = scan.report.not_skipped_because, scan.table
        columns = ColumnTranslation(scan.present, columns_of(table.source.options))
        in_zones = compatible.in_zones(zones)
        if in_zones.why_not is not None and in_zones.why_not != compatible.why_not:
            reasons.append(in_zones.why_not)
        failures: Failures = {}
        expressions, of_format = with_bounds(asked, columns, in_zones.indexes, scan.table_format)
        clause = build_clause((*in_zones.indexes, *of_format), expressions, failures)
        mask = None if clause is None else table.may_match(clause)
        reasons += [self._warnings.left_out(each, why) for each, why in failures.items()]
        reasons += sorted(
            f"column {each}, of which no index was made: refresh in full" for each in columns.changed
        )
        indexes = tuple(each for each in in_zones.indexes if each.specification not in failures)
        return _Judged(table, indexes, of_format, expressions, columns, mask)

    def _whole_files(
        self, scan: LakeScan, leaf: Node, own: _Judged | None, table: TableMetadata
    ) -> WholeFiles:
        """Return how Spark reads the files of a table's metadata that nothing else has left out."""
        to_read = scan.listed(self._known.of(table), table)
        if own is not None and own.mask is not None:
            to_read &= mask_over(own.mask, own.table, table)
        return WholeFiles(to_read, scan.facts.open_bytes or _OPEN_BYTES, read_ratio(leaf))


@dataclass(frozen=True, slots=True)
class _Judged:
    """The judgement of skipping indexes; ``of_format``: of what the table's format knows itself."""

    table: TableMetadata
    indexes: tuple[SkippingIndex, ...]
    of_format: tuple[SkippingIndex, ...]
    expressions: Sequence[Expression]
    columns: ColumnTranslation
    mask: Mask | None

    def report(self, listing: LakeListing, positions: npt.NDArray[np.int64]) -> TableReport:
        """Return the report on the files of a listing; ``positions`` as in SparkListing."""
        indexes = (*self.indexes, *self.of_format)
        return TableReport(self.table, indexes, self.expressions, listing, positions)


def _why_not(
    leaf: Node,
    predicates: Predicates,
    reader: ExpressionReader,
    own: _Judged | None,
    secondary: Sequence[SecondaryMatch],
) -> list[str]:
    tables = [own.table] if own else []
    tables += [each.table for each in secondary]
    if tables and not any(each.files for each in tables):
        return ["the metadata tells of no file yet: refresh"]
    if any(each.mask is not None for each in secondary):
        return [
            f"every file may hold a row that {AND.join(each.survivors.names)} leaves" for each in secondary
        ]
    if own is None:
        if any(each.survivors.why_not for each in secondary):
            return []  # These say it already: an index serves a predicate, and was not read.
        return why_not_skipped(leaf, predicates, reader.read, ())
    columns = own.columns
    return why_not_skipped(leaf, predicates, lambda node: columns.of(reader.read(node)), own.indexes)


def _positions(listing: LakeListing, of: TableMetadata, table: TableMetadata) -> npt.NDArray[np.int64]:
    """Return each file's row in the metadata ``of``, by its row in that of ``table``."""
    found = listing.positions(table)
    if of is table:
        return found
    known = found >= 0
    found[known] = positions_over(of, table)[found[known]]
    return found


def _mark(table: TableMetadata, listing: LakeListing, mask: Mask, chosen: Mask) -> str:
    """Return the text that tells scans of one table apart which leave out other files."""
    digest = hashlib.sha256(np.packbits(mask).tobytes())
    digest.update(listing.known.tobytes())
    digest.update(repr((table.source.path, table.version, table.identity)).encode())
    return f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"
