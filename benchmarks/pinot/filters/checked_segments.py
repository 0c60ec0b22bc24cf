"""Measured segments held against the rows that the generator makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pinot.filters.events_table import events_table
from pinot.filters.filter_truth import FilterTruth
from pinot.filters.generated_table import GeneratedTable
from pinot.filters.generated_windows import row_windows, sorted_columns
from pinot.filters.index_sets import RESORTED_COLUMN, resorted_name
from pinot.filters.orders_table import orders_table
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.tables.row_window import ColumnWindow

GENERATORS = {"events": events_table, "orders": orders_table}


def generated_variants(truth: FilterTruth) -> dict[str, GeneratedTable]:
    """Return the tables of a truth by variant; raises ValueError if the generator has changed since."""
    found = {}
    for name, described in truth.document["tables"].items():
        table = GENERATORS[name](described["seed"])
        if table.checksum != described["rows_sha256"]:
            raise ValueError(f"{name}: the generator makes other rows than those that were measured")
        found[name] = table
        found[resorted_name(name)] = table.sorted_by(RESORTED_COLUMN, resorted_name(name))
    return found


def check_segments(truth: FilterTruth, segments: Path) -> None:
    """Raise ValueError unless Pinot's segments hold the generated rows, and are sorted as those are."""
    for variant, table in generated_variants(truth).items():
        by_rows = {window.rows: window for window in row_windows(table)}
        for file in list_segments(segments, [variant]):
            facts = read_segment_facts(file)
            names = [column.name for column in facts.columns]
            found = read_row_window(file, names, max_rows=facts.rows)
            made = by_rows.pop(facts.rows)
            for name in names:
                if not _is_same(found.columns[name], made.columns[name]):
                    raise ValueError(f"{facts.segment}: {name} is not what was generated")
            is_sorted = {c.name for c in facts.columns if c.is_sorted and c.has_dictionary}
            if is_sorted != sorted_columns(made):
                raise ValueError(f"{facts.segment}: sorted by {sorted(is_sorted)}")
        if by_rows:
            raise ValueError(f"{segments}: {variant} has too few segments")


def _is_same(one: ColumnWindow, other: ColumnWindow) -> bool:
    values = [each.dictionary if each.dictionary is not None else each.values for each in (one, other)]
    same_codes = _is_equal(one.codes, other.codes) and _is_equal(one.offsets, other.offsets)
    return same_codes and _is_equal(one.nulls, other.nulls) and values[0].equals(values[1])


def _is_equal(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)
