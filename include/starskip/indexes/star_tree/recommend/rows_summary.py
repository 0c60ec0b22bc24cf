"""What one pass keeps of a table's rows, or of a piece of them: sketches, spread rows, and their number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from starskip.indexes.star_tree.recommend.combination_sketch import CombinationSketch
from starskip.indexes.star_tree.recommend.sketch_columns import sketch_columns, sketch_of_columns
from starskip.indexes.star_tree.recommend.spread_rows import SpreadRows, spread_rows, spread_together


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """What is kept: of each of ``sets`` a sketch of ``size`` combinations, and at most ``most_rows`` rows.

    ``schema``: the columns that are read. ``step``: of the spread rows, as long as they are few enough.
    """

    schema: pa.Schema
    sets: tuple[tuple[str, ...], ...]
    size: int
    step: int
    most_rows: int


class RowsSummary:
    """Made of no row; the summary of several pieces does not depend on how they were cut."""

    def __init__(self, plan: SummaryPlan) -> None:
        """Start with no row."""
        self.rows = 0
        self.sketches = [CombinationSketch(dimensions, plan.size) for dimensions in plan.sets]
        self.spread = SpreadRows(plan.step, np.empty(0, np.int64), plan.schema.empty_table())
        self._most_rows = plan.most_rows

    def add(self, batch: pa.Table, first_position: int) -> None:
        """Add rows, of which the first has that position in the table."""
        self.rows += batch.num_rows
        for sketch in self.sketches:
            sketch.add(batch)
        taken = spread_rows(batch, first_position, self.spread.step)
        self.spread = spread_together([self.spread, taken], self._most_rows)

    def merge(self, other: RowsSummary) -> None:
        """Add the rows of ``other``, a summary by the same plan of rows further behind."""
        self.rows += other.rows
        for sketch, added in zip(self.sketches, other.sketches, strict=True):
            sketch.merge(added)
        self.spread = spread_together([self.spread, other.spread], self._most_rows)


def summary_table(summary: RowsSummary) -> pa.Table:
    """Return the summary as one row to be stored: each column is a list."""
    spread = summary.spread
    columns = {
        "rows": pa.array([summary.rows], pa.int64()),
        "step": pa.array([spread.step], pa.int64()),
        "positions": pa.array(spread.positions, pa.int64()),
    }
    for name in spread.rows.schema.names:
        columns[f"row({name})"] = _one_array(spread.rows[name])
    for number, sketch in enumerate(summary.sketches):
        for name, column in sketch_columns(sketch).items():
            columns[f"sketch({number}).{name}"] = column
    return pa.table({name: pa.ListArray.from_arrays([0, len(each)], each) for name, each in columns.items()})


def summary_of_table(table: pa.Table, plan: SummaryPlan) -> RowsSummary:
    """Return the summary that ``table`` holds; LookupError, ValueError or Arrow's error if it holds none."""
    if table.num_rows != 1:
        raise ValueError("a summary is one row")
    columns = {name: _one_array(table[name]).flatten() for name in table.schema.names}
    summary = RowsSummary(plan)
    (summary.rows,), (step,) = (columns[name].cast(pa.int64()).to_pylist() for name in ("rows", "step"))
    if step < plan.step:
        raise ValueError("a step that is too small")
    sampled = pa.table([columns[f"row({name})"] for name in plan.schema.names], names=plan.schema.names)
    positions = columns["positions"].cast(pa.int64()).to_numpy()
    if len(positions) != sampled.num_rows:
        raise ValueError("rows without a position")
    summary.spread = spread_together([SpreadRows(step, positions, sampled.cast(plan.schema))], plan.most_rows)
    for number, dimensions in enumerate(plan.sets):
        prefix = f"sketch({number})."
        own = {name.removeprefix(prefix): each for name, each in columns.items() if name.startswith(prefix)}
        for name in dimensions:
            own[f"value({name})"] = own[f"value({name})"].cast(plan.schema.field(name).type)
        summary.sketches[number] = sketch_of_columns(own, dimensions, plan.size)
    return summary


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
