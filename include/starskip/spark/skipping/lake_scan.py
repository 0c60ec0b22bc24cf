"""Scans of Delta and Iceberg tables in a plan, with the metadata that decides which files may be skipped.

The format has chosen files by its own statistics and partitions before. A file is identified by its path, its
size, and its time or commit in the log; unknown files are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.errors import StarskipError
from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.compatible_indexes import CompatibleIndexes, compatible_indexes
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.failures import error_summary
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.known_files import KnownFiles, packed_mask, unpacked_mask
from starskip.spark.skipping.lake_columns import Path, identities
from starskip.spark.skipping.lake_signature import lake_signature
from starskip.spark.skipping.pruned_relation import MARK
from starskip.spark.skipping.relation_facts import CHANGED, ENABLED, FileRelation, Relations, joined_texts
from starskip.spark.skipping.relation_report import RelationReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.spark_listing import may_hold
from starskip.spark.skipping.table_finder import TableFinder

_MOVES_TIMES = "spark.sql.parquet.int96TimestampConversion"
_BETWEEN = "\u0001"
_TABLES_KEPT = 16
_OPEN_BYTES = 4 << 20
"""The cost of opening a file in bytes: Iceberg's read.split.open-file-cost, and Spark's own default."""
_UNPLANNED = "org.apache.iceberg.spark.source.SparkTable"
"""An Iceberg table in a plan before Spark has asked Iceberg for its scan."""
_FORMATS = {
    "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex": ("delta", "DeltaFiles"),
    "org.apache.spark.sql.delta.files.TahoeLogFileIndex": ("delta", ""),
    "org.apache.iceberg.spark.source.SparkBatchQueryScan": ("iceberg", "IcebergFiles"),
    _UNPLANNED: ("iceberg", ""),
}
"""Table formats by the class that lists a scan's files, with our Java class for these files."""
SUPPORTED = {
    "delta": "Delta Lake 4.4.0 with Spark 4.0, 4.1 or 4.2",
    "iceberg": "Iceberg 1.12.0 with Spark 4.1, or 1.11.0 with Spark 4.0",
}
"""The tested versions."""
TITLES = {"delta": "Delta", "iceberg": "Iceberg"}


_NOT_PLANNED = {
    "delta": "Delta's own skipping is off (spark.databricks.delta.stats.skipping), and ours goes with it",
    "iceberg": "it is read by a command that changes rows of an Iceberg table",
}


@dataclass(frozen=True, slots=True)
class LakeListing:
    """The files of a scan: first the files in the metadata ``table``, in its order, then the others.

    ``known``: the metadata's rows for files of the scan. An unknown file counts with the mean size.
    """

    table: TableMetadata
    known: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.sizes)

    def positions(self, metadata: TableMetadata) -> npt.NDArray[np.int64]:
        """Return each file's row in metadata, -1 for a file that it does not know."""
        found = np.full(self.files, -1, np.int64)
        is_own = metadata is self.table
        found[: len(self.known)] = (
            self.known if is_own else _row_of_each_file(metadata, self.table)[self.known]
        )
        return found


@lru_cache(maxsize=_TABLES_KEPT)
def _row_of_each_file(of: TableMetadata, over: TableMetadata) -> npt.NDArray[np.int64]:
    """Return the row in ``of`` of each file of the metadata ``over``, -1 where there is none."""
    return same_files(match_paths(over.paths, of.paths), over, of)


@dataclass(eq=False)
class LakeScan:
    """A scan of a table; ``java``: a DeltaFiles or IcebergFiles of the JVM, None without one.

    ``path``: the table's folder. ``schema``: the read version's, in JSON. ``unsupported``: why the JVM has no
    such class. ``tables`` and ``secondary`` as in PlainScan.
    """

    facts: FileRelation
    logical: Any
    table_format: str
    report: RelationReport
    known: KnownFiles
    java: Any = None
    path: str = ""
    schema: str = ""
    scanned: tuple[int, int] = (0, 0)
    unsupported: str | None = None
    tables: list[tuple[TableMetadata, CompatibleIndexes]] = field(default_factory=list)
    secondary: list[TableMetadata] = field(default_factory=list)
    unknown = unlike_arrow = frozenset[str]()

    @property
    def folders(self) -> list[str]:
        """The table's folder."""
        return [self.path]

    @property
    def open_bytes(self) -> int:
        """Spark's estimate of the bytes that could be read while a file is opened."""
        return self.facts.open_bytes or _OPEN_BYTES

    @property
    def present(self) -> Mapping[Path, str]:
        """The identities in files of the scan's columns, by their paths of names."""
        return identities(self.schema, self.table_format)

    def why_not(self) -> str | None:
        """Return why no file can be skipped, whatever the metadata."""
        if self.unsupported is None and not self.facts.is_enabled:
            return f"{ENABLED} is false"
        if self.java is not None and self.table_format == "iceberg" and not self.java.isOfFiles():
            return "it is a table of an Iceberg table's own metadata"
        return self.unsupported

    def take(self, found: Sequence[TableMetadata], secondary: Sequence[TableMetadata]) -> None:
        """Keep the indexes whose read signature fits the scan."""
        reasons = self.report.not_skipped_because
        if self.java is None:
            reasons.append(_NOT_PLANNED[self.table_format])
            return
        relation = self.logical.relation() if self.table_format == "delta" else None
        now = lake_signature(self.table_format, relation, self.facts.settings)
        if secondary and now.get(_MOVES_TIMES) == "true":
            reasons.append(f"secondary indexes are not used: {_MOVES_TIMES} is true")
        else:
            self.secondary += secondary
        for table in found:
            compatible = compatible_indexes(table, now, reasons)
            if compatible.indexes:
                self.tables.append((table, compatible))

    def left(self, table: TableMetadata, masks: Sequence[tuple[TableMetadata, Mask]], *_of_plan: Any) -> Mask:
        """Return the files of a table that neither the format nor skipping indexes skip."""
        left = self._listed(table)
        for other, mask in masks:
            left &= may_hold(table, _row_of_each_file(other, table), mask)
        return left

    def listing(self, table: TableMetadata) -> LakeListing:
        """Return the listing of the scan's files against ``table``."""
        rows = np.flatnonzero(self._listed(table))
        files, size = self.scanned
        sizes = np.zeros(files, np.int64)
        sizes[: len(rows)] = table.sizes[rows]
        others = files - len(rows)
        if others:
            sizes[len(rows) :] = max(size - int(sizes.sum()), 0) // others
        self._listing = LakeListing(table, rows, sizes)
        return self._listing

    def _listed(self, table: TableMetadata) -> Mask:
        return unpacked_mask(self.java.found(self.known.of(table)), table.files)

    def without(self, chosen: Mask) -> tuple[Any, str]:
        """Return the leaf with the chosen files of the last listing, and its mark."""
        listing, table = self._listing, self._listing.table
        mask = np.ones(table.files, np.bool_)
        mask[listing.known] = chosen[: len(listing.known)]
        digest = hashlib.sha256(np.packbits(mask).tobytes() + listing.known.tobytes())
        digest.update(repr((table.source.path, table.version, table.identity)).encode())
        mark = f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"
        # The JVM uses the rows of its last request, which was the listing's.
        return self.java.relation(packed_mask(mask), MARK, mark), mark


def is_lake_scan(facts: FileRelation) -> bool:
    """Return whether a relation is of a Delta or Iceberg table."""
    return facts.kind in _FORMATS


class LakeScans:
    """Opens the scans of one SparkContext's plans."""

    def __init__(self, toolbox: JvmToolbox, warnings: RuleWarnings) -> None:
        """Know no file yet."""
        self._toolbox = toolbox
        self._known = KnownFiles(toolbox)
        self._warnings = warnings

    def open(self, facts: FileRelation, logical: Any) -> LakeScan:
        """Return the scan at a leaf of a plan; obstacles to skipping go into its report."""
        table_format, java = _FORMATS[facts.kind]
        report = RelationReport(facts.roots, (None, None))
        scan = LakeScan(facts, logical, table_format, report, self._known)
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
            scan.unsupported = self._warnings.told(_unsupported(table_format, error))
            return scan
        scan.path, scan.schema, files, size, scanned_files, scanned_bytes = found
        scan.scanned = int(scanned_files), int(scanned_bytes)
        report.take_scan(_total(files, size, scan.scanned), scan.scanned, table_format)
        report.why_empty = f"{TITLES[table_format]} leaves out all files by itself"
        return scan

    def planned(
        self,
        plan: Any,
        relations: Relations,
        finders: tuple[TableFinder, TableFinder],
        metadata_root: str | None,
    ) -> Any:
        """Return a plan with Iceberg's scans in it, if one of its tables has metadata; else the plan itself.

        Spark would ask for scans right after this rule, once filters have been pushed down; it keeps scans
        that were made before. Commands that change rows prepare their plans earlier, and are left alone.
        """
        unplanned = [each for each in relations.of_files if each.kind == _UNPLANNED]
        if not unplanned or any(each.why_not == CHANGED for each in relations.others):
            return plan
        with suppress(StarskipError):  # The error is reported when the metadata is looked up again.
            if any(
                each.is_enabled and tables.find(each.roots, metadata_root or each.metadata_root)
                for each in unplanned
                for tables in finders
            ):
                package = getattr(self._toolbox.jvm, f"{DATASOURCES}.v2.V2ScanRelationPushDown$")
                return getattr(package, "MODULE$").apply(plan)
        return plan


def _total(files: str, size: str, scanned: tuple[int, int]) -> tuple[int | None, int | None]:
    """Return files and bytes of the whole version, None where its format does not have them at hand."""
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
