"""Finish an answer: results of aggregates, their arithmetic, HAVING, ORDER BY and LIMIT over the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.sql.sandboxed_duckdb import SandboxedDuckDB
from starskip.star_tree.aggregation_query import AggregationQuery
from starskip.star_tree.function_column_pair import AggregationFunction
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.measure_array import MeasureArray
from starskip.star_tree.measures.sketch_answers import distinct_counts, error_bound, percentiles
from starskip.star_tree.query.aggregate_call import AggregateCall
from starskip.star_tree.query.finishing import GROUPS_TABLE, Finishing

ERROR_BOUND = b"starskip.error_bound"
"""The key of an Arrow field's metadata with the error bound of an approximate column."""


_WIDEST_DECIMAL = pa.decimal128(38, 0)


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


@dataclass(frozen=True, slots=True)
class Approximation:
    """The error bound of ``column`` of an answer: ``bound`` is a sentence.

    ``ratio`` is of the count for distinct counts, and of all ranks for percentiles; ``confidence`` is None
    where the method proves no bound.
    """

    column: str
    bound: str
    ratio: float
    confidence: float | None


def aggregate_result(call: AggregateCall, measures: Mapping[Measure, MeasureArray]) -> pa.Array:
    """Return one value a group; null where the group has only nulls.

    COUNT and DISTINCTCOUNTHLL int64; SUM, MIN, MAX as their measures; AVG and percentiles float64;
    MINMAXRANGE int64 of integers (decimal128(38, 0) where one does not fit), else the type of the difference.
    """
    results = [measures[measure] for measure in call.measures]
    match call.function:
        case AggregationFunction.AVG:
            total, count = (pc.cast(array.results(), pa.float64(), safe=False) for array in results)
            # Without values the total is null, and so is the quotient.
            return pc.divide(total, count)
        case AggregationFunction.MINMAXRANGE:
            least, greatest = (array.results() for array in results)
            return difference(greatest, least)
        case AggregationFunction.DISTINCTCOUNTHLL:
            return distinct_counts(results[0].results())
        case AggregationFunction.PERCENTILEEST | AggregationFunction.PERCENTILETDIGEST:
            return percentiles(results[0].results(), call.measures[0].kind, call.percentile or 0.0)
    return results[0].results()


def approximation(call: AggregateCall, column: str) -> Approximation | None:
    """Return the error bound of ``call``, None if it is exact."""
    kind = call.measures[0].kind
    if not kind.is_sketch:
        return None
    bound = error_bound(kind)
    return Approximation(column, bound.text, bound.ratio, bound.confidence)


def difference(greatest: pa.Array, least: pa.Array) -> pa.Array:
    """Return ``greatest - least`` without overflow."""
    if pa.types.is_floating(greatest.type):
        return pc.subtract(pc.cast(greatest, pa.float64()), pc.cast(least, pa.float64()))
    if pa.types.is_decimal(greatest.type):
        wide, kept = pa.decimal256(38, greatest.type.scale), pa.decimal128(38, greatest.type.scale)
        return pc.subtract(greatest.cast(wide), least.cast(wide)).cast(kept)
    try:
        return pc.subtract_checked(pc.cast(greatest, pa.int64()), pc.cast(least, pa.int64()))
    except pa.ArrowInvalid:
        wide = pa.decimal128(20, 0)
        return pc.subtract(greatest.cast(wide), least.cast(wide)).cast(_WIDEST_DECIMAL)
