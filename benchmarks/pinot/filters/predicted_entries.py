"""Entries that Starskip's cost model predicts for one query under one set of indexes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from pinot.filters.early_ends import EarlyEnd, Segment, early_end
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.index_sets import IndexSet
from starskip.errors import UnsupportedQuery
from starskip.pinot.index_rules import index_rules
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.scoring.bound_filter import BoundFilter, FilterBinder, filter_binder, is_served_by_sorting
from starskip.scoring.filter_cost import filter_entries
from starskip.scoring.leaf_masks import Fixed
from starskip.scoring.segment_estimates import SegmentState
from starskip.scoring.structure import Structure
from starskip.sql.fingerprint import fingerprint
from starskip.sql.query_shape import query_shape

PINOT = "0.11.0"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Segment:
    state: SegmentState
    binder: FilterBinder


def predicted_entries(query: GeneratedQuery, segments: Path, index_set: IndexSet) -> float | None:
    """Return the entries scanned in filter of all segments, None where the query is not understood.

    ``segments`` has a folder of tarred segments for each variant of a table; all rows of them are read.
    """
    words = set(_WORD.findall(query.sql))
    # Sets that differ in columns that the query does not name are one to it.
    inverted = frozenset(index_set.inverted) & words
    ranges = frozenset(index_set.ranges) & words
    return _predicted(query.sql, query.ends_early, segments, index_set.variant, inverted, ranges)


@cache
def _predicted(
    sql: str,
    ends_early: bool,
    segments: Path,
    variant: str,
    inverted: frozenset[str],
    ranges: frozenset[str],
) -> float | None:
    bound = _bound(sql, segments, variant)
    if bound is None:
        return None
    built = frozenset(Structure("inverted", column) for column in inverted)
    built |= {Structure("range", column) for column in ranges}

    def entries(number: int, limit: int | None) -> float:
        answers = _opened(segments, variant)[number].state.answers(built)
        found = filter_entries(bound[number], answers, limit)
        return found.eager + found.walked

    if not ends_early:
        return sum(entries(number, None) for number in range(len(bound)))
    return _early_end(sql, segments, variant).expected(entries)


@cache
def _bound(sql: str, segments: Path, variant: str) -> list[BoundFilter] | None:
    try:
        cut = fingerprint(sql)
        shape = query_shape(cut.skeleton)
    except UnsupportedQuery:
        return None
    return [segment.binder.bind(shape.filter, cut.literals) for segment in _opened(segments, variant)]


@cache
def _early_end(sql: str, segments: Path, variant: str) -> EarlyEnd:
    filters = _bound(sql, segments, variant)
    assert filters is not None
    found = []
    for segment, bound in zip(_opened(segments, variant), filters, strict=True):
        window = segment.binder.window
        mask = np.full(window.rows, bound is Fixed.EVERYTHING) if isinstance(bound, Fixed) else bound.mask
        found.append(Segment(window, mask, segment.state.sorted_columns))
    return early_end(sql, found)


@cache
def _opened(segments: Path, variant: str) -> tuple[_Segment, ...]:
    rules = index_rules(PINOT)
    found = []
    for file in list_segments(segments, [variant]):
        facts = read_segment_facts(file)
        window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
        if window.unreadable:
            raise ValueError(f"{facts.segment}: {window.unreadable}")
        state = SegmentState(rules, frozenset(column.name for column in facts.columns if column.is_sorted))
        binder = filter_binder(
            window, partial(is_served_by_sorting, sorted_columns=state.sorted_columns, rules=rules)
        )
        found.append(_Segment(state, binder))
    return tuple(found)
