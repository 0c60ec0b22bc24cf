"""A table as Spark resolves it, and its files as Spark lists them: what metadata is collected of."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import DataType, StructType

from starskip.errors import SourceError
from starskip.file_metadata.table_files import TableFiles
from starskip.predicates.column_name import column_name, column_path
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.failures import reason_of
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox, java_list, jvm_names
from starskip.spark.skipping.listed_files import ListedFiles
from starskip.spark.skipping.plain_files import require_plain_files
from starskip.spark.skipping.read_signature import (
    CATALOGS_PARTITIONS,
    OF_WHO_ASKS,
    PARTIAL_RESULTS,
    UNSTORED_OPTIONS,
    read_signature,
)
from starskip.spark.skipping.read_signature import options as all_options
from starskip.spark.skipping.relation_facts import folders_name_partitions, small_names

_SURE_OF_ALL_ROWS = {
    # A file that is skipped now because it cannot be read may be read at the next query.
    "ignorecorruptfiles": "false",
    "ignoremissingfiles": "false",
    # Which rows are dropped, or become null, depends on the columns that a query reads: here no row may be.
    "mode": "PERMISSIVE",
}
COLLECTING = {
    # Names in the aggregates of indexes are exact.
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.functionResolution.sessionOrder": "second",
    PARTIAL_RESULTS: "true",
    # Values as the files hold them: a query may compare these, or the values padded with spaces.
    "spark.sql.readSideCharPadding": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""Settings of a session while metadata is collected in it."""
MALFORMED = "_starskip_malformed"
FILE_PATH = "_starskip_file_path"
"""The column of each row's file where rows come from several relations, without Spark's ``_metadata``."""
_CORRUPT = "columnnameofcorruptrecord"
_THROUGH = frozenset({"SubqueryAlias", "View", "Project"})
SCHEMA_OPTION = "starskip.schema"
FORMATS = ("parquet", "orc", "avro", "json", "csv")
TEXT_FORMATS = ("csv", "json")
"""Formats whose schema is inferred from values, which may change."""


@dataclass(frozen=True, slots=True)
class TableRelation:
    """``logical`` is a LogicalRelation of the JVM; ``session`` is a session for collecting only."""

    session: SparkSession
    logical: Any
    path: str
    file_format: str
    options: Mapping[str, str]
    schema: StructType
    read_signature: Mapping[str, str]
    listed_ms: int | None
    """A time just before it was listed; None for a relation of unknown age."""

    @property
    def relation(self) -> Any:
        """The HadoopFsRelation of the JVM."""
        return self.logical.relation()

    @property
    def is_of_snapshot(self) -> bool:
        """Return whether its files are those of a snapshot, which another listing would not change."""
        return False

    @property
    def names_in_files(self) -> bool:
        """Return whether files know columns by their names in the schema."""
        return True

    @property
    def partition_columns(self) -> list[str]:
        """The columns whose values are in the files' paths."""
        return list(self.relation.partitionSchema().fieldNames())

    @property
    def data_types(self) -> dict[str, str]:
        """Spark's types of all columns and fields of structs, by dotted name."""
        return data_types_of(self.schema)

    def resolved(self, name: str) -> str:
        """Return a column's dotted name as the schema spells it; the name itself if there is none."""
        path: list[str] = []
        fields: DataType = self.schema
        sensitive = self.session.conf.get("spark.sql.caseSensitive") == "true"
        for part in column_path(name):
            names = fields.names if isinstance(fields, StructType) else []
            exact = [each for each in names if each == part]
            alike = [each for each in names if each.lower() == part.lower()]
            chosen = exact or ([] if sensitive else alike)
            if len(chosen) != 1:
                return name
            path.append(chosen[0])
            fields = fields[chosen[0]].dataType  # type: ignore[index]
        return column_name(tuple(path))

    def of_indexes(self, indexes: Iterable[SkippingIndex]) -> TableRelation:  # noqa: ARG002
        """Return the relation for reading indexed columns; for plain files the relation itself serves."""
        return self

    def rows(self, file_index: Any, schema: Any = None) -> DataFrame:
        """Return the rows of the files of ``file_index``, all of them or an error.

        ``schema``: a JVM schema of the columns to read; the table's by default. Rows of JSON have a column
        ``MALFORMED``, which is null for valid lines: the row of a malformed line depends on the columns that
        are read.
        """
        jvm = jvm_names(self.session.sparkContext._gateway)
        old = self.relation
        options = jvm.scala.jdk.javaapi.CollectionConverters.asJava(old.options())
        given = {each.getKey(): each.getValue() for each in java_list(options.entrySet())}
        sure = {
            name: value
            for name, value in _SURE_OF_ALL_ROWS.items()
            if name != "mode" or self.file_format in TEXT_FORMATS
        }
        options = {name: value for name, value in given.items() if name.lower() not in sure} | sure
        schema, malformed = schema or old.dataSchema(), self._malformed_column(small_names(given))
        if malformed == MALFORMED:
            schema = schema.add(MALFORMED, "string")
            options = {name: value for name, value in options.items() if name.lower() != _CORRUPT}
            options[_CORRUPT] = MALFORMED
        session = self.session._jsparkSession
        package = getattr(jvm, DATASOURCES)
        relation = package.HadoopFsRelation(
            file_index,
            old.partitionSchema(),
            schema,
            old.bucketSpec(),
            old.fileFormat(),
            jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(options),
            session,
        )
        plan = _object(package, "LogicalRelation").apply(relation, False)
        dataset = _object(jvm.org.apache.spark.sql.classic, "Dataset").ofRows(session, plan)
        rows = DataFrame(dataset, self.session)
        return (
            rows
            if malformed in (None, MALFORMED)
            else rows.withColumn(MALFORMED, rows[column_name((malformed,))])
        )

    def rows_of(self, listed: ListedTable, chosen: Mask) -> DataFrame:
        """Return the rows of some files of a listing, see ``rows``."""
        return self.rows(listed.index_of(chosen))

    def _malformed_column(self, options: Mapping[str, str]) -> str | None:
        """Return the column of malformed lines, which is added if the table has none."""
        if self.file_format != "json":
            return None
        own = options.get(_CORRUPT) or self.session.conf.get("spark.sql.columnNameOfCorruptRecord")
        return own if own in self.relation.dataSchema().fieldNames() else MALFORMED


@dataclass(frozen=True, slots=True)
class ListedTable:
    """``index`` is an InMemoryFileIndex of the JVM, ``listed`` its files there."""

    relation: TableRelation
    toolbox: JvmToolbox
    index: Any
    listed: ListedFiles
    files: TableFiles

    def encoded_paths(self, chosen: Mask) -> pa.Array:
        """Return the paths of the chosen files as in ``_metadata.file_path``, before ``one_slash``."""
        listed = self.listed if chosen.all() else self.listed.chosen(chosen)
        return one_slash(listed.paths(as_uri=True))

    def index_of(self, chosen: Mask) -> Any:
        """Return the listing of only the chosen files, without asking the file system."""
        if chosen.all():
            return self.index
        return self.listed.chosen(chosen).index(self.relation.session._jsparkSession)


def data_types_of(schema: StructType) -> dict[str, str]:
    """Return Spark's types of all columns and fields of structs, by dotted name."""
    found: dict[str, str] = {}

    def add(prefix: tuple[str, ...], fields: StructType) -> None:
        for field in fields:
            path = (*prefix, field.name)
            found[column_name(path)] = _simple(field.dataType)
            if isinstance(field.dataType, StructType):
                add(path, field.dataType)

    add((), schema)
    return found


def one_slash(paths: pa.Array) -> pa.Array:
    """Write paths with one slash: Spark writes either ``file:/x`` or ``file:///x``."""
    return pc.replace_substring_regex(paths, "^file:/+", "file:/")


def file_path_of(rows: DataFrame) -> Column:
    """Return the column of each row's file, as ``one_slash`` writes it."""
    if FILE_PATH in rows.columns:
        return sql.col(FILE_PATH)
    return sql.regexp_replace(rows.metadataColumn("_metadata")["file_path"], "^file:/+", "file:/")


def table_relation(
    spark: SparkSession,
    table: str | DataFrame,
    file_format: str = "parquet",
    options: Mapping[str, str] | None = None,
) -> TableRelation:
    """Return the relation of a path, or of a DataFrame that only reads a table's files.

    Raises SourceError for an argument that is no table of plain files, or cannot be read in that format.
    """
    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    listed_ms = int(time.time() * 1000) if isinstance(table, str) else None
    if isinstance(table, str):
        options = dict(options or {})
        schema = options.pop(SCHEMA_OPTION, None)
        reader = session.read.format(file_format).options(**options)
        if schema is not None:
            reader = reader.schema(StructType.fromJson(json.loads(schema)))
        require_plain_files(session, table)
        try:
            table = reader.load(table)
        except (PySparkException, Py4JError) as error:
            raise SourceError(
                f"{table}: cannot be read as {file_format}: {reason_of(error)}", source=str(table)
            ) from None
    logical = _logical(table)
    relation = logical.relation()
    roots = relation.location().rootPaths()
    if roots.size() != 1:
        raise SourceError(
            f"{roots.size()} paths are read, an index is of one: give the folder of the table", source="path"
        )
    options_given = all_options(relation)
    below = _folders_below(relation, options_given)
    if listed_ms is None or below:
        require_plain_files(session, str(roots.apply(0).toString()), below)
    kept = {
        name: value
        for name, value in options_given.items()
        if name not in ("path", "basepath") and not name.startswith(UNSTORED_OPTIONS)
    }
    # From the session of the user's queries, whose signature it is compared with.
    found = read_signature(relation, session._jsparkSession.sessionState().conf())
    if PARTIAL_RESULTS in found:
        # Without them a row depends on the columns that are read: such sessions trust no metadata.
        found[PARTIAL_RESULTS] = COLLECTING[PARTIAL_RESULTS]
        found.pop(f"{PARTIAL_RESULTS}{OF_WHO_ASKS}", None)
    if relation.partitionSchema().length():
        location = relation.location()
        is_catalogs = location.getClass().getSimpleName() == "CatalogFileIndex"
        listed = JvmToolbox(session).all_partitions(location) if is_catalogs else location
        if not folders_name_partitions(relation, listed):
            found[CATALOGS_PARTITIONS] = "true"
    for name, value in COLLECTING.items():
        session.conf.set(name, value)
    path = str(roots.apply(0).toString())
    name = _short_name(relation, file_format)
    if name not in FORMATS:
        raise SourceError(
            f"{path}: files of {name} cannot be indexed, but of {', '.join(FORMATS)}", source=path
        )
    return TableRelation(
        session,
        logical,
        path,
        name,
        kept,
        table.schema,
        found,
        listed_ms,
    )


def _folders_below(relation: Any, options: Mapping[str, str]) -> Set[str]:
    """Return the folders of the files if Spark is set to look into folders of any name."""
    if options.get("recursivefilelookup") != "true":
        return frozenset()
    return {unquote(str(file)).rpartition("/")[0] for file in relation.location().inputFiles()}


def source_plan(frame: DataFrame) -> Any:
    """Return the relation of the JVM below the views, names and projections of a frame's plan."""
    plan = frame._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() in _THROUGH:
        plan = plan.child()
    return plan


def _logical(frame: DataFrame) -> Any:
    plan = source_plan(frame)
    relation = plan.relation() if plan.getClass().getSimpleName() == "LogicalRelation" else None
    if relation is None or relation.getClass().getSimpleName() != "HadoopFsRelation":
        raise SourceError(
            "an index is of a table of files: give its path, or a DataFrame as spark.read or spark.table "
            "returns it",
            source=plan.getClass().getSimpleName(),
        )
    return plan


def _short_name(relation: Any, given: str) -> str:
    try:
        return str(relation.fileFormat().shortName()).lower()
    except Py4JError:
        return given.lower()


def _object(package: Any, name: str) -> Any:
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _simple(data_type: DataType) -> str:
    return data_type.simpleString()
