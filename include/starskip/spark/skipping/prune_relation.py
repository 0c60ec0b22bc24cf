"""Replace a relation of a plan by one without the files that hold no matching row."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from starskip.indexes.secondary.whole_files import AND
from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.failing_indexes import Failures
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.predicates.expression import Expression
from starskip.spark.skipping.files_left import FilesLeft
from starskip.spark.skipping.indexed_relation import IndexedRelation
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.leaf_predicates import Predicates, attribute_identity
from starskip.spark.skipping.plan_tree import Node
from starskip.spark.skipping.pruned_relation import pruned_relation
from starskip.spark.skipping.read_expression import ExpressionReader
from starskip.spark.skipping.relation_facts import folders_name_partitions
from starskip.spark.skipping.relation_report import TableReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.secondary_match import SecondaryMatch, secondary_matches
from starskip.spark.skipping.spark_listing import SparkListing, SparkListings, may_hold
from starskip.spark.skipping.why_not_skipped import why_not_skipped


@dataclass(frozen=True, slots=True)
class _Match:
    """The files of one table's metadata that may match: ``mask``, None if its indexes know no predicate."""

    table: TableMetadata
    indexes: tuple[SkippingIndex, ...]
    mask: Mask | None


class RelationPruner:
    """Prunes the relations of the plans of one SparkContext."""

    def __init__(self, toolbox: JvmToolbox, warnings: RuleWarnings) -> None:
        """Keep no listing yet."""
        self._toolbox = toolbox
        self._warnings = warnings
        self._listings = SparkListings(toolbox)

    def prune(self, relation: IndexedRelation, leaf: Node, predicates: Predicates, plan: Any) -> Any:
        """Return the LogicalRelation without files that cannot match, None if every file may match.

        ``leaf`` is the relation's node in the tree of ``plan``. What was decided goes into the report.
        """
        started_s = time.perf_counter()
        report = relation.report
        file_index = self._partitions_by_catalog(relation)
        reader = _reader_of(relation, leaf, plan)
        expressions = [reader.read(each) for each in predicates]
        matches = self._matches(relation, expressions, reader.zones)
        listing_of = cache(partial(self._listing, relation, file_index))
        narrowing = [(match.table, match.mask) for match in matches if match.mask is not None]
        left = FilesLeft(self._toolbox, relation, leaf, predicates, plan, listing_of, narrowing)
        secondary = list(secondary_matches(relation, expressions, self._warnings, left.of))
        masks = [match.mask for match in matches] + [match.mask for match in secondary]
        if all(mask is None or mask.all() for mask in masks):
            report.not_skipped_because += _why_not(relation, leaf, predicates, reader, matches, secondary)
            report.metadata_ms = (time.perf_counter() - started_s) * 1000
            return None
        listing = listing_of()
        chosen = _files_to_read(relation, listing, matches, secondary, expressions)
        report.metadata_ms = (time.perf_counter() - started_s) * 1000
        report.take_listing(listing, chosen)
        if chosen.all():
            return None
        made, report.mark = pruned_relation(relation.logical, listing, chosen)
        return made

    def _listing(self, relation: IndexedRelation, file_index: Any) -> SparkListing:
        return self._listings.of(relation.file_index(self._toolbox) if file_index is None else file_index)

    def _partitions_by_catalog(self, relation: IndexedRelation) -> Any:
        """Return the file index if partition columns are indexed, None else.

        Where the folders are not named after the partitions' values, the catalog may give a folder other
        values than those that were collected: the partition columns are unknown then.
        """
        if not relation.partitions_are_indexed:
            return None
        file_index = relation.file_index(self._toolbox)
        if not folders_name_partitions(relation.relation, file_index):
            relation.unknown = relation.partition_columns
        return file_index

    def _matches(
        self, relation: IndexedRelation, expressions: list[Expression], zones: frozenset[str]
    ) -> list[_Match]:
        """Evaluate the clause of each table's indexes; an index that fails is left out alone."""
        reasons = relation.report.not_skipped_because
        found = []
        for table, compatible in relation.tables:
            in_zones = compatible.in_zones(zones)
            if in_zones.why_not is not None and in_zones.why_not != compatible.why_not:
                reasons.append(in_zones.why_not)
            failures: Failures = {}
            clause = build_clause(in_zones.indexes, expressions, failures)
            mask = None if clause is None else table.may_match(clause)
            reasons += [self._warnings.left_out(each, why) for each, why in failures.items()]
            indexes = tuple(each for each in in_zones.indexes if each.specification not in failures)
            found.append(_Match(table, indexes, mask))
        return found


def _reader_of(relation: IndexedRelation, leaf: Node, plan: Any) -> ExpressionReader:
    """Return the reader of predicates over the columns that the metadata knows as the query reads them."""
    left_out = {relation.facts.corrupt_record, *relation.unknown}
    names = {
        attribute_identity(each): str(each.fields["name"])
        for each in leaf.expressions("output")
        if each.fields["name"] not in left_out
    }
    return ExpressionReader(names, plan)


def _why_not(
    relation: IndexedRelation,
    leaf: Node,
    predicates: Predicates,
    reader: ExpressionReader,
    matches: Sequence[_Match],
    secondary: Sequence[SecondaryMatch],
) -> list[str]:
    tables = [match.table for match in matches] + [match.table for match in secondary]
    if not any(table.files for table in tables):
        return ["the metadata tells of no file yet: refresh"]
    if any(match.mask is not None for match in secondary):
        return [
            f"every file may hold a row that {AND.join(each.survivors.names)} leaves" for each in secondary
        ]
    if any(each.survivors.why_not for each in secondary):
        return []  # These say it already: an index serves a predicate, and was not read.
    used = [index for match in matches for index in match.indexes]
    unsure = {*relation.unknown, relation.facts.corrupt_record}
    return why_not_skipped(leaf, predicates, reader.read, used, unsure)


def _files_to_read(
    relation: IndexedRelation,
    listing: SparkListing,
    matches: Sequence[_Match],
    secondary: Sequence[SecondaryMatch],
    expressions: Sequence[Expression],
) -> Mask:
    """Return which files of Spark's listing may match, and add each table's part to the report."""
    chosen = np.ones(listing.files, np.bool_)
    for match in matches:
        if match.mask is not None:
            positions = listing.positions(match.table)
            relation.report.tables.append(
                TableReport(match.table, match.indexes, expressions, listing, positions)
            )
            chosen &= may_hold(listing, positions, match.mask)
    for found in secondary:
        if found.mask is not None:
            positions = listing.positions(found.table)
            relation.report.tables.append(found.report(listing, positions))
            chosen &= may_hold(listing, positions, found.mask)
    return chosen
