"""Relations of files that Spark lists itself, with the metadata of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.compatible_indexes import CompatibleIndexes, compatible_indexes
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.leaf_predicates import Predicates, is_deterministic
from starskip.spark.skipping.pruned_relation import pruned_relation
from starskip.spark.skipping.read_ratio import attributes
from starskip.spark.skipping.read_signature import read_signature
from starskip.spark.skipping.relation_facts import ENABLED, FileRelation, folders_name_partitions
from starskip.spark.skipping.relation_report import RelationReport
from starskip.spark.skipping.signature_comparison import (
    dependent_rows,
    partitions_differ,
    read_otherwise,
    times_of_other_zones,
    unsure_partitions,
)
from starskip.spark.skipping.spark_listing import SparkListing, SparkListings, may_hold

_IN_MEMORY_INDEX = f"{DATASOURCES}.InMemoryFileIndex"
_CATALOG_INDEX = f"{DATASOURCES}.CatalogFileIndex"


@dataclass(eq=False)
class PlainScan:
    """A relation of files at ``logical``, a LogicalRelation of the JVM.

    ``tables`` and ``secondary``: metadata with compatible indexes of both families. ``unknown``: columns
    whose values in the metadata may differ from the values that the query reads, such as partition columns of
    a catalog. ``unlike_arrow``: columns whose values Spark may read otherwise than secondary indexes have
    them.
    """

    facts: FileRelation
    logical: Any
    toolbox: JvmToolbox
    listings: SparkListings
    tables: list[tuple[TableMetadata, CompatibleIndexes]] = field(default_factory=list)
    secondary: list[TableMetadata] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()
    unlike_arrow: frozenset[str] = frozenset()
    table_format = ""

    def __post_init__(self) -> None:
        """Read its properties from the JVM."""
        self.folders, self.open_bytes = self.facts.folders, self.facts.open_bytes
        self.relation = self.logical.relation()
        self.report = RelationReport(self.facts.roots, self.relation.location())

    @cached_property
    def partition_columns(self) -> frozenset[str]:
        """The partition columns."""
        return frozenset(self.relation.partitionSchema().fieldNames())

    @cached_property
    def file_index(self) -> Any:
        """The InMemoryFileIndex of all files that the relation has now."""
        location = self.relation.location()
        return self.toolbox.all_partitions(location) if self.facts.kind == _CATALOG_INDEX else location

    def why_not(self) -> str | None:
        """Return why no file can be skipped, whatever the metadata."""
        if self.facts.kind not in (_IN_MEMORY_INDEX, _CATALOG_INDEX):
            lister = self.facts.kind.rpartition(".")[2]
            return f"its files are listed by {lister}, which is not Spark's own listing of a folder"
        return None if self.facts.is_enabled else f"{ENABLED} is false"

    def take(self, found: Sequence[TableMetadata], secondary: Sequence[TableMetadata]) -> None:
        """Keep the indexes whose read signature fits the relation."""
        reasons, now = self.report.not_skipped_because, read_signature(self.relation)
        why_not = dependent_rows(now)
        if why_not is not None:
            reasons.append(why_not)
            return
        unknown = unsure_partitions(now)
        for table in found:
            compatible = compatible_indexes(table, now, reasons)
            if compatible.indexes:
                self.tables.append((table, compatible))
            if partitions_differ(table.source.read_signature, now):
                unknown = self.partition_columns
        for table in secondary:
            otherwise = read_otherwise(now, table.source.file_format)
            if otherwise is None:
                self.secondary.append(table)
            else:
                reasons.append(f"secondary indexes are not used: {otherwise}")
        if self._is_of_a_catalog():
            unknown = self.partition_columns
        self.unknown = unknown | {self.facts.corrupt_record}
        self.unlike_arrow = self.partition_columns | unknown | times_of_other_zones(now)

    def _is_of_a_catalog(self) -> bool:
        """Return whether indexed partition columns may have other values than the collected ones.

        Where the folders are not named after the partitions' values, the catalog may give a folder other
        values.
        """
        named = {column_name((name,)).lower() for name in self.partition_columns}
        indexed = {
            name.lower() for _, each in self.tables for index in each.indexes for name in index.columns
        }
        return not named.isdisjoint(indexed) and not folders_name_partitions(self.relation, self.file_index)

    def left(
        self,
        table: TableMetadata,
        masks: Sequence[tuple[TableMetadata, Mask]],
        predicates: Predicates,
        plan: Any,
    ) -> Mask | None:
        """Return the files of a table that neither partitions nor skipping indexes skip, None for all."""
        filters = self._partition_filters(predicates, plan)
        if not filters and all(mask.all() for _, mask in masks):
            return None
        listing = self.listing(table)
        left = np.ones(listing.files, np.bool_)
        for other, mask in masks:
            left &= may_hold(listing, listing.positions(other), mask)
        if filters:
            with suppress(Exception):  # A filter may name a column that has another name further down.
                left &= listing.listed.in_partitions(self.toolbox.scala_list(filters))
        positions = listing.positions(table)
        found = np.zeros(table.files, np.bool_)
        found[positions[left & (positions >= 0)]] = True
        return found

    def _partition_filters(self, predicates: Predicates, plan: Any) -> list[Any]:
        """Return the predicates on partition columns only, as Spark's objects."""
        partitions = self.partition_columns
        return [
            each.java(plan)
            for each in (predicates if partitions else ())
            if (names := {str(of.fields["name"]) for of in attributes(each)})
            and names <= partitions
            and is_deterministic(each)
        ]

    @cached_property
    def _listing(self) -> SparkListing:
        return self.listings.of(self.file_index)

    def listing(self, _table: TableMetadata) -> SparkListing:
        """Return Spark's listing of the files."""
        return self._listing

    def without(self, chosen: Mask) -> tuple[Any, str]:
        """Return the LogicalRelation with the chosen files of the listing, and its mark."""
        return pruned_relation(self.logical, self._listing, chosen)
