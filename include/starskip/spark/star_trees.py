"""Star-trees for a Spark user: a query answered by a tree where one fits, by Spark where none does.

from starskip.spark.star_trees import StarTrees

trees = StarTrees(spark, "trees/lineitem")
trees.sql("SELECT l_returnflag, SUM(l_quantity) FROM lineitem GROUP BY l_returnflag").show()
trees.last_answer.documents_read
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, greatest, length, lit, rpad
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from starskip.errors import UnsupportedQuery, first_line
from starskip.lake.file_columns import stored_names
from starskip.predicates.column_types import char_length, plain_type
from starskip.sql.typed_literals import with_padded_literals
from starskip.star_tree.build.source_table import SourceFile, SourceTable
from starskip.star_tree.query.query_table import rename_table
from starskip.star_tree.query.rewrite_select import make_exact
from starskip.star_tree.query.sql_select import sql_select
from starskip.star_tree.serving.answer_sql import answer_from_tree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

MOST_DOCUMENTS = 2_000_000
"""An answer of more documents would take seconds on the driver; Spark's tasks read the table meanwhile."""


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """Answer of the last query of this thread; ``reason``: why no tree gave it."""

    star_tree: bool
    reason: str | None
    documents_read: int | None


class StarTrees:
    """The star-trees of one table, for one session; may be used by several threads."""

    def __init__(self, session: SparkSession, directory: str, table: str | None = None) -> None:
        """Open the trees below ``directory``; ``table`` may be left out if only one table has trees.

        A later refresh by another process is seen within a second. Raises StarskipError if there are none.
        """
        self._session = session
        self._trees: TreeSet = open_trees(ArtefactStore(storage_for(directory)), table)
        self._local = threading.local()

    @property
    def last_answer(self) -> LastAnswer | None:
        """Return how the last query of the calling thread was answered."""
        return getattr(self._local, "last", None)

    def sql(self, sql: str, dialect: str = "spark", *, most_documents: int = MOST_DOCUMENTS) -> DataFrame:
        """Return the answer as a DataFrame.

        Trees with a name answer only to that name, others to any name in FROM. A query that no tree answers,
        or only by reading more than ``most_documents``, runs over the table's files. An average of decimals
        is a double from a tree, and a decimal from Spark. Raises UnsupportedQuery for a query that neither
        can answer, StaleTree if the table's files have changed.
        """
        found = answer_from_tree(self._trees, sql, dialect, most_documents=most_documents)
        if isinstance(found, str):
            self._local.last = LastAnswer(False, found, None)
            return self._trees.with_current(lambda trees: self._by_spark(trees, sql, dialect))
        self._local.last = LastAnswer(True, None, found.documents_read)
        return self._session.createDataFrame(found.table)

    def _by_spark(self, trees: TreeSet, sql: str, dialect: str) -> DataFrame:
        select, source = sql_select(sql, dialect), trees.sources()
        make_exact(select)
        view = f"starskip_{uuid4().hex}"
        rename_table(select, view, trees.answers_to)
        select = with_padded_literals(select, source.schema)
        _padded(self._rows(source), source).createOrReplaceTempView(view)
        try:
            # Analysed now, so that the view's name is no longer needed.
            return self._session.sql(select.sql(dialect="spark"))
        except PySparkException as error:
            raise UnsupportedQuery(
                f"Spark cannot run the query: {first_line(error, 300)}", reason="not_computed"
            ) from error
        finally:
            self._session.catalog.dropTempView(view)

    def _rows(self, source: SourceTable) -> DataFrame:
        """Return the recorded files' rows, with the trees' types of the columns."""
        types: Mapping[str, pa.DataType] = {field.name: field.type for field in source.schema}
        if source.is_versioned:
            return self._rows_of_version(source, types)
        reader = (
            self._session.read.option("basePath", source.path)
            if _has_partitions(source)
            else self._session.read
        )
        paths = [file.identity.path for file in source.files]
        if source.file_format == "csv":
            # Spark would infer other types from the text, so the trees' types are given.
            schema = ", ".join(
                f"`{name}` {from_arrow_type(type_).simpleString()}" for name, type_ in types.items()
            )
            return reader.schema(schema).option("nullValue", "\\N").csv(paths, header=True, emptyValue="")
        rows = reader.parquet(*paths)
        return rows.select(
            [
                col(f"`{name}`").cast(from_arrow_type(types[name])).alias(name)
                for name in types
                if name in rows.columns
            ]
        )

    def _rows_of_version(self, source: SourceTable, types: Mapping[str, pa.DataType]) -> DataFrame:
        """Return the rows of files that a log names, which also names their partitions and columns."""
        partitions = set(source.files[0].partition) if source.files else set()
        names = [name for name in types if name not in partitions]
        alike: dict[tuple[Any, ...], list[SourceFile]] = {}
        for file in source.files:
            there = _names_in(file, source)
            key = (*file.partition.items(), *(there.get(name) for name in names))
            alike.setdefault(key, []).append(file)
        if not alike:
            fields = [StructField(name, from_arrow_type(types[name])) for name in names]
            return self._session.createDataFrame([], StructType(fields))
        return reduce(
            DataFrame.unionAll, (self._rows_alike(source, files, types) for files in alike.values())
        )

    def _rows_alike(
        self, source: SourceTable, files: Sequence[SourceFile], types: Mapping[str, pa.DataType]
    ) -> DataFrame:
        """Return the rows of files of one partition that share their names for the table's columns."""
        first = files[0]
        there = {name: stored for name, stored in _names_in(first, source).items() if stored is not None}
        fields = [
            StructField(there[name], from_arrow_type(_stored_type(source, first, name, there[name])))
            for name in types
            if name in there and name not in first.partition
        ]
        paths = [file.identity.path for file in files]
        rows = self._session.read.schema(StructType(fields)).parquet(*paths)
        columns = {name: col(f"`{stored}`") for name, stored in there.items()}
        columns.update({name: lit(text) for name, text in first.partition.items()})
        return rows.select(
            [columns.get(name, lit(None)).cast(from_arrow_type(types[name])).alias(name) for name in types]
        )


def _padded(rows: DataFrame, source: SourceTable) -> DataFrame:
    """Return rows whose values of CHAR(n) are padded: Spark does not pad them, as they are read as texts."""
    lengths = {each.name: char_length(each) for each in source.schema}
    return rows.withColumns(
        {
            name: rpad(col(f"`{name}`"), greatest(length(col(f"`{name}`")), lit(most)), lit(" "))
            for name, most in lengths.items()
            if most is not None and name in rows.columns
        }
    )


def _names_in(file: SourceFile, source: SourceTable) -> Mapping[str, str | None]:
    """Return the name in a file of each column of its table, None for a column that it lacks."""
    if file.schema is None:
        return {name: name for name in source.schema.names}
    return stored_names(file.schema, source.columns, file.identity.path)


def _stored_type(source: SourceTable, file: SourceFile, name: str, stored: str) -> pa.DataType:
    """Return the type of a column in the files: the table's own, unless it is read as another type."""
    if name in source.casts and file.schema is not None and stored in file.schema.names:
        return plain_type(file.schema.field(stored).type)
    return source.schema.field(name).type


def _has_partitions(source: SourceTable) -> bool:
    return any(file.partition for file in source.files)
