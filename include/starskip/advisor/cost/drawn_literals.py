"""Literals for queries whose own literals were not logged, drawn from the rows of a segment.

A literal is drawn as often as rows hold it, and all literals of one AND are drawn from one row, so that they
occur together. The length of a list and the width of a range are chosen so that as many rows pass the filter
as the log says. The draw is taken that comes nearest to this number of rows and to the entries that the log
observed. Patterns are not drawn: the rows that they keep are estimated from the log (segment_estimates).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.cost.bound_filter import BoundFilter, FilterBinder
from starskip.advisor.cost.leaf_masks import ConstantFilter
from starskip.advisor.cost.leaf_positions import signed, slots_of
from starskip.advisor.cost.observed_scan import ObservedScan
from starskip.advisor.workload.shape_workload import Literals
from starskip.sql.predicate import EQUALITIES, And, Filtered, Leaf, Not, Operator, Or, Predicate, Slot, leaves
from starskip.sql.redacted_text import is_redacted
from starskip.tables.row_window import ColumnWindow
from starskip.tables.value_order import ValueOrder, distinct_values, value_order

_DRAWS = 8
_NEAR = 0.25
"""A draw this near to the observed scan is taken."""
_HALVINGS = 5
"""Steps towards the width that fits the log: more steps are lost in the noise of a window."""
_LIST_ROWS = 512
"""Rows that the values of a list are taken from, hence its greatest length."""

_WIDE = (Operator.RANGE, Operator.IN, Operator.NOT_IN)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Drawn = dict[int, tuple[str, ...]]


def lacks_literals(filter_tree: Predicate, literals: Literals) -> bool:
    """Return whether a literal of the filter was not logged."""
    return any(
        is_redacted(literals[slot.position]) for leaf in leaves(filter_tree) for slot in slots_of(leaf)
    )


@dataclass(frozen=True, slots=True)
class LiteralDrawer:
    """Draws literals from one window; keeps the order of its columns' values.

    ``entries_per_row``: returns the entries a row that a filter scans today.
    """

    binder: FilterBinder
    entries_per_row: Callable[[BoundFilter], float]
    _orders: dict[str, ValueOrder] = field(default_factory=dict)

    def order_of(self, column: str) -> ValueOrder:
        """Return the order of a column of the window."""
        if column not in self._orders:
            self._orders[column] = value_order(self.binder.window.columns[column])
        return self._orders[column]

    def drawn(
        self, filter_tree: Predicate, literals: Literals, observed: ObservedScan | None, seed: int
    ) -> Literals:
        """Return ``literals``, with values of the window for each literal that was not logged.

        ``observed``: the query's scan in the log, None if there is none. The same ``seed`` draws the same
        literals.
        """
        rng = np.random.default_rng(seed)
        asked = [leaf for leaf in leaves(filter_tree) if _is_drawn(leaf, literals, self.binder)]
        if observed is None or not asked:
            return _Draw(self, filter_tree, literals, rng).at(rng.random())
        best: tuple[float, Literals] | None = None
        is_wide = any(_is_wide(leaf) for leaf in asked)
        for number in range(_DRAWS):
            # Few rows hold a rare value, but queries may well ask for it: every other draw takes any value.
            row = self._row_of_any_value(asked, rng) if number % 2 else None
            found = self._nearest(_Draw(self, filter_tree, literals, rng, row), observed, is_wide=is_wide)
            if best is None or found[0] < best[0]:
                best = found
            if best[0] < _NEAR:
                break
        assert best is not None
        return best[1]

    def _row_of_any_value(self, asked: Sequence[Leaf], rng: np.random.Generator) -> int | None:
        """Return a row that holds a value of an equality's column; all values are equally likely."""
        equalities = [leaf for leaf in asked if not _is_wide(leaf)] or asked
        name = equalities[int(rng.integers(len(equalities)))].column
        column = self.binder.window.columns[name]
        codes = self.order_of(name).codes
        code = rng.choice(codes[np.flatnonzero(np.diff(codes, prepend=-1))])
        entry = int(rng.choice(np.flatnonzero(column.codes == code)))
        if column.offsets is None:
            return entry
        return int(np.searchsorted(column.offsets, entry, side="right")) - 1

    def _nearest(self, draw: _Draw, observed: ObservedScan, *, is_wide: bool) -> tuple[float, Literals]:
        """Return (distance, literals), halving the interval of widths towards the observed scan."""
        low, high = 0.0, 1.0
        found: list[tuple[float, Literals, BoundFilter]] = []
        for _ in range(_HALVINGS if is_wide else 1):
            width = (low + high) / 2
            literals = draw.at(width)
            bound = self.binder.bind(draw.filter_tree, literals)
            passing = _passing_ratio(bound)
            distance = observed.passing_distance(passing, 0.5 / self.binder.window.rows)
            found.append((distance, literals, bound))
            is_narrower = (passing > observed.passing_ratio) is not draw.is_negated
            low, high = (low, width) if is_narrower else (width, high)
        distance, literals, bound = min(found, key=lambda item: item[0])
        return distance + observed.entries_distance(self.entries_per_row(bound)), literals


def _passing_ratio(bound: BoundFilter) -> float:
    if isinstance(bound, ConstantFilter):
        return 1.0 if bound is ConstantFilter.EVERYTHING else 0.0
    return float(bound.mask.mean())


def _is_drawn(leaf: Leaf, literals: Literals, binder: FilterBinder) -> bool:
    column = binder.window.columns.get(leaf.column)
    return (
        (leaf.operator in EQUALITIES or leaf.operator is Operator.RANGE)
        and column is not None
        and bool(len(column.codes))
        and any(is_redacted(literals[slot.position]) for slot in slots_of(leaf))
    )


def _is_wide(leaf: Leaf) -> bool:
    # An OR of equalities has several slots, each with one value.
    return leaf.operator is Operator.RANGE or (leaf.operator in _WIDE and len(leaf.slots) == 1)


@dataclass(slots=True)
class _Draw:
    """One draw: its values come from the same rows, however wide lists and ranges become."""

    drawer: LiteralDrawer
    filter_tree: Predicate
    literals: Literals
    rng: np.random.Generator
    row: int | None = None
    is_negated: bool = False
    _rows: dict[int, int] = field(default_factory=dict)
    _orders: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    _places: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        negated = [leaf for leaf in leaves(self.filter_tree) if leaf.operator is Operator.NOT_IN]
        others = [leaf for leaf in leaves(self.filter_tree) if _is_wide(leaf) and leaf not in negated]
        self.is_negated = bool(negated) and not others
        first = self._any_row() if self.row is None else self.row
        for number, (leaf, row) in enumerate(self._leaf_rows(self.filter_tree, first)):
            self._rows[number] = row
            self._places[number] = self.rng.random()
            if _is_drawn(leaf, self.literals, self.drawer.binder):
                self._orders[number] = self._values_in_order(leaf, row)

    def at(self, width: float) -> Literals:
        """Return the literals with lists and ranges of a ``width`` from 0, one value, to 1, all values."""
        found: Drawn = {}
        for number, leaf in enumerate(leaves(self.filter_tree)):
            if number in self._orders:
                found.update(self._drawn(number, leaf, width))
        return tuple(found.get(place, values) for place, values in enumerate(self.literals))

    def _any_row(self) -> int:
        return int(self.rng.integers(self.drawer.binder.window.rows))

    def _leaf_rows(self, tree: Predicate, row: int) -> Iterator[tuple[Leaf, int]]:
        """Yield the leaves with the row that each takes its values from: one row for all of an AND."""
        match tree:
            case Leaf():
                # A row that passes an AND has no value that a negation in the AND names.
                is_negation = tree.operator in (Operator.NOT_EQUAL, Operator.NOT_IN)
                yield tree, self._any_row() if is_negation else row
            case And(children):
                for child in children:
                    yield from self._leaf_rows(child, row)
            case Or(children):
                for number, child in enumerate(children):
                    yield from self._leaf_rows(child, row if number == 0 else self._any_row())
            case Not(child):
                yield from self._leaf_rows(child, self._any_row())
            case Filtered(rows, child):
                yield from self._leaf_rows(rows, row)
                yield from self._leaf_rows(child, row)

    def _column(self, leaf: Leaf) -> ColumnWindow:
        return self.drawer.binder.window.columns[leaf.column]

    def _values_in_order(self, leaf: Leaf, row: int) -> npt.NDArray[np.int64]:
        """Return distinct codes: first the code of the row, then others as often as rows hold them."""
        column = self._column(leaf)
        own = column.codes[row : row + 1]
        if column.offsets is not None:
            own = column.codes[column.offsets[row] : column.offsets[row + 1]]
        own = self.rng.permutation(own)[:1]
        length = len(leaf.slots) + 1
        if _is_wide(leaf):
            length = 1 if leaf.operator is Operator.RANGE else _LIST_ROWS
        others = self.rng.choice(column.codes, min(length, len(column.codes)))
        codes = np.concatenate([own, others])
        _, first = np.unique(codes, return_index=True)
        return np.asarray(codes[np.sort(first)], dtype=np.int64)

    def _drawn(self, number: int, leaf: Leaf, width: float) -> Iterator[tuple[int, tuple[str, ...]]]:
        codes, column = self._orders[number], self._column(leaf)
        values = distinct_values(column)
        if leaf.operator is Operator.RANGE:
            yield from self._bounds(number, leaf, values, width)
            return
        missing = [slot for slot in leaf.slots if is_redacted(self.literals[slot.position])]
        if _is_wide(leaf):
            length = round(len(codes) ** width)
            yield missing[0].position, tuple(_text(values, code, missing[0]) for code in codes[:length])
            return
        for place, slot in enumerate(missing):
            yield slot.position, (_text(values, codes[place % len(codes)], slot),)

    def _bounds(
        self, number: int, leaf: Leaf, values: pa.Array, width: float
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        order = self.drawer.order_of(leaf.column)
        last = len(order.codes) - 1
        reach = len(order.codes) ** (width - 1.0) * last
        if leaf.low is not None and leaf.high is not None:
            here = int(np.searchsorted(order.ranks, order.rank_of_code[self._orders[number][0]]))
            start = np.clip(here - self._places[number] * reach, 0, last - reach)
            ends = {leaf.low.slot: start, leaf.high.slot: start + reach}
        elif leaf.low is not None:
            ends = {leaf.low.slot: last - reach}
        else:
            assert leaf.high is not None
            ends = {leaf.high.slot: reach}
        for slot, rank in ends.items():
            if slot is not None and is_redacted(self.literals[slot.position]):
                yield slot.position, (_text(values, order.codes[round(float(rank))], slot),)


def _text(values: pa.Array, code: int, slot: Slot) -> str:
    """Return a value as a query would hold it in that slot (sql.normalize_sql)."""
    value = values[int(code)].as_py()
    match value:
        case str():
            text = "'" + value
        case bool():
            text = str(value).lower()
        case bytes():
            text = "'" + value.hex()
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            text = str(round((moment - _EPOCH).total_seconds() * 1000))
        case _:
            text = str(value)
    return signed(text, slot)
