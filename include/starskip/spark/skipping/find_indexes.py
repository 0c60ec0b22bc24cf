"""Find the metadata that can decide which files of a plan's scans hold matching rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.secondary.column_ids import COLUMN_IDS
from starskip.spark.skipping.lake_scan import LakeScan
from starskip.spark.skipping.plain_scan import PlainScan
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.table_finder import TableFinder

Scan = PlainScan | LakeScan


def find_indexes(
    scan: Scan,
    finders: tuple[TableFinder, TableFinder],
    metadata_root: str | None,
    warnings: RuleWarnings,
) -> bool:
    """Find the tables of a scan whose indexes are compatible; return whether there are any.

    ``finders``: of tables with skipping indexes, and of tables with secondary indexes. The reasons why there
    are none, and why single indexes are not used, go into the scan's report.
    """
    reasons = scan.report.not_skipped_because
    try:
        why_not = scan.why_not()
        if why_not is not None:
            reasons.append(why_not)
            return False
        root = metadata_root or scan.facts.metadata_root
        found, secondary = (each.find(scan.folders, root) for each in finders)
        if scan.table_format:
            secondary = [each for each in secondary if COLUMN_IDS in each.source.options and each.indexes]
        if found or not secondary:
            reasons += _missing_indexes(scan.report.path, found, warnings)
        usable = [
            each
            for each in found
            if each.unlocked.locked_listing is None and (each.indexes or not scan.table_format)
        ]
        usable, secondary = (_up_to_date(each, reasons, warnings) for each in (usable, secondary))
        if usable or secondary:
            scan.take(usable, secondary)
    except Exception as error:
        reasons.append(warnings.read_whole(error, scan.report.path))
        return False
    return bool(scan.tables or scan.secondary)


def _missing_indexes(path: str, found: Sequence[TableMetadata], warnings: RuleWarnings) -> list[str]:
    """Return why a table has no usable indexes, or not all indexes of its metadata."""
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
    """Return the tables whose indexes are up to date; for the others the reason goes into ``reasons``."""
    whys = [(table, table.why_outdated) for table in tables]
    reasons += [warnings.told(why) for _, why in whys if why is not None]
    return [table for table, why in whys if why is None]
