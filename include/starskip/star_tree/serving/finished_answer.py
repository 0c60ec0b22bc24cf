"""Finish an answer: arithmetic of aggregates, HAVING, ORDER BY and LIMIT over the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from starskip.sql.sandboxed_duckdb import SandboxedDuckDB
from starskip.star_tree.aggregation_query import AggregationQuery
from starskip.star_tree.measure import Measure
from starskip.star_tree.query.finishing import GROUPS_TABLE, Finishing
from starskip.star_tree.serving.aggregate_results import (
    Approximation,
    aggregate_result,
    approximation,
)

ERROR_BOUND = b"starskip.error_bound"
"""The key of an Arrow field's metadata with the error bound of an approximate column."""


def finished_answer(
    query: AggregationQuery,
    group_values: Sequence[pa.Array],
    measures: Mapping[Measure, pa.Array],
    database: SandboxedDuckDB,
) -> tuple[pa.Table, tuple[Approximation, ...]]:
    """Return the answer of ``query``, and the error bounds of its approximate columns.

    ``group_values`` has one array for each of the query's group expressions, ``measures`` one value a group.
    """
    finish = query.finishing
    columns = {f"g{position}": values for position, values in enumerate(group_values)}
    for position, call in enumerate(query.aggregates):
        columns[f"a{position}"] = aggregate_result(call, measures)
    if finish.columns is not None:
        table = pa.table([columns[name] for name in finish.columns], names=list(finish.names))
    else:
        groups = pa.table(columns)
        table = database.rows(finish.select, **{GROUPS_TABLE: groups})
        table = table.rename_columns(list(finish.names))
    table = with_one_zero(table)
    approximations = _approximations(query, finish)
    return _with_bounds(table, approximations), tuple(approximations.values())


def with_one_zero(table: pa.Table) -> pa.Table:
    """Return an answer without -0.0, which equals 0.0: which of the two comes first is chance."""
    for position, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            one = pc.add(column, pa.scalar(0.0, column.type))
            table = table.set_column(position, table.column_names[position], one)
    return table


def _approximations(query: AggregationQuery, finish: Finishing) -> dict[int, Approximation]:
    """Return the bounds by position in the answer; arithmetic on an approximate value has no known bound."""
    calls = {f"a{position}": call for position, call in enumerate(query.aggregates)}
    found = {}
    for position, (name, source) in enumerate(zip(finish.names, finish.sources, strict=True)):
        bound = approximation(calls[source], name) if source in calls else None
        if bound is not None:
            found[position] = bound
    return found


def _with_bounds(table: pa.Table, approximations: Mapping[int, Approximation]) -> pa.Table:
    fields = [
        field.with_metadata({ERROR_BOUND: approximations[position].bound.encode()})
        if position in approximations
        else field
        for position, field in enumerate(table.schema)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
