"""The data files of a Delta or Iceberg table as one relation, which is read while metadata is collected.

All rows of each data file are read, deleted ones too: an older version of the table, or a restored one, still
has them, and an index that covers deleted rows, too, skips fewer files, never a wrong one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from starskip.errors import ConfigError, printable
from starskip.file_metadata.open_metadata import understood_indexes
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name, column_path, quoted
from starskip.skipping.file_metadata import Mask
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.files_without_ids import FIELD_ID, files_without_ids, schema_by_names
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox, jvm_names
from starskip.spark.skipping.known_files import given_index
from starskip.spark.skipping.lake_columns import Path, StoredColumn, identity_of, stored_columns
from starskip.spark.skipping.lake_signature import lake_signature
from starskip.spark.skipping.relation_facts import OF_USERS_TYPES
from starskip.spark.skipping.table_relation import (
    COLLECTING,
    FILE_PATH,
    ListedTable,
    TableRelation,
    file_path_of,
)

log = logging.getLogger("starskip.skipping")
_OF_MANIFESTS = frozenset({"minmax", "nulls", "partition"})
_OF_PARQUET = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    # A file without ids is refused instead of being read as nulls.
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}
_OF_ICEBERG = {
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    # Pruning drops the field id of a struct, which is then looked for by its present name. ``of_indexes``
    # cuts structs to the indexed fields instead.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
}
"""Iceberg's reader knows no other way, whatever the session says."""


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column by its ``path`` in the table and ``name`` in the metadata, which a rename does not change.

    ``identity``: its identity in files (lake_columns); ``kind``: its type in Spark.
    """

    path: Path
    name: Path
    identity: str
    kind: DataType
    of: SnapshotColumn


@dataclass(frozen=True, slots=True)
class LakeRelation(TableRelation):
    """A TableRelation of a snapshot's data files; its schema has the metadata's names."""

    snapshot: TableSnapshot
    columns: tuple[LakeColumn, ...]
    known: Mapping[str, StoredColumn]
    """The columns of the metadata's indexes, deleted ones too, by their names in the metadata."""
    stale: bool
    """True where an indexed column has another type now, or is not recorded in the metadata."""

    @property
    def is_of_snapshot(self) -> bool:
        """See TableRelation."""
        return True

    @property
    def names_in_files(self) -> bool:
        """See TableRelation."""
        return False

    def of_indexes(self, indexes: Iterable[SkippingIndex]) -> LakeRelation:
        """Return the relation of the indexed columns and fields of structs."""
        paths = {column_path(name) for index in indexes for name in index.columns}
        kept = tuple(each for each in self.columns if any(_is_along(each.name, path) for path in paths))
        return replace(self, columns=kept)

    def rows(self, file_index: Any, schema: Any = None) -> DataFrame:
        """Return all rows of the files of ``file_index``, also rows that were deleted from the table."""
        if schema is None:
            schema = _to_java(self.session, _stored_schema(self.columns, self.snapshot.table_format))
        rows = TableRelation.rows(self, file_index, schema)
        if self.snapshot.table_format == "iceberg":
            return rows
        return rows.select(
            *(self._renamed(each, each.of.stored[-1]) for each in self.columns if len(each.path) == 1)
        )

    def rows_of(self, listed: ListedTable, chosen: Mask) -> DataFrame:
        """See TableRelation; files of an Iceberg table without field ids go by the table's name mapping."""
        whole = [each for each in self.columns if len(each.path) == 1]
        bare: Mapping[str, Sequence[int]] = {}
        places = np.flatnonzero(chosen)
        if any(each.of.names for each in whole):
            paths = listed.files.paths.take(pa.array(places))
            bare = files_without_ids(self.session, paths, [each.of for each in whole])
        if not bare:
            return self.rows(listed.index_of(chosen))
        frames, left = [], chosen.copy()
        for names, positions in sorted(bare.items()):
            mine = np.zeros(len(chosen), np.bool_)
            mine[places[positions]] = True
            left &= ~mine
            frames.append(self._rows_by_names(listed.index_of(mine), json.loads(names), whole))
        if left.any():
            frames.append(self.rows(listed.index_of(left)))
        parts = [each.withColumn(FILE_PATH, file_path_of(each)) for each in frames]
        return reduce(DataFrame.unionByName, parts)

    def _rows_by_names(self, file_index: Any, names: Any, whole: Sequence[LakeColumn]) -> DataFrame:
        by_id = _stored_schema(self.columns, self.snapshot.table_format)
        schema = schema_by_names(by_id, [each.of for each in whole], names)
        rows = self.rows(file_index, _to_java(self.session, schema))
        return rows.select(
            *(self._renamed(each, field.name) for each, field in zip(whole, schema, strict=True))
        )

    def _renamed(self, column: LakeColumn, name: str) -> Column:
        stored = sql.col(quoted(column_name((name,))))
        if isinstance(column.kind, StructType):
            # By position: the fields have their names in files.
            stored = stored.cast(_of_names(column, self.columns))
        return stored.alias(column.name[-1])

    def named(self, specification: str) -> str:
        """Return the specification of an index with the metadata's names of its columns.

        Raises ConfigError for a column that the table lacks, or that cannot be indexed.
        """
        index = index_from_specification(specification)
        names = tuple(self._named(specification, name) for name in index.columns)
        return (
            specification
            if names == index.columns
            else type(index).parsed(names, index.arguments).specification
        )

    def _named(self, specification: str, name: str) -> str:
        sensitive = self.session.conf.get("spark.sql.caseSensitive") == "true"
        path = column_path(name)
        found = [each for each in self.columns if each.path == path] or [
            each for each in self.columns if not sensitive and _small(each.path) == _small(path)
        ]
        if len(found) == 1 and not found[0].of.has_default:
            return column_name(found[0].name)
        raise ConfigError(f"{specification}: {self._why_not(path, found)}", setting="index")

    def _why_not(self, path: Path, found: Sequence[LakeColumn]) -> str:
        name, snapshot = column_name(path), self.snapshot
        if found:
            return f"{name} has a default in files that lack it, so no index of it is made"
        if _small(path) in {_small(each) for each in _partitions(snapshot)}:
            return f"the table is partitioned by {name}: {snapshot.table_format} skips files by it already"
        if any(_small(each.path) == _small(path) for each in snapshot.columns):
            return (
                f"column {name} cannot be indexed: its type cannot be read from files, or the metadata has "
                "indexes of another column that had this name: delete these, and vacuum"
            )
        names = ", ".join(column_name(each.path) for each in self.columns[:20])
        return f"the table has no column {name}; it has {names}"

    def lost(self, indexes: Iterable[SkippingIndex]) -> dict[str, str]:
        """Return, by specification, why indexes of dropped columns cannot be refreshed."""
        names = {column_name(each.name) for each in self.columns}
        return {
            index.specification: f"{name} was dropped, or partitions the table now: delete the index"
            for index in indexes
            for name in index.columns
            if name not in names
        }

    def known_columns(self, indexes: Iterable[SkippingIndex]) -> dict[str, StoredColumn]:
        """Return the columns of indexes, and the structs around them, by their names in the metadata.

        Columns of the metadata's existing indexes are included.
        """
        by_name = {each.name: each for each in self.columns}
        found = dict(self.known)
        for name in {name for index in indexes for name in index.columns}:
            path = column_path(name)
            for end in range(1, len(path) + 1):
                if (each := by_name.get(path[:end])) is not None:
                    found[column_name(each.name)] = StoredColumn(each.identity, each.kind.simpleString())
        return found


def lake_relation(
    spark: SparkSession, snapshot: TableSnapshot, path: str, existing: TableMetadata | None
) -> LakeRelation:
    """Return the relation of a snapshot's data files; ``path``: its folder as Hadoop writes it.

    ``existing``: the table's metadata, whose names of columns stay.
    """
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    source = None if existing is None else existing.source
    if source is not None and source.read_signature.get("format") != snapshot.table_format:
        source = None
    known = {} if source is None or existing is None else _kept(stored_columns(source.options), existing)
    columns = tuple(_columns(snapshot, known))
    settings = {name: str(session.conf.get(name)) for name in OF_USERS_TYPES}
    logical = _logical(session, snapshot, path, columns)
    signature = lake_signature(snapshot.table_format, logical.relation(), settings)
    of_iceberg = _OF_ICEBERG if snapshot.table_format == "iceberg" else {}
    for name, value in {**COLLECTING, **_OF_PARQUET, **of_iceberg}.items():
        session.conf.set(name, value)
    return LakeRelation(
        session,
        logical,
        path,
        "parquet",
        {},
        StructType(
            [StructField(each.name[0], _of_names(each, columns)) for each in columns if len(each.name) == 1]
        ),
        signature,
        None,
        snapshot,
        columns,
        known,
        source is not None and existing is not None and _is_stale(existing, known, columns),
    )


def named_in_metadata(
    relation: LakeRelation, indexes: Sequence[str], encrypt: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return specifications of new indexes with the metadata's names of columns, and the same for key names.

    An index that the table's own manifests make superfluous is left out, with a warning. Raises ConfigError
    for an index that the table cannot have, and if none is left.
    """
    title = relation.snapshot.table_format.title()
    named, wanted = {}, []
    for each in indexes:
        index = index_from_specification(each)
        named[each] = relation.named(each)
        if index.kind in _OF_MANIFESTS:
            log.warning("%s: nothing is built, %s skips files by it already", printable(each), title)
        else:
            wanted.append(named[each])
    if not wanted:
        raise ConfigError(
            f"{', '.join(indexes)}: {title} has least and greatest values, counts of nulls and values of "
            "partitions itself, and leaves out files by them; name an index that it lacks, such as bloom:c",
            setting="index",
        )
    return wanted, {named.get(name, name): key for name, key in encrypt.items()}


def _columns(snapshot: TableSnapshot, known: Mapping[str, StoredColumn]) -> Iterable[LakeColumn]:
    """Yield the columns in files, parents first; a name in the metadata stands for one column only."""
    names = {each.identity: column_path(name) for name, each in known.items()}
    taken = set(names.values())
    above: dict[Path, Path] = {(): ()}
    partitions = _partitions(snapshot)
    for each in snapshot.columns:
        parent = above.get(each.path[:-1])
        if parent is None or each.path in partitions or each.unlike_spark:
            continue
        identity = identity_of(each, snapshot.table_format)
        name = names.get(identity, (*parent, each.path[-1]))
        if name[:-1] != parent or (identity not in names and name in taken):
            continue
        try:
            kind = from_arrow_type(each.kind, prefer_timestamp_ntz=True)
        except Exception:  # noqa: S112 - PySpark's own errors for types that it lacks, of several classes
            continue
        above[each.path] = name
        yield LakeColumn(each.path, name, identity, kind, each)


def _partitions(snapshot: TableSnapshot) -> set[Path]:
    """Return the columns whose values come from partitions, whatever the files have."""
    fields = {
        each.source for each in snapshot.partition_fields if each.transform == "identity" and each.source
    }
    return fields | {(name,) for name in snapshot.partition_columns}


def _kept(known: Mapping[str, StoredColumn], existing: TableMetadata) -> Mapping[str, StoredColumn]:
    """Return the columns of the metadata's indexes, including deleted ones until a vacuum."""
    indexes, not_understood = understood_indexes(existing.state.indexes)
    if not_understood:
        return known
    paths = {column_path(name) for index in indexes for name in index.columns}
    return {
        name: each
        for name, each in known.items()
        if any(path[: len(column_path(name))] == column_path(name) for path in paths)
    }


def _is_stale(
    existing: TableMetadata, known: Mapping[str, StoredColumn], columns: Sequence[LakeColumn]
) -> bool:
    kinds = {column_name(each.name): each.kind.simpleString() for each in columns}
    names = {name for index in existing.indexes for name in index.columns}
    return any(name not in known or kinds.get(name, known[name].kind) != known[name].kind for name in names)


def _logical(session: SparkSession, snapshot: TableSnapshot, path: str, columns: Sequence[LakeColumn]) -> Any:
    jvm = jvm_names(session.sparkContext._gateway)
    toolbox = JvmToolbox(session)
    package = getattr(jvm, DATASOURCES)
    relation = package.HadoopFsRelation(
        given_index(toolbox, session, path, snapshot),
        jvm.org.apache.spark.sql.types.StructType(),
        _to_java(session, _stored_schema(columns, snapshot.table_format)),
        jvm.scala.Option.empty(),
        package.parquet.ParquetFileFormat(),
        jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({}),
        session._jsparkSession,
    )
    return getattr(getattr(package, "LogicalRelation$"), "MODULE$").apply(relation, False)


def _stored_schema(columns: Sequence[LakeColumn], table_format: str) -> StructType:
    """Return columns as files have them."""
    top = [each for each in columns if len(each.path) == 1]
    return StructType([_stored_field(each, columns, table_format) for each in top])


def _to_java(session: SparkSession, schema: StructType) -> Any:
    types = jvm_names(session.sparkContext._gateway).org.apache.spark.sql.types
    return types.DataType.fromJson(schema.json())


def _is_along(one: Path, other: Path) -> bool:
    """Return whether a path leads to another one, or on from it."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _stored_field(column: LakeColumn, columns: Sequence[LakeColumn], table_format: str) -> StructField:
    """Return a column as files have it: by its id in Iceberg, by its physical name in Delta."""
    kind: DataType = column.kind
    if isinstance(kind, StructType):
        inner = [each for each in columns if each.path[:-1] == column.path]
        kind = StructType([_stored_field(each, columns, table_format) for each in inner])
    if table_format == "iceberg":
        return StructField(column.name[-1], kind, metadata={FIELD_ID: column.of.field_id})
    return StructField(column.of.stored[-1], kind)


def _of_names(column: LakeColumn, columns: Sequence[LakeColumn]) -> DataType:
    """Return a column's type with the metadata's names of its fields."""
    if not isinstance(column.kind, StructType):
        return column.kind
    inner = [each for each in columns if each.path[:-1] == column.path]
    return StructType([StructField(each.name[-1], _of_names(each, columns)) for each in inner])


def _small(path: Path) -> Path:
    return tuple(part.lower() for part in path)
