"""Replace a scan in a plan by one without the files that hold no matching row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.file_metadata.format_bounds import indexes_of
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression
from starskip.secondary.surviving_files import Survivors, surviving_files
from starskip.secondary.whole_files import AND, WholeFileReads
from starskip.skipping.build_clause import build_clause
from starskip.skipping.failing_indexes import Failures
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.user_functions import implications
from starskip.spark.skipping.compatible_indexes import CompatibleIndexes
from starskip.spark.skipping.lake_columns import ColumnTranslation, secondary_columns_of, stored_columns
from starskip.spark.skipping.lake_scan import LakeScan
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity
from starskip.spark.skipping.plain_scan import PlainScan
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.read_expression import ExpressionReader
from starskip.spark.skipping.read_ratio import read_ratio
from starskip.spark.skipping.relation_report import Asked, JudgedFiles, ListedFiles, TableReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.secondary_settings import secondary_settings
from starskip.spark.skipping.spark_listing import may_hold
from starskip.spark.skipping.why_not_skipped import why_not_skipped

Scan = PlainScan | LakeScan


def prune_scan(scan: Scan, leaf: Node, predicates: Predicates, plan: Any, warnings: RuleWarnings) -> Any:
    """Return the leaf without files that cannot match, None if every file may match.

    ``leaf`` is its node in the tree of ``plan``. The decision goes into the scan's report.
    """
    started_s = time.perf_counter()
    report = scan.report
    names = {
        attribute_identity(each): str(each.fields["name"])
        for each in leaf.expressions("output")
        if each.fields["name"] not in scan.unknown
    }
    reader = ExpressionReader(names, plan)
    asked = [reader.read(each) for each in predicates]
    own = [
        _judged(scan, table, asked, compatible, reader.zones, warnings) for table, compatible in scan.tables
    ]
    masks = [(each.table, each.mask) for each in own if each.mask is not None]

    def whole_files(table: TableMetadata) -> WholeFileReads:
        return WholeFileReads(scan.left(table, masks, predicates, plan), scan.open_bytes, read_ratio(leaf))

    secondary = list(_survivors(scan, asked, warnings, whole_files))
    judged = [(each, each.mask) for each in (*own, *secondary) if each.mask is not None]
    if all(mask.all() for _, mask in judged):
        report.not_skipped_because += _why_not(scan, leaf, predicates, reader, own, secondary)
        report.metadata_ms = (time.perf_counter() - started_s) * 1000
        return None
    listing = scan.listing(judged[0][0].table)
    chosen = np.ones(listing.files, np.bool_)
    for each, mask in judged:
        positions = listing.positions(each.table)
        report.tables.append(each.report(listing, positions))
        chosen &= may_hold(listing, positions, mask)
    report.metadata_ms = (time.perf_counter() - started_s) * 1000
    report.take_listing(listing, chosen)
    if chosen.all():
        return None
    made, report.mark = scan.without(chosen)
    return made


@dataclass(frozen=True, slots=True)
class _Judged:
    """The files of one table's metadata that may match: ``mask``, None if no index serves a predicate.

    ``report`` takes a listing and each file's row in the metadata. ``indexes``: skipping indexes; ``columns``
    finds columns that were renamed since they were indexed. ``names``: paths of secondary indexes that were
    read; ``why_not``: why others were not read.
    """

    table: TableMetadata
    mask: Mask | None
    report: Callable[[ListedFiles, npt.NDArray[np.int64]], JudgedFiles]
    indexes: tuple[SkippingIndex, ...] = ()
    columns: ColumnTranslation | None = None
    names: Sequence[str] = ()
    why_not: Sequence[str] = ()


def _judged(
    scan: Scan,
    table: TableMetadata,
    predicates: Sequence[Expression],
    compatible: CompatibleIndexes,
    zones: frozenset[str],
    warnings: RuleWarnings,
) -> _Judged:
    """Evaluate the clause of a table's indexes; an index that fails is left out by itself."""
    reasons = scan.report.not_skipped_because
    in_zones = compatible.in_zones(zones)
    if in_zones.why_not is not None and in_zones.why_not != compatible.why_not:
        reasons.append(in_zones.why_not)
    of_format: tuple[SkippingIndex, ...] = ()
    columns = None
    if isinstance(scan, LakeScan):
        columns = ColumnTranslation(scan.present, stored_columns(table.source.options))
        predicates, of_format = with_bounds(predicates, columns, in_zones.indexes, scan.table_format)
    scan.report.asked.append(Asked(table, (*in_zones.indexes, *of_format), predicates))
    failures: Failures = {}
    clause = build_clause((*in_zones.indexes, *of_format), predicates, failures)
    mask = None if clause is None else table.may_match(clause)
    reasons += [warnings.left_out(each, why) for each, why in failures.items()]
    changed = sorted(columns.changed) if columns else ()
    reasons += [f"column {each}: refresh in full" for each in changed]
    indexes = tuple(each for each in in_zones.indexes if each.specification not in failures)
    report = partial(TableReport, table, (*indexes, *of_format), predicates)
    return _Judged(table, mask, report, indexes, columns)


@dataclass(frozen=True, slots=True)
class SecondaryReport:
    """The judgement of files by secondary indexes of one table; ``positions`` as in SparkListing."""

    metadata: TableMetadata
    survivors: Survivors
    listing: ListedFiles
    positions: npt.NDArray[np.int64]

    def skipped_by_each(self) -> dict[str, int]:
        """Return the number of files without survivors for each index alone, and for all intersected."""
        return {
            name: int(np.count_nonzero(~may_hold(self.listing, self.positions, mask)))
            for name, mask in self.survivors.by_name().items()
        }


def _survivors(
    scan: Scan,
    predicates: Sequence[Expression],
    warnings: RuleWarnings,
    files: Callable[[TableMetadata], WholeFileReads],
) -> Iterator[_Judged]:
    """Yield the survivors of each table with secondary indexes; ``files`` gives the costs of its files.

    An error of reading disables the indexes, not the query; the reason goes into the scan's report.
    """
    reasons = scan.report.not_skipped_because
    for table in scan.secondary:
        try:
            asked = predicates
            if isinstance(scan, LakeScan):
                columns = ColumnTranslation(scan.present, secondary_columns_of(table))
                asked = [columns.of(each) for each in predicates]
            settings = secondary_settings(scan.facts.settings)
            survivors = surviving_files(table, asked, settings, scan.unlike_arrow, partial(files, table))
            mask = survivors.together()
        except Exception as error:
            reasons.append(warnings.read_whole(error, scan.report.path))
            continue
        reasons += survivors.why_not
        report = partial(SecondaryReport, table, survivors)
        yield _Judged(table, mask, report, names=survivors.names, why_not=survivors.why_not)


def _why_not(
    scan: Scan,
    leaf: Node,
    predicates: Predicates,
    reader: ExpressionReader,
    own: Sequence[_Judged],
    secondary: Sequence[_Judged],
) -> list[str]:
    is_plain = isinstance(scan, PlainScan)
    tables = [each.table for each in (*own, *secondary)]
    if (tables or is_plain) and not any(table.files for table in tables):
        return ["the metadata knows no file yet: refresh"]
    if any(each.mask is not None for each in secondary):
        return [f"every file may hold a row that {AND.join(each.names)} leaves" for each in secondary]
    if any(each.why_not for each in secondary) and (is_plain or not own):
        return []  # The other reasons cover it: an index serves a predicate, and was not read.
    columns = own[0].columns if own else None
    read = reader.read if columns is None else lambda node: columns.of(reader.read(node))
    used = [index for each in own for index in each.indexes]
    return why_not_skipped(leaf, predicates, read, used, scan.unknown)


def with_bounds(
    predicates: Sequence[Expression],
    columns: ColumnTranslation,
    indexes: Sequence[SkippingIndex],
    table_format: str,
) -> tuple[list[Expression], tuple[SkippingIndex, ...]]:
    """Return predicates over the metadata's columns, and indexes over the format's bounds of these columns.

    The format itself cannot skip files for an OR whose other part only an index of ours can decide, nor for
    functions that only a module of ours maps to ranges. For other predicates the format has skipped files
    already, and a second look would only cost time.

    ``predicates``: over the table's present columns; ``indexes``: the metadata's.
    """
    indexed = {name for index in indexes for name in index.columns}
    bounded = replace(columns, bounded=True, met={}, _done={})
    found: list[Expression] = []
    wanted: dict[str, None] = {}
    for each in predicates:
        expression = columns.of(each)
        among = bounded.of(each)
        implied = list(_implied_predicates(among))
        if implied or (_has_or(each) and indexed & set(_column_names(expression))):
            expression = among
            wanted |= dict.fromkeys(name for part in (among, *implied) for name in _column_names(part))
        found.append(expression)
    of_format = (
        made
        for name in wanted
        if (column := bounded.met.get(name)) is not None
        for made in indexes_of(table_format, name, column.name, column.identity, column.data_type)
    )
    return found, tuple(of_format)


def _has_or(expression: Expression, *, negated: bool = False) -> bool:
    """Return whether an expression is an OR, or an AND or NOT that contains one."""
    if not isinstance(expression, Call) or expression.name not in ("And", "Or", "Not"):
        return False
    if expression.name == ("And" if negated else "Or"):
        return True
    negated ^= expression.name == "Not"
    return any(_has_or(each, negated=negated) for each in expression.arguments)


def _implied_predicates(expression: Expression) -> Iterator[Expression]:
    """Yield the implications of function calls in an expression for ordinary columns."""
    for each in implications():
        found = each(expression)
        if found is not None:
            yield found
    if isinstance(expression, Call) and expression.name in ("And", "Or", "Not"):
        for inner in expression.arguments:
            yield from _implied_predicates(inner)


def _column_names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Column):
        yield column_name(expression.path)
    elif isinstance(expression, Call):
        for each in expression.arguments:
            yield from _column_names(each)
