"""Segments whose rows the cost model reads: Pinot's files, or the generator's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pinot.filters.generated_table import GeneratedTable
from pinot.filters.generated_windows import row_windows, sorted_columns
from starskip.advisor.cost.bound_filter import FilterBinder, filter_binder, is_served_by_sorting
from starskip.advisor.cost.segment_estimates import SegmentState
from starskip.advisor.families.access_rules import access_rules
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.tables.row_window import RowWindow

RULES = access_rules("0.11.0")


@dataclass(frozen=True, slots=True)
class OpenedSegment:
    """A segment with all of its rows."""

    state: SegmentState
    binder: FilterBinder


def opened_segments(segments: Path, variant: str, names: Sequence[str]) -> tuple[OpenedSegment, ...]:
    """Return the tarred segments of ``segments``/``variant`` in the order of ``names``."""
    found = {}
    for file in list_segments(segments, [variant]):
        facts = read_segment_facts(file)
        window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
        if window.unreadable:
            raise ValueError(f"{facts.segment}: {window.unreadable}")
        is_sorted = frozenset(column.name for column in facts.columns if column.is_sorted)
        found[facts.segment] = _opened(window, is_sorted)
    if set(found) != set(names):
        raise ValueError(f"{segments}: {variant} has other segments than those that were measured")
    return tuple(found[name] for name in names)


def generated_segments(table: GeneratedTable) -> tuple[OpenedSegment, ...]:
    """Return the generated rows as if they had been read from Pinot's files, in their order."""
    return tuple(_opened(window, sorted_columns(window)) for window in row_windows(table))


def _opened(window: RowWindow, is_sorted: frozenset[str]) -> OpenedSegment:
    state = SegmentState(RULES, is_sorted)
    served = partial(is_served_by_sorting, sorted_columns=is_sorted, rules=RULES)
    return OpenedSegment(state, filter_binder(window, served))
