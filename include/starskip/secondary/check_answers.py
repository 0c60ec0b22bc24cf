"""Compare the answers of secondary indexes with a scan, on random predicates of a table's own columns.

One pass over the files counts the rows of all predicates. Then each way to answer a predicate that uses an
index is forced, and must count the same rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import ConfigError, StarskipError, UnsupportedQuery, printable
from starskip.lake.spark_types import spark_type
from starskip.predicates.column_name import column_path
from starskip.predicates.data_types import literal_type_of
from starskip.predicates.expression import Column, Expression
from starskip.predicates.expression_sql import expression_sql
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.indexed_table import IndexedTable, open_table
from starskip.secondary.plan_search import SCAN
from starskip.secondary.row_batches import row_batches
from starskip.secondary.row_filter import columns_in, row_filter
from starskip.secondary.secondary_index import Kind
from starskip.secondary.table_schema import field_values
from starskip.secondary.table_view import TableView
from starskip.skipping.random_predicates import Operand, random_predicates

_FILES, _VALUES = 16, 40
_OTHERS = 6
_LONGEST = 4096
_MOST_ROWS = 5_000
"""Rows of an answer that are looked at one by one; of longer answers the number is compared."""
_MOST_ROUNDS = 3


class UnlikeScan(StarskipError):
    """An index answers a predicate unlike a scan."""


@dataclass(frozen=True, slots=True)
class CheckedAnswers:
    """The number of ``predicates`` that were asked, and how often each index took part in an answer.

    ``beside``: files that are new or changed since the indexes were made; queries scan them.
    """

    predicates: int
    asked: dict[str, int] = field(default_factory=dict)
    beside: tuple[str, ...] = ()


def check_answers(
    path: str,
    *,
    predicates: int,
    seed: int,
    root: str | None = None,
    watched: Callable[[Sequence[DataFileOfTable]], Iterable[DataFileOfTable]] = iter,
) -> CheckedAnswers:
    """Ask random predicates; raises UnlikeScan for the first one that an index answers unlike a scan."""
    table, rng = open_table(path, metadata_root=root), random.Random(seed)  # noqa: S311 - draws no secrets
    state = table.opened.now()
    indexes = [each for each in state.indexes if each.kind_of_index is not Kind.PRIMARY]
    files = [*state.indexed_files(), *state.beside]
    named = {name: column_path(name) for index in indexes for name in index.columns}
    others = [each for each in state.schema.types() if each not in named.values()]
    operands = _operands(state, files, [*named.values(), *rng.sample(others, min(_OTHERS, len(others)))], rng)
    of_index = [
        [operands[named[name]] for name in index.columns if named[name] in operands] for index in indexes
    ]
    beside = [operand for column, operand in operands.items() if column not in named.values()]
    drawn = random_predicates(of_index, beside, rng, predicates, with_functions=False)
    asked = list(islice(filter(_is_evaluated(state), islice(drawn, predicates * _MOST_ROUNDS)), predicates))
    counts = _scanned(state, watched(files), asked)
    found = CheckedAnswers(
        len(asked),
        dict.fromkeys((index.specification for index in indexes), 0),
        tuple(file.path for file in state.beside),
    )
    for predicate, count in zip(asked, counts, strict=True):
        _compare(table, predicate, count, found)
    return found


def _operands(
    state: TableView, files: Sequence[DataFileOfTable], columns: Sequence[tuple[str, ...]], rng: random.Random
) -> dict[tuple[str, ...], Operand]:
    """Return columns with values of some files: any, and the ends of their first rows."""
    types = state.schema.types()
    values: dict[tuple[str, ...], list[pa.Array]] = {column: [] for column in columns}
    bounds: dict[tuple[str, ...], list[pa.Array]] = {column: [] for column in columns}
    for file in rng.sample(files, min(_FILES, len(files))):
        for batch in islice(row_batches(file, sorted({each[0] for each in columns}), state.schema), 1):
            places = rng.sample(range(batch.rows.num_rows), min(_VALUES, batch.rows.num_rows))
            for column in columns:
                known = field_values(batch.rows, column)
                values[column].append(known.take(pa.array(places, pa.int64())))
                if literal_type_of(spark_type(types[column])) is not None:
                    ends = pc.min_max(known)
                    bounds[column].append(pa.array([ends["min"], ends["max"]], known.type))
    return {
        column: Operand(
            Column(column, spark_type(types[column])),
            _scalars(values[column], spark_type(types[column])),
            _scalars(bounds[column], spark_type(types[column])),
        )
        for column in columns
    }


def _scalars(pieces: Sequence[pa.Array], data_type: str) -> tuple[pa.Scalar, ...]:
    kind = literal_type_of(data_type)
    if kind is None or not pieces:
        return ()
    known = pc.unique(pa.chunked_array(pieces).combine_chunks().cast(kind)).drop_null()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        known = known.filter(pc.less_equal(pc.binary_length(known), _LONGEST))
    return tuple(known)


def _is_evaluated(state: TableView) -> Callable[[Expression], bool]:
    """Return the test whether a predicate is evaluated on rows: on none here."""

    def is_evaluated(predicate: Expression) -> bool:
        schema = pa.schema([state.schema.columns.field(name) for name in columns_in(predicate)])
        try:
            row_filter(predicate, schema.empty_table())
            expression_sql(predicate)
        except (UnsupportedQuery, AssertionError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
        return True

    return is_evaluated


def _scanned(state: TableView, files: Iterable[DataFileOfTable], asked: Sequence[Expression]) -> list[int]:
    names = sorted({name for predicate in asked for name in columns_in(predicate)})
    counts = np.zeros(len(asked), np.int64)
    for file in files if names else ():
        for batch in row_batches(file, names, state.schema):
            counts += [_matching(predicate, batch.rows) for predicate in asked]
    return [int(each) for each in counts]


def _matching(predicate: Expression, rows: pa.Table) -> int:
    return int(pc.sum(row_filter(predicate, rows), min_count=0).as_py())


def _compare(table: IndexedTable, predicate: Expression, count: int, found: CheckedAnswers) -> None:
    plan = table.explain(predicate)
    for path in (None, *(each.path for each in plan.candidates)):
        if path is not None and path == SCAN:
            continue
        try:
            of_path = table.answer(predicate, path=path or (), is_count=True).count
        except ConfigError:
            continue  # a path that no user can force
        name = ", ".join(plan.chosen if path is None else path)
        if of_path != count:
            raise _unlike(name, f"{of_path:,} rows", predicate, f"a scan {count:,}")
        for index in path or ():
            if index in found.asked:
                found.asked[index] += 1
    if count <= _MOST_ROWS:
        rows = table.query(predicate)
        if (rows.num_rows, _matching(predicate, rows)) != (count, count):
            what = f"{rows.num_rows:,} rows, of which {_matching(predicate, rows):,} match"
            raise _unlike(", ".join(plan.chosen), what, predicate, f"a scan {count:,}")


def _unlike(name: str, answer: str, predicate: Expression, scan: str) -> UnlikeScan:
    return UnlikeScan(f"{name}: finds {answer}, {scan} WHERE {printable(expression_sql(predicate), 1000)}")
