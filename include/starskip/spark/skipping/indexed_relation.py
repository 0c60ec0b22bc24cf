"""Find the metadata that says which files of a plan's relation hold matching rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.predicates.column_name import column_name, column_path
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.read_signature import ZONE_OF_USERS_TYPES, read_signature
from starskip.spark.skipping.relation_facts import ENABLED, FileRelation
from starskip.spark.skipping.relation_report import RelationReport
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.signature_comparison import (
    dependent_rows,
    difference,
    partitions_differ,
    read_otherwise,
    same_columns,
    times_of_other_zones,
    unsure_partitions,
    users_types_differ,
)
from starskip.spark.skipping.table_finder import TableFinder
from starskip.spark.skipping.user_index_types import is_user_type


@dataclass(frozen=True, slots=True)
class CompatibleIndexes:
    """The compatible ``indexes``; ``why_not``: the reason for the others, None if there are none.

    ``zone``: the session time zone in which indexes of users' types were collected.
    """

    indexes: tuple[SkippingIndex, ...]
    why_not: str | None
    zone: str | None

    def in_zones(self, zones: frozenset[str]) -> CompatibleIndexes:
        """Return the indexes that can judge a predicate analysed in these time zones."""
        if zones <= {self.zone} or not any(map(is_user_type, self.indexes)):
            return self
        others = ", ".join(sorted(zones - {self.zone}))
        return self._without_user_types(f"of time zone {self.zone}, but the query is of {others}")

    def _without_user_types(self, why: str) -> CompatibleIndexes:
        names = ", ".join(each.specification for each in self.indexes if is_user_type(each))
        kept = tuple(each for each in self.indexes if not is_user_type(each))
        return replace(self, indexes=kept, why_not=f"{names}: {why}")


_IN_MEMORY_INDEX = f"{DATASOURCES}.InMemoryFileIndex"
_CATALOG_INDEX = f"{DATASOURCES}.CatalogFileIndex"


@dataclass(slots=True)
class IndexedRelation:
    """A relation of files in a plan, with the indexes that are compatible with the way it is read.

    ``logical`` is its LogicalRelation of the JVM. ``unknown``: columns whose values in the metadata may
    differ from the values that the query reads, such as partition columns of a catalog. ``unlike_arrow``:
    columns of which Spark may read other values than secondary indexes have.
    """

    facts: FileRelation
    logical: Any
    relation: Any
    report: RelationReport
    tables: list[tuple[TableMetadata, CompatibleIndexes]] = field(default_factory=list)
    secondary: list[TableMetadata] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()
    unlike_arrow: frozenset[str] = frozenset()

    @property
    def partition_columns(self) -> frozenset[str]:
        """The partition columns."""
        return frozenset(self.relation.partitionSchema().fieldNames())

    @property
    def partitions_are_indexed(self) -> bool:
        """Return whether one of the indexes is of a partition column."""
        named = {column_name((name,)).lower() for name in self.partition_columns}
        indexes = (index for _, compatible in self.tables for index in compatible.indexes)
        return any(name.lower() in named for index in indexes for name in index.columns)

    def file_index(self, toolbox: JvmToolbox) -> Any:
        """Return the InMemoryFileIndex of all files that the relation has now."""
        location = self.relation.location()
        return toolbox.all_partitions(location) if self.facts.kind == _CATALOG_INDEX else location


def indexed_relation(facts: FileRelation, logical: Any) -> IndexedRelation:
    """Return the relation of files at a LogicalRelation of the JVM, without indexes yet."""
    relation = logical.relation()
    return IndexedRelation(facts, logical, relation, RelationReport(facts.roots, relation.location()))


def find_indexes(
    relation: IndexedRelation,
    finders: tuple[TableFinder, TableFinder],
    metadata_root: str | None,
    warnings: RuleWarnings,
) -> bool:
    """Find the tables of the relation whose indexes are compatible; return whether there are any.

    ``finders``: of the tables with skipping indexes, and of those with secondary ones.
    The reasons why there are none, and why single indexes are not used, go into the relation's report.
    """
    reasons = relation.report.not_skipped_because
    try:
        why_not = _why_not_at_all(relation.facts)
        if why_not is not None:
            reasons.append(why_not)
            return False
        root = metadata_root or relation.facts.metadata_root
        found, secondary = (each.find(relation.facts.folders, root) for each in finders)
        if found or not secondary:
            reasons += missing_indexes(relation.report.path, found, warnings)
        found = [table for table in found if table.unlocked.locked_listing is None]
        found, secondary = (up_to_date(each, reasons, warnings) for each in (found, secondary))
        if found or secondary:
            _take_compatible(relation, found, secondary)
    except Exception as error:
        reasons.append(warnings.read_whole(error, relation.report.path))
        return False
    return bool(relation.tables or relation.secondary)


def _why_not_at_all(facts: FileRelation) -> str | None:
    if facts.kind not in (_IN_MEMORY_INDEX, _CATALOG_INDEX):
        lister = facts.kind.rpartition(".")[2]
        return f"its files are listed by {lister}, which is not Spark's own listing of a folder"
    return None if facts.is_enabled else f"{ENABLED} is false"


def missing_indexes(path: str, found: Sequence[TableMetadata], warnings: RuleWarnings) -> list[str]:
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


def up_to_date(
    tables: Iterable[TableMetadata], reasons: list[str], warnings: RuleWarnings
) -> list[TableMetadata]:
    """Return the tables whose indexes can be believed; why not, of the others, goes into ``reasons``."""
    whys = [(table, table.why_outdated) for table in tables]
    reasons += [warnings.told(why) for _, why in whys if why is not None]
    return [table for table, why in whys if why is None]


def _take_compatible(
    relation: IndexedRelation, found: Sequence[TableMetadata], secondary: Sequence[TableMetadata]
) -> None:
    """Keep the indexes that were collected of files read as the relation is about to read them."""
    reasons = relation.report.not_skipped_because
    now = read_signature(relation.relation)
    why_not = dependent_rows(now)
    if why_not is not None:
        reasons.append(why_not)
        return
    relation.unknown = unsure_partitions(now)
    for table in found:
        compatible = compatible_indexes(table, now)
        if compatible.why_not is not None:
            reasons.append(compatible.why_not)
        if compatible.indexes:
            relation.tables.append((table, compatible))
        if partitions_differ(table.source.read_signature, now):
            relation.unknown = relation.partition_columns
    for table in secondary:
        otherwise = read_otherwise(now, table.source.file_format)
        if otherwise is None:
            relation.secondary.append(table)
        else:
            reasons.append(f"secondary indexes are not used: {otherwise}")
    relation.unlike_arrow = times_of_other_zones(now) if secondary else frozenset()


def compatible_indexes(table: TableMetadata, now: Mapping[str, str]) -> CompatibleIndexes:
    """Compare the read signature of the metadata with ``now``, that of a relation."""
    then = table.source.read_signature
    other = difference(then, now)
    found = CompatibleIndexes(table.indexes, None, then.get(ZONE_OF_USERS_TYPES))
    if other is not None:
        alike = same_columns(then, now) if other == "schema" else frozenset()
        kept = tuple(each for each in table.indexes if _columns(each) <= alike)
        why = f"the metadata of {table.source.path} was collected with another {other}"
        found = replace(found, indexes=kept, why_not=why)
    if any(map(is_user_type, found.indexes)) and (differs := users_types_differ(then, now)):
        return found._without_user_types(f"collected with another {differs}: refresh")
    return found


def _columns(index: SkippingIndex) -> frozenset[str]:
    return frozenset(column_path(name)[0] for name in index.columns)
