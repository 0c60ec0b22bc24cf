"""Compute the results of a query's aggregations from merged intermediate results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.star_tree.function_column_pair import AggregationFunction
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.measure_array import MeasureArray
from starskip.star_tree.measures.sketch_answers import distinct_counts, error_bound, percentiles
from starskip.star_tree.query.aggregate_call import AggregateCall

_WIDEST_DECIMAL = pa.decimal128(38, 0)


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
