"""Summarise the rows of a table, or of a piece of it, in one pass: sketches, spread rows, their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from starskip.advisor.families.star_tree.recommend.combination_sketch import (
    CombinationSample,
    CombinationSketch,
    combination_hashes,
)
from starskip.advisor.families.star_tree.recommend.combinations import Positions
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.errors import StorageError
from starskip.skipping.value_hash import value_hashes
from starskip.storage.checked_parquet import checked_parquet, opened_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

_MAX_STEP = 1 << 62


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """The rows whose position in the table is a multiple of ``step``; pieces follow one another."""

    step: int
    positions: Positions
    rows: pa.Table


def spread_rows(batch: pa.Table, first_position: int, step: int) -> SpreadRows:
    """Return the spread rows of a batch; ``first_position``: the position of its first row."""
    taken = np.arange(-first_position % step, batch.num_rows, step)
    return SpreadRows(step, first_position + taken, batch.take(pa.array(taken)))


def spread_together(parts: Sequence[SpreadRows], most_rows: int) -> SpreadRows:
    """Return the rows of all parts, with a step that is doubled until they are at most ``most_rows``.

    The steps of all parts are doublings of one first step. So the result does not depend on which parts were
    put together before.
    """
    step = max(part.step for part in parts)
    positions = np.concatenate([part.positions for part in parts])
    rows = pa.concat_tables([part.rows for part in parts])
    kept = np.flatnonzero(positions % step == 0)
    while len(kept) > most_rows and step < _MAX_STEP:
        step *= 2
        kept = kept[positions[kept] % step == 0]
    if len(kept) < len(positions):
        positions, rows = positions[kept], rows.take(pa.array(kept))
    return SpreadRows(step, positions, rows.combine_chunks())


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """The bounds of a summary: sketches of ``size`` combinations for each of ``sets``, ``most_rows`` rows.

    ``schema``: the columns that are read. ``step``: the first step of the spread rows.
    """

    schema: pa.Schema
    sets: tuple[tuple[str, ...], ...]
    size: int
    step: int
    most_rows: int


class RowsSummary:
    """A summary that starts without rows; it does not depend on how the rows were cut into pieces."""

    def __init__(self, plan: SummaryPlan) -> None:
        """Start with no row."""
        self.rows = 0
        self.sketches = [CombinationSketch(dimensions, plan.size) for dimensions in plan.sets]
        self.spread = SpreadRows(plan.step, np.empty(0, np.int64), plan.schema.empty_table())
        self._most_rows = plan.most_rows

    def add(self, batch: pa.Table, first_position: int) -> None:
        """Add rows; ``first_position``: the position of the first of them in the table."""
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
        for name, column in _sketch_columns(sketch).items():
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
        summary.sketches[number] = _sketch_of_columns(own, dimensions, plan.size)
    return summary


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


_DAMAGE = (OSError, ValueError, LookupError, TypeError, pa.ArrowException)


def write_summary(staged: StagedWrite, table: str, summary: RowsSummary) -> DataFile:
    """Write a summary as one file and return it."""
    name = staged.new_name(table, "summary.parquet")
    return staged.write_named(name, checked_parquet(summary_table(summary), name).to_pybytes())


def read_summary(storage: Storage, file: DataFile, plan: SummaryPlan) -> RowsSummary:
    """Return a stored summary that was made by ``plan``; StorageError if it is gone or not as written."""
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            return summary_of_table(opened_parquet(opened, file).read(), plan)
    except _DAMAGE as error:
        raise StorageError(
            f"{file.name}: is gone or damaged; let all executors write to the same store and run this step "
            "again",
            location=file.name,
        ) from error


def _sketch_columns(sketch: CombinationSketch) -> dict[str, pa.Array]:
    """Return the columns of a sketch: values and counts of its samples end to end, without their hashes.

    One value for each sample: ``sets`` (bit i: the i-th dimension is in it), ``lengths`` and ``below``. One
    for each combination, sample by sample: ``rows``, and ``value(d)`` for samples with dimension d.
    """
    samples = sketch.samples
    columns = {
        "sets": pa.array([_bits(of, sketch.dimensions) for of in samples], pa.int64()),
        "lengths": pa.array([len(sample.hashes) for sample in samples.values()], pa.int64()),
        "below": pa.array([sample.below for sample in samples.values()], pa.uint64()),
        "rows": pa.array(np.concatenate([np.empty(0, np.int64), *(item.rows for item in samples.values())])),
    }
    for name in sketch.dimensions:
        chunks = [c for of, sample in samples.items() if name in of for c in sample.values[name].chunks]
        columns[f"value({name})"] = pa.concat_arrays(chunks) if chunks else pa.nulls(0)
    return columns


def _sketch_of_columns(
    columns: Mapping[str, pa.Array], dimensions: tuple[str, ...], size: int
) -> CombinationSketch:
    """Return the sketch of these dimensions and this size; ValueError if the columns do not fit.

    The hashes are computed again from the values; they show that nothing was changed.
    """
    sets = [_set(bits, dimensions) for bits in columns["sets"].to_pylist()]
    below = columns["below"].to_pylist()
    lengths, rows = (columns[name].cast(pa.int64()).to_numpy() for name in ("lengths", "rows"))
    if not (
        len(set(sets)) == len(sets) == len(lengths) == len(below)
        and (not sets or frozenset(dimensions) in sets)
        and (lengths > 0).all()
        and (lengths <= size).all()
        and lengths.sum() == len(rows)
    ):
        raise ValueError("not the samples of a sketch")
    values = {name: columns[f"value({name})"] for name in dimensions}
    for name, column in values.items():
        if len(column) != sum(n for of, n in zip(sets, lengths.tolist(), strict=True) if name in of):
            raise ValueError("combinations without a value")
    hashes = {name: value_hashes(values[name], place) for place, name in enumerate(dimensions)}
    taken = dict.fromkeys(dimensions, 0)
    samples: dict[Dimensions, CombinationSample] = {}
    ends = np.cumsum(lengths)
    for of, length, end, limit in zip(sets, lengths.tolist(), ends.tolist(), below, strict=True):
        names = [name for name in dimensions if name in of]
        cut = {name: slice(taken[name], taken[name] + length) for name in names}
        taken.update({name: taken[name] + length for name in names})
        combined = combination_hashes({name: hashes[name][cut[name]] for name in names}, of)
        if (combined[1:] <= combined[:-1]).any() or (limit is not None and int(combined[-1]) > limit):
            raise ValueError("combinations that are not in the order of their hashes")
        own = pa.table({name: values[name].slice(taken[name] - length, length) for name in names})
        samples[of] = CombinationSample(combined, own, rows[end - length : end], limit)
    return CombinationSketch(dimensions, size, samples)


def _bits(of: Dimensions, dimensions: Sequence[str]) -> int:
    return sum(1 << place for place, name in enumerate(dimensions) if name in of)


def _set(bits: int, dimensions: Sequence[str]) -> Dimensions:
    return frozenset(name for place, name in enumerate(dimensions) if bits >> place & 1)
