"""Entries that Starskip's cost model predicts for one query under one set of indexes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
from pinot.filters.early_ends import EarlyEnd, Segment, early_end
from pinot.filters.filter_truth import Measured
from pinot.filters.opened_segments import OpenedSegment
from starskip.advisor.cost.bound_filter import BoundFilter
from starskip.advisor.cost.filter_cost import filter_entries
from starskip.advisor.cost.leaf_masks import ConstantFilter
from starskip.advisor.cost.pruned_segments import is_pruned, segment_ends
from starskip.advisor.families.index import Index
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

_WORD = re.compile(r"\w+")


class Predictor:
    """The cost model over all rows of all segments; what queries and sets have in common is kept."""

    def __init__(self, segments_of: Callable[[str], tuple[OpenedSegment, ...]]) -> None:
        """Take what opens the segments of a variant, in the order of their numbers."""
        self._segments_of = cache(segments_of)
        self._bound = cache(self._bind)
        self._early_end = cache(self._end_early)
        self._entries = cache(self._read)

    def entries(self, measured: Measured) -> tuple[float, ...] | None:
        """Return the entries scanned in filter for each copy that was asked; None: not understood."""
        sql, variant = measured.query.sql, measured.index_set.variant
        bound = self._bound(sql, variant)
        if bound is None:
            return None
        # Sets that differ in columns that the query does not name are one to it.
        words = set(_WORD.findall(sql))
        built = frozenset(Index("inverted", each) for each in measured.index_set.inverted if each in words)
        built |= {Index("range", each) for each in measured.index_set.ranges if each in words}

        def read(number: int, limit: int | None) -> float:
            return self._entries(sql, variant, built, number, limit)

        if not measured.query.ends_early:
            return (sum(read(number, None) for number in range(len(bound))),)
        end = self._early_end(sql, variant)
        return tuple(end.entries(order, read) for order in measured.orders)

    def _read(self, sql: str, variant: str, built: frozenset[Index], number: int, limit: int | None) -> float:
        bound = self._bound(sql, variant)
        assert bound is not None
        answers = self._segments_of(variant)[number].state.answers(built)
        found = filter_entries(bound[number], answers, limit)
        return found.eager + found.walked

    def _bind(self, sql: str, variant: str) -> list[BoundFilter] | None:
        try:
            cut = normalize_sql(sql)
            shape = query_shape(cut.skeleton)
        except UnsupportedQuery:
            return None
        binders = [each.binder for each in self._segments_of(variant)]
        return [
            ConstantFilter.EMPTY
            if is_pruned(shape.filter, cut.literals, segment_ends(each.window))
            else each.bind(shape.filter, cut.literals)
            for each in binders
        ]

    def _end_early(self, sql: str, variant: str) -> EarlyEnd:
        filters = self._bound(sql, variant)
        assert filters is not None
        found = []
        for segment, bound in zip(self._segments_of(variant), filters, strict=True):
            window = segment.binder.window
            mask = (
                np.full(window.rows, bound is ConstantFilter.EVERYTHING)
                if isinstance(bound, ConstantFilter)
                else bound.mask
            )
            found.append(Segment(window, mask, segment.state.sorted_columns))
        return early_end(sql, found)
