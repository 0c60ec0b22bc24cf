"""Scans of Delta and Iceberg tables in a plan, with the metadata that says which files may be left out.

The format has chosen files by its own statistics and partitions before. A file is told by its path, its size,
and the time or the commit that the log has of it; what is not known of is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.errors import StarskipError
from starskip.indexes.secondary.column_ids import COLUMN_IDS
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.failures import error_summary
from starskip.spark.skipping.indexed_relation import (
    CompatibleIndexes,
    compatible_indexes,
    missing_indexes,
    up_to_date,
)
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.known_files import unpacked_mask
from starskip.spark.skipping.lake_columns import Path, identities
from starskip.spark.skipping.lake_signature import lake_signature
from starskip.spark.skipping.relation_facts import CHANGED, ENABLED, FileRelation, Relations, joined_texts
from starskip.spark.skipping.relation_report import RelationReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.table_finder import TableFinder

_MOVES_TIMES = "spark.sql.parquet.int96TimestampConversion"
_BETWEEN = "\u0001"
_UNPLANNED = "org.apache.iceberg.spark.source.SparkTable"
"""An Iceberg table in a plan of which Spark has not asked Iceberg for a scan yet."""
_FORMATS = {
    "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex": ("delta", "DeltaFiles"),
    "org.apache.spark.sql.delta.files.TahoeLogFileIndex": ("delta", ""),
    "org.apache.iceberg.spark.source.SparkBatchQueryScan": ("iceberg", "IcebergFiles"),
    _UNPLANNED: ("iceberg", ""),
}
"""Table formats by the class that lists a scan's files, and the class here that is over these files."""
SUPPORTED = {
    "delta": "Delta Lake 4.4.0 with Spark 4.0, 4.1 or 4.2",
    "iceberg": "Iceberg 1.12.0 with Spark 4.1, or 1.11.0 with Spark 4.0",
}
"""The versions that tests run with."""
TITLES = {"delta": "Delta", "iceberg": "Iceberg"}


_NOT_PLANNED = {
    "delta": "Delta's own skipping is off (spark.databricks.delta.stats.skipping), and ours goes with it",
    "iceberg": "it is read by a command that changes rows of an Iceberg table",
}


@dataclass(frozen=True, slots=True)
class LakeListing:
    """The files of a scan: those that metadata knows, in its order, then the others.

    ``known``: the rows of the metadata that are of files of the scan. The size of an unknown file is the mean
    of them.
    """

    known: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.sizes)

    def positions(self, _metadata: TableMetadata) -> npt.NDArray[np.int64]:
        """Return each file's row in the metadata, -1 of those that it does not know."""
        found = np.full(self.files, -1, np.int64)
        found[: len(self.known)] = self.known
        return found


@dataclass(slots=True)
class LakeScan:
    """A scan at a leaf ``logical`` of a plan; ``java``: a DeltaFiles or IcebergFiles of the JVM.

    ``path``: the table's folder. ``schema``: in JSON, that of the version that is read. ``table``: the
    metadata with the indexes that are compatible, None without. ``secondary``: that of secondary indexes.
    """

    facts: FileRelation
    logical: Any
    table_format: str
    report: RelationReport
    java: Any = None
    path: str = ""
    schema: str = ""
    scanned: tuple[int, int] = (0, 0)
    table: tuple[TableMetadata, CompatibleIndexes] | None = None
    secondary: TableMetadata | None = None

    @property
    def present(self) -> Mapping[Path, str]:
        """Return what files know the scan's columns by, by their paths of names."""
        return identities(self.schema, self.table_format)

    def listed(self, known: Any, metadata: TableMetadata) -> Mask:
        """Return which files of the metadata, a KnownFiles of the JVM, are of the scan."""
        return unpacked_mask(self.java.found(known), metadata.files)

    def found(self, known: Any, metadata: TableMetadata) -> LakeListing:
        """Compare the scan's files with a KnownFiles of the JVM."""
        rows = np.flatnonzero(self.listed(known, metadata))
        files, size = self.scanned
        sizes = np.zeros(files, np.int64)
        sizes[: len(rows)] = metadata.sizes[rows]
        others = files - len(rows)
        if others:
            sizes[len(rows) :] = max(size - int(sizes.sum()), 0) // others
        return LakeListing(rows, sizes)


def is_lake_scan(facts: FileRelation) -> bool:
    """Return whether a relation is of a Delta or Iceberg table."""
    return facts.kind in _FORMATS


class LakeScans:
    """Opens the scans of one SparkContext's plans."""

    def __init__(self, toolbox: JvmToolbox, warnings: RuleWarnings) -> None:
        """Take the tools of the context."""
        self._toolbox = toolbox
        self._warnings = warnings

    def open(self, facts: FileRelation, logical: Any) -> LakeScan:
        """Return the scan at a leaf of a plan; what is in the way of skipping goes into its report."""
        table_format, java = _FORMATS[facts.kind]
        report = RelationReport(facts.roots, (None, None))
        scan = LakeScan(facts, logical, table_format, report)
        if not java:
            scan.path = facts.roots[0]
            if table_format == "delta":
                report.location = _totals_of(logical)
            return scan
        try:
            scan.java = new_java(self._toolbox.gateway, java, logical)
            found = joined_texts(scan.java.facts(), _BETWEEN).split(_BETWEEN)
        except Exception as error:
            scan.java = None
            report.not_skipped_because.append(self._warnings.told(_unsupported(table_format, error)))
            return scan
        scan.path, scan.schema, files, size, scanned_files, scanned_bytes = found
        scan.scanned = int(scanned_files), int(scanned_bytes)
        report.take_scan(_total(files, size, scan.scanned), scan.scanned, table_format)
        return scan

    def planned(
        self,
        plan: Any,
        relations: Relations,
        finders: tuple[TableFinder, TableFinder],
        metadata_root: str | None,
    ) -> Any:
        """Return a plan with Iceberg's scans in it, if one of its tables has metadata; else the plan itself.

        Spark asks for scans right after this rule, once filters have been pushed down; asked before, it has
        them already. Commands that change rows prepare their plans before that, and are left alone.
        """
        unplanned = [each for each in relations.of_files if each.kind == _UNPLANNED]
        if not unplanned or any(each.why_not == CHANGED for each in relations.others):
            return plan
        with suppress(StarskipError):  # It is told when the metadata is asked for again.
            if any(
                each.is_enabled and tables.find(each.roots, metadata_root or each.metadata_root)
                for each in unplanned
                for tables in finders
            ):
                package = getattr(self._toolbox.jvm, f"{DATASOURCES}.v2.V2ScanRelationPushDown$")
                return getattr(package, "MODULE$").apply(plan)
        return plan

    def find_indexes(
        self, scan: LakeScan, finders: tuple[TableFinder, TableFinder], metadata_root: str | None
    ) -> bool:
        """Find the metadata of a scan's table; return whether it has indexes that are compatible.

        ``finders``: of the tables with skipping indexes, and of those with secondary ones.
        """
        reasons = scan.report.not_skipped_because
        if scan.java is None and reasons:
            return False
        try:
            if not scan.facts.is_enabled:
                reasons.append(f"{ENABLED} is false")
                return False
            if scan.java is not None and scan.table_format == "iceberg" and not scan.java.isOfFiles():
                reasons.append("it is a table of an Iceberg table's own metadata")
                return False
            root = metadata_root or scan.facts.metadata_root
            found, secondary = (each.find([scan.path], root) for each in finders)
            secondary = [each for each in secondary if COLUMN_IDS in each.source.options and each.indexes]
            if found or not secondary:
                reasons += missing_indexes(scan.report.path, found, self._warnings)
            usable = [each for each in found if each.unlocked.locked_listing is None and each.indexes]
            usable, secondary = (up_to_date(each, reasons, self._warnings) for each in (usable, secondary))
            if not usable and not secondary:
                return False
            if scan.java is None:
                reasons.append(_NOT_PLANNED[scan.table_format])
                return False
            relation = scan.logical.relation() if scan.table_format == "delta" else None
            now = lake_signature(scan.table_format, relation, scan.facts.settings)
            if secondary and now.get(_MOVES_TIMES) == "true":
                reasons.append(f"secondary indexes are not used: {_MOVES_TIMES} is true")
            elif secondary:
                scan.secondary = secondary[0]
            if not usable:
                return scan.secondary is not None
            compatible = compatible_indexes(usable[0], now)
            if compatible.why_not is not None:
                reasons.append(compatible.why_not)
            scan.table = (usable[0], compatible) if compatible.indexes else None
            return scan.table is not None or scan.secondary is not None
        except Exception as error:
            reasons.append(self._warnings.read_whole(error, scan.report.path))
            return False


def _total(files: str, size: str, scanned: tuple[int, int]) -> tuple[int | None, int | None]:
    """Return files and bytes of the whole version, None where its format does not tell them at once."""
    found = (int(files) if files else None, int(size) if size else None)
    return (max(found[0], scanned[0]) if found[0] is not None else None, found[1])


def _totals_of(logical: Any) -> tuple[int | None, int | None]:
    index = logical.relation().location()
    files = index.numOfFilesIfKnown()
    return (int(files.get()) if files.isDefined() else None, int(index.sizeInBytes()))


def _unsupported(table_format: str, error: Exception) -> str:
    return (
        f"files of {TITLES[table_format]} tables are not left out with the versions that are installed, but "
        f"with {SUPPORTED[table_format]} ({error_summary(error)})"
    )
