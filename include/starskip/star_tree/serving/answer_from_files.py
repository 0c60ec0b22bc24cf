"""Answer a query that no star-tree fits from the rows of the table's files, exactly.

Functions that trees approximate become exact ones: DISTINCTCOUNTHLL a COUNT(DISTINCT), a percentile the value
of its rank, MINMAXRANGE a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from sqlglot import exp

from starskip.errors import StarskipError, UnsupportedQuery
from starskip.sql.nanoseconds import with_nanoseconds
from starskip.sql.sandboxed_duckdb import locked_database
from starskip.sql.spelled_names import Spelling
from starskip.sql.typed_literals import with_padded_literals, with_typed_literals
from starskip.star_tree.build.source_table import SourceTable
from starskip.star_tree.query.answer_names import answer_names
from starskip.star_tree.query.query_table import rename_table
from starskip.star_tree.query.rewrite_select import make_exact
from starskip.star_tree.query.scalar_functions import known_functions
from starskip.star_tree.query.sql_select import bounded_depth, select_tokens, sql_select
from starskip.star_tree.serving.finished_answer import with_one_zero

_ROWS = "rows of the files"
"""A name that SQL text does not have by chance."""
_ROWS_PER_CHUNK = 1 << 62
"""A file is opened once and read to its end: cutting it gains nothing in one process."""


@bounded_depth()
def answer_from_files(
    source: SourceTable, sql: str, dialect: str, answers_to: str | None = None
) -> tuple[pa.Table, int, int]:
    """Return the answer, the rows that were read and the rows of all files.

    ``answers_to``: the only table that may stand in FROM; None for any. Raises UnsupportedQuery for a query
    that is over another table or cannot be computed, SourceError for a file that cannot be read.
    """
    select = sql_select(sql, dialect)
    is_known = not any(item.is_star for item in select.expressions)
    names = answer_names(select, select_tokens(sql, dialect), sql, dialect) if is_known else None
    known_functions(select)
    places = rename_table(select, _ROWS, answers_to)
    types = {field.name: field.type for field in source.schema}
    columns = _columns(select, types)
    make_exact(select, [name for name, type_ in types.items() if pa.types.is_integer(type_)])
    select = with_padded_literals(select, source.schema)
    rows = _Rows(source, columns)
    database = locked_database(threads=None)
    try:
        if places > 1:
            # A stream can be read once only.
            database.keep(rows.reader(), _ROWS)
            table = database.rows(with_nanoseconds(select, types).sql(dialect="duckdb"))
        else:
            typed = with_typed_literals(select, types)
            table = database.rows(typed.sql(dialect="duckdb"), **{_ROWS: rows.reader()})
    except UnsupportedQuery as error:
        raise (rows.failure or error) from error
    table = with_one_zero(table)
    return (table if names is None else table.rename_columns(list(names))), rows.read, rows.total


def columns_read(sql: str, dialect: str, types: Mapping[str, pa.DataType]) -> list[str]:
    """Return the columns that ``answer_from_files`` reads; raises UnsupportedQuery as it does."""
    return _columns(sql_select(sql, dialect), types)


class _Rows:
    """The rows of all files as a stream that counts them; an error is kept, to be raised unchanged."""

    def __init__(self, source: SourceTable, columns: list[str]) -> None:
        self._source, self._columns = source, columns
        self.read = 0
        self.failure: StarskipError | None = None
        counted = [sum(file.row_group_rows) for file in source.files if file.row_group_rows is not None]
        self._total = sum(counted) if len(counted) == len(source.files) else None

    @property
    def total(self) -> int:
        """Return the number of rows of all files; for text files the number read so far."""
        return self.read if self._total is None else self._total

    def reader(self) -> pa.RecordBatchReader:
        schema = pa.schema([self._source.schema.field(name) for name in self._columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for chunk in self._source.chunks(_ROWS_PER_CHUNK):
                for table in self._source.batches(chunk, self._columns):
                    self.read += table.num_rows
                    yield from table.cast(schema).to_batches()
        except StarskipError as error:
            self.failure = error
            raise


def _columns(select: exp.Select, types: Mapping[str, pa.DataType]) -> list[str]:
    """Spell the columns as the table does; return the columns that the query reads, at least one."""
    spelling = Spelling(types)
    if any(True for star in select.find_all(exp.Star) if not isinstance(star.parent, exp.Count)):
        return list(types)
    others = {each.alias.lower() for each in select.find_all(exp.Alias)}
    used: dict[str, None] = {}
    for column in select.find_all(exp.Column):
        found = spelling.find(column.name)
        if found is not None:
            column.set("this", exp.to_identifier(found, quoted=True))
            used[found] = None
        elif column.name.lower() not in others:
            spelling.require(column.name)
    return list(used) or [next(iter(types))]
