"""Create the intermediate results of single rows, and read stored ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from starskip.errors import CapExceeded
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.measures.counts_and_sums import Counts, FloatSums
from starskip.star_tree.measures.exact_sums import ExactSums
from starskip.star_tree.measures.extremes import Extremes
from starskip.star_tree.measures.measure_array import MeasureArray
from starskip.star_tree.measures.sketches import SketchedRows, Sketches


def initial_measure(measure: Measure, values: pa.Array | None, rows: int) -> MeasureArray:
    """Return one intermediate result a row; ``values`` is the column, None for the count of rows.

    Raises CapExceeded naming the column for a value that no exact sum holds.
    """
    try:
        return _of_rows(measure, values, rows)
    except CapExceeded as error:
        raise CapExceeded(f"column {measure.column}: {error}") from error


def _of_rows(measure: Measure, values: pa.Array | None, rows: int) -> MeasureArray:
    kind = measure.kind
    if kind is MeasureKind.ROWS or values is None:
        return Counts.of_rows(rows)
    if kind is MeasureKind.COUNT:
        return Counts.of_values(values)
    if kind is MeasureKind.SUM:
        return (
            FloatSums.from_arrow(values) if pa.types.is_floating(values.type) else ExactSums.of_values(values)
        )
    if kind.is_sketch:
        return SketchedRows(values, kind)
    return Extremes.from_arrow(values, is_greatest=kind is MeasureKind.MAX)


def stored_measure(measure: Measure, stored: pa.Array, column_type: pa.DataType | None) -> MeasureArray:
    """Return the intermediate results that ``to_arrow`` stored; ``column_type``: of the table's column."""
    kind = measure.kind
    if kind in (MeasureKind.ROWS, MeasureKind.COUNT) or column_type is None:
        return Counts.from_arrow(stored)
    if kind is MeasureKind.SUM:
        if pa.types.is_floating(column_type):
            return FloatSums.from_arrow(stored)
        scale = column_type.scale if pa.types.is_decimal(column_type) else None
        return ExactSums.from_arrow(stored, scale)
    if kind.is_sketch:
        return Sketches.from_arrow(stored, kind)
    return Extremes.from_arrow(stored, is_greatest=kind is MeasureKind.MAX)


def no_measure(measure: Measure, column_type: pa.DataType | None, groups: int) -> MeasureArray:
    """Return the results of groups without rows: counts of 0, empty sketches, null for all else."""
    values = pa.nulls(groups, column_type) if column_type is not None else None
    if measure.kind is MeasureKind.ROWS or values is None:
        return Counts(np.zeros(groups, np.int64))
    array = initial_measure(measure, values, groups)
    merged: MeasureArray = array.merged(np.arange(groups)) if groups else array
    return merged
