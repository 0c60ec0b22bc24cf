"""The rows of one table of an artefact reduced to sums, least and greatest values, one batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.artefact_rows import stream_rows
from starskip.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of each row, and the function that brings values together; nulls are left out."""

    expression: pc.Expression
    fold: Literal["sum", "min", "max"]


def count(condition: pc.Expression) -> Measure:
    """Return the number of rows for which ``condition`` is true."""
    return Measure(condition.cast(pa.int64()), "sum")


def count_missing(column: str) -> Measure:
    """Return the number of rows without a value in ``column``."""
    return count(pc.field(column).is_null())


def count_unequal(column: str, value: str) -> Measure:
    """Return the number of rows with another value in ``column``, or none."""
    return count((pc.field(column) != value) | pc.field(column).is_null())


def reduce_rows(
    snapshot: Snapshot, table: str, measures: Mapping[str, Measure], by: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return one row for all rows, or one for each value of the columns ``by``, which must be few.

    Sums of int64 wrap around: also measure the bounds of the values, or use ``exact_sum``.
    """
    columns = {name: pc.field(name) for name in by} | {n: m.expression for n, m in measures.items()}
    folds = [(name, measure.fold) for name, measure in measures.items()]
    held: pa.Table | None = None
    for batch in stream_rows(snapshot, table, columns):
        rows = pa.Table.from_batches([batch])
        grouped = (pa.concat_tables([held, rows]) if held else rows).group_by(list(by)).aggregate(folds)
        held = grouped.select([*by, *(f"{name}_{fold}" for name, fold in folds)]).rename_columns(
            list(columns)
        )
    found = held.to_pylist() if held is not None else [] if by else [dict.fromkeys(measures)]
    sums = [name for name, fold in folds if fold == "sum"]
    return [row | {name: row[name] or 0 for name in sums} for row in found]


def exact_sum(column: str) -> dict[str, Measure]:
    """Return the two measures of a sum of int64 that may itself need more bits; see ``sum_of``."""
    value = pc.field(column)
    return {
        f"{column}_high": Measure(pc.shift_right(value, 32), "sum"),
        f"{column}_low": Measure(pc.bit_wise_and(value, 0xFFFFFFFF), "sum"),
    }


def sum_of(row: Mapping[str, Any], column: str) -> int:
    """Return the sum that ``exact_sum`` measured."""
    return int(row[f"{column}_high"] << 32) + int(row[f"{column}_low"])
