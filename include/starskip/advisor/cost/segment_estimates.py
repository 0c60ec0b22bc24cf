"""Entries that sampled queries would scan in one segment under each set of indexes.

The map step of strategy leapfrog: one segment's rows in, one row for each query instance out.
``merge_estimates`` sums the rows of the same instance over segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.alternatives import Candidates, DisjunctAlternatives, disjunct_alternatives
from starskip.advisor.cost.bound_filter import (
    BoundFilter,
    FilterBinder,
    filter_binder,
    is_served_by_sorting,
)
from starskip.advisor.cost.drawn_literals import LiteralDrawer, lacks_literals
from starskip.advisor.cost.filter_cost import Answers, filter_cost, filter_entries
from starskip.advisor.cost.leaf_masks import LEAST_UNKNOWN_RATIO, ConstantFilter
from starskip.advisor.cost.observed_scan import observed_scan
from starskip.advisor.cost.pruned_segments import (
    BloomFilters,
    ColumnEnds,
    is_pruned,
    pruned_ratio,
    segment_ends,
)
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.advisor.workload.shape_workload import Instance, Literals, ShapeWorkload
from starskip.sql.predicate import And, Leaf, Operator, Predicate, Slot, leaves
from starskip.sql.query_shape import DEFAULT_LIMIT, QueryShape, parsed_shape
from starskip.storage.schemas import ESTIMATES
from starskip.tables.row_window import RowWindow
from starskip.tables.thin_window import sorted_rows


@dataclass(frozen=True, slots=True)
class SegmentState:
    """Access paths of this segment today: its sorted columns and its present indexes.

    ``constant_columns``: columns with one value, which are sorted whatever the order of the rows.
    ``values_a_row``: distinct values of a column for each row of the segment, where they are known.
    """

    rules: AccessRules
    sorted_columns: frozenset[str] = frozenset()
    in_force: frozenset[Index] = frozenset()
    constant_columns: frozenset[str] = frozenset()
    values_a_row: Mapping[str, float] = field(default_factory=dict)

    def is_free(self, leaf: Leaf) -> bool:
        """Return whether the order of the rows answers ``leaf``."""
        return is_served_by_sorting(leaf, self.sorted_columns, self.rules)

    def sorted_by(self, column: str) -> SegmentState:
        """Return the state of the same rows once they are sorted by ``column``."""
        return replace(self, sorted_columns=self.sorted_columns & self.constant_columns | {column})

    def bloom_columns(self, alternative: frozenset[Index]) -> frozenset[str]:
        """Return the columns by whose values segments are pruned, once ``alternative`` is applied."""
        return frozenset(
            index.column for index in self.after(alternative) if self.rules.is_pruning(index.family)
        )

    def answers(self, alternative: frozenset[Index]) -> Answers:
        """Return the entries a row that indexes read for each leaf, once ``alternative`` is applied."""
        return _Answers(self, self.after(alternative), {}).__getitem__

    def price(self, leaf: Leaf, index: Index) -> float | None:
        """Return the entries a row that ``index`` reads to answer ``leaf``; None if it does not answer it."""
        if index.column != leaf.column or not self.rules.serves(index.family, leaf):
            return None
        values = self.values_a_row.get(leaf.column, 0.0)
        return self.rules.reads_ratio(index.family) + values * self.rules.dictionary_reads(index.family, leaf)

    def after(self, alternative: frozenset[Index]) -> frozenset[Index]:
        """Return the indexes that there are once ``alternative`` is applied."""
        dropped = {index.dropped for index in alternative}
        return (self.in_force - dropped) | {index for index in alternative if index.dropped is None}


class _Answers(dict[Leaf, float | None]):
    """Prices of leaves: the entries a row that the cheapest of some indexes reads, computed at first use."""

    def __init__(
        self, state: SegmentState, indexes: frozenset[Index], known: Mapping[Leaf, float | None]
    ) -> None:
        super().__init__(known)
        self._state, self._indexes = state, indexes

    def __missing__(self, leaf: Leaf) -> float | None:
        prices = (self._state.price(leaf, index) for index in self._indexes)
        found = self[leaf] = min((each for each in prices if each is not None), default=None)
        return found


@dataclass(frozen=True, slots=True)
class InstanceShare:
    """Instances that are simulated on a segment: one in ``every``, other ones on the next segment.

    Only the ratio of entries with and without indexes counts, so an instance needs some segments and not all
    of them.
    """

    every: int
    segment: int

    def includes(self, instance: int) -> bool:
        """Return whether instance number ``instance`` is simulated here."""
        return (instance + self.segment) % self.every == 0


_ALL_INSTANCES = InstanceShare(1, 0)


def estimate_segment(
    window: RowWindow,
    state: SegmentState,
    shapes: Sequence[ShapeWorkload],
    candidates: Candidates,
    table_rows: int,
    shares: Mapping[str, InstanceShare] | None = None,
    *,
    has_all_values: bool = False,
) -> pa.RecordBatch:
    """Return ESTIMATES rows of one segment for the instances of ``shapes`` (all of the window's table).

    ``shares``: by shape the instances that are simulated here; of another shape all are.
    ``has_all_values``: the window knows the values of all rows, also of columns without dictionary.

    ``entries`` holds entries scanned in filter by the whole segment, one number for each alternative, in the
    order of DisjunctAlternatives; ``ns`` what they cost. A segment without rows has no estimates.
    """
    if not window.rows:
        return pa.RecordBatch.from_pylist([], ESTIMATES)
    simulated_ratio = window.segment_rows / max(table_rows, window.segment_rows)
    orders = _SortOrders(window, state)
    drawer = LiteralDrawer(orders.today, partial(filter_cost, answers=state.answers(frozenset())))
    ends, filters = segment_ends(window), BloomFilters(window)
    rows: list[tuple[object, ...]] = []
    for workload in shapes:
        shape = parsed_shape(workload.skeleton)
        share = (shares or {}).get(workload.shape_id, _ALL_INSTANCES)
        drawn = _drawn(drawer, shape, workload, table_rows, share)
        asked = {
            position: (drawn.get(position, literals), instance)
            for position, (literals, instance) in enumerate(workload.instances.items())
            if share.includes(position)
        }
        disjuncts = disjunct_alternatives(shape, candidates, state.rules)
        ways = orders.ways(disjuncts)
        # What a filter rules out is the whole query, not one side of an OR.
        blooms = [
            [
                state.bloom_columns(each) if has_all_values and one.disjunct is shape.filter else frozenset()
                for each in one.alternatives
            ]
            for one in disjuncts
        ]
        for position, (literals, instance) in asked.items():
            if is_pruned(shape.filter, literals, ends):
                reads = [[(0.0, 0.0)] * len(each.of_alternatives) for each in ways]
            else:
                unknown = _unknown_ratio(orders.today, shape, literals, instance, table_rows)
                limit = _early_limit(shape, literals, instance)
                reads = orders.reads(ways, literals, unknown, limit)
                if any(map(any, blooms)):
                    left = cache(partial(_left_ratio, shape.filter, literals, ends, filters))
                    reads = [
                        [
                            (entries * left(columns), ns * left(columns))
                            for (entries, ns), columns in zip(*each, strict=True)
                        ]
                        for each in zip(reads, blooms, strict=True)
                    ]
            rows.extend(
                (window.table, workload.shape_id, number, position, *_columns(of_disjunct), simulated_ratio)
                for number, of_disjunct in enumerate(reads)
            )
    return _estimate_rows(rows).to_batches()[0] if rows else pa.RecordBatch.from_pylist([], ESTIMATES)


def _left_ratio(
    predicate: Predicate,
    literals: Literals,
    ends: Mapping[str, ColumnEnds],
    filters: BloomFilters,
    columns: frozenset[str],
) -> float:
    """Return the share of entries that is left where the ``columns`` have bloom filters."""

    def lacks(leaf: Leaf) -> float:
        asked = leaf.operator in (Operator.EQUAL, Operator.IN) and leaf.column in columns
        return filters.lacking(leaf, literals) if asked else 0.0

    return 1.0 - pruned_ratio(predicate, literals, ends, lacks)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The different ways to read a disjunct: a way is a sort order and the leaves that indexes answer.

    ``of_alternatives``: the way of each alternative; sets of indexes that answer the same leaves share a way.
    """

    disjunct: Predicate
    ways: Mapping[object, tuple[str | None, Answers]]
    of_alternatives: Sequence[object]


class _SortOrders:
    """A window in the present order of its rows, and sorted by other columns."""

    def __init__(self, window: RowWindow, state: SegmentState) -> None:
        self.today = filter_binder(window, state.is_free)
        self._window = window
        self._state = state
        self._binders: dict[str | None, FilterBinder] = {None: self.today}

    def ways(self, disjuncts: Iterable[DisjunctAlternatives]) -> list[_Ways]:
        """Return the ways to read each disjunct, for all queries of a shape."""
        state = self._state
        found = []
        for disjunct in disjuncts:
            asked = tuple(dict.fromkeys(leaves(disjunct.disjunct)))
            after = [state.after(alternative) for alternative in disjunct.alternatives]
            every = frozenset().union(*after)
            prices = [
                [(index, price) for index in every if (price := state.price(leaf, index)) is not None]
                for leaf in asked
            ]
            ways: dict[object, tuple[str | None, Answers]] = {}
            of_alternatives: list[object] = []
            for alternative, indexes in zip(disjunct.alternatives, after, strict=True):
                answered = [
                    min((price for index, price in of_leaf if index in indexes), default=None)
                    for of_leaf in prices
                ]
                order = next((item.column for item in alternative if state.rules.reorders(item.family)), None)
                way = (order, *answered)
                if way not in ways:
                    answers = _Answers(state, indexes, dict(zip(asked, answered, strict=True)))
                    ways[way] = (order, answers.__getitem__)
                of_alternatives.append(way)
            found.append(_Ways(disjunct.disjunct, ways, of_alternatives))
        return found

    def reads(
        self, ways: Sequence[_Ways], literals: Literals, unknown: float | None, limit: int | None
    ) -> list[list[tuple[float, float]]]:
        """Return entries and nanoseconds of the whole segment under each alternative of each disjunct."""
        bound: dict[tuple[int, str | None], BoundFilter] = {}
        known: dict[tuple[int, object], tuple[float, float]] = {}
        found = []
        for each in ways:
            here = id(each.disjunct)  # comes once with its indexes, once with sort orders
            for way, (order, answers) in each.ways.items():
                if (here, way) in known:
                    continue
                if (here, order) not in bound:
                    bound[here, order] = self._binder(order).bind(each.disjunct, literals, unknown)
                read = filter_entries(bound[here, order], answers, limit)
                known[here, way] = read.of_segment(self._window.rows, self._window.segment_rows, limit)
            found.append([known[here, way] for way in each.of_alternatives])
        return found

    def _binder(self, order: str | None) -> FilterBinder:
        if order not in self._binders:
            assert order is not None
            is_free, rows = self._state.sorted_by(order).is_free, sorted_rows(self._window, order)
            self._binders[order] = (
                replace(self.today, is_free=is_free)
                if rows is None
                else self.today.in_order_of(rows, is_free)
            )
        return self._binders[order]


def _early_limit(shape: QueryShape, literals: Literals, instance: Instance) -> int | None:
    """Return how many rows end the query; None if it reads all matching rows.

    If the number of a LIMIT was not logged, it is the number of rows that the log says were returned.
    """
    if not shape.stops_early:
        return None
    limit = shape.limit
    if isinstance(limit, Slot):
        text = literals[limit.position][0]
        limit = int(text) if text.isdigit() else None
    if limit is None and instance.queries:
        limit = round(instance.rows_scanned / instance.queries)
    return DEFAULT_LIMIT if limit is None else limit


def _drawn(
    drawer: LiteralDrawer,
    shape: QueryShape,
    workload: ShapeWorkload,
    table_rows: int,
    share: InstanceShare,
) -> dict[int, Literals]:
    """Return literals of this segment for the simulated instances that were logged without literals."""
    window = drawer.binder.window
    return {
        position: drawer.drawn(
            shape.filter,
            literals,
            observed_scan(instance, window.segment_rows, table_rows, stops_early=shape.stops_early),
            seed=crc32(f"{window.segment} {workload.shape_id} {literals}".encode("utf-8", "surrogatepass")),
        )
        for position, (literals, instance) in enumerate(workload.instances.items())
        if share.includes(position) and lacks_literals(shape.filter, literals)
    }


def _unknown_ratio(
    binder: FilterBinder, shape: QueryShape, literals: Literals, instance: Instance, table_rows: int
) -> float | None:
    """Return the share of rows that the filter's one unknown predicate keeps, by the logged counts.

    ``rows_scanned`` counts the rows that passed the whole filter, unless a LIMIT ended the query.
    """
    parts = shape.filter.children if isinstance(shape.filter, And) else (shape.filter,)
    unknown = [part for part in parts if isinstance(part, Leaf) and not binder.is_known(part, literals)]
    if len(unknown) != 1 or shape.stops_early or not table_rows or not instance.queries:
        return None
    known = binder.bind(And(tuple(part for part in parts if part is not unknown[0])), literals)
    if known is ConstantFilter.EMPTY:
        return None
    passed_ratio = instance.rows_scanned / instance.queries / table_rows
    known_ratio = (
        1.0 if isinstance(known, ConstantFilter) else max(float(known.mask.mean()), 1 / binder.window.rows)
    )
    return float(min(max(passed_ratio / known_ratio, LEAST_UNKNOWN_RATIO), 1.0))


def weighted_estimates(estimates: pa.RecordBatch, weight: float) -> pa.RecordBatch:
    """Return ESTIMATES of a segment as those of ``weight`` segments like it."""
    if weight == 1.0:
        return estimates
    columns = dict(zip(estimates.schema.names, estimates.columns, strict=True))
    for name in ("entries", "ns"):
        lists = columns[name]
        columns[name] = pa.ListArray.from_arrays(lists.offsets, pc.multiply(lists.values, weight))
    columns["simulated_ratio"] = pc.multiply(columns["simulated_ratio"], weight)
    return pa.record_batch(columns, schema=estimates.schema)


def merge_estimates(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Sum ESTIMATES rows of the same instance over segments; associative."""
    sums: dict[tuple[str, str, int, int], tuple[np.ndarray, float]] = {}
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            key, reads, ratio = row[:4], np.array(row[4:6]), row[6]
            before = sums.get(key)
            sums[key] = (reads, ratio) if before is None else (before[0] + reads, before[1] + ratio)
    return _estimate_rows([(*key, *reads, ratio) for key, (reads, ratio) in sorted(sums.items())])


def _columns(reads: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    entries, ns = zip(*reads, strict=True)
    return list(entries), list(ns)


def _estimate_rows(rows: Sequence[Sequence[object]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(ESTIMATES)
    arrays = [pa.array(list(column), item.type) for column, item in zip(columns, ESTIMATES, strict=True)]
    return pa.table(arrays, schema=ESTIMATES)
