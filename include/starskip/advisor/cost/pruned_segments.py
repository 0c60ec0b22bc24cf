"""Segments that a server prunes because the ends of columns, or bloom filters, rule a filter out.

Restates ``ColumnValueSegmentPruner``. The whole filter has to be ruled out: if one side of an OR matches no
value, the segment is still read for the other side. A part below a NOT prunes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import pyarrow as pa

from starskip.advisor.cost.leaf_positions import Literals, bound_texts, signed
from starskip.pinot.column_indexes.bloom import FALSE_POSITIVE_RATIO
from starskip.sql.predicate import And, Filtered, Leaf, Operator, Or, Predicate
from starskip.sql.redacted_text import is_redacted
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.value_positions import ValuePositions, ordered, value_of_type

_MOST_IN_VALUES = 10
"""DEFAULT_VALUE_PRUNER_IN_PREDICATE_THRESHOLD: longer lists are ignored."""


@dataclass(frozen=True, slots=True)
class ColumnEnds:
    """The least and greatest value of a column in a segment, as Python values of ``kind``."""

    kind: pa.DataType
    values: Sequence[Any]


def segment_ends(window: RowWindow) -> Mapping[str, ColumnEnds]:
    """Return the known ends of a segment's columns."""
    found = {name: _ends(column) for name, column in window.columns.items()}
    return {name: ColumnEnds(ends.type, ordered(ends).to_pylist()) for name, ends in found.items() if ends}


def is_pruned(predicate: Predicate, literals: Literals, ends: Mapping[str, ColumnEnds]) -> bool:
    """Return whether no row of the segment can pass ``predicate``, by the ends of its columns."""
    match predicate:
        case And(children):
            return any(is_pruned(child, literals, ends) for child in children)
        case Or(children):
            return all(is_pruned(child, literals, ends) for child in children)
        case Filtered(rows, _):
            # A FILTER rules nothing out.
            return is_pruned(rows, literals, ends)
        case Leaf(column=column) if column in ends:
            return _is_outside(predicate, literals, ends[column])
    return False


def pruned_ratio(
    predicate: Predicate, literals: Literals, ends: Mapping[str, ColumnEnds], lacks: Callable[[Leaf], float]
) -> float:
    """Return how likely a segment is pruned, by the ends of its columns and by bloom filters.

    ``lacks``: how likely a bloom filter rules a leaf out.
    """
    match predicate:
        case And(children):
            return 1.0 - prod(1.0 - pruned_ratio(child, literals, ends, lacks) for child in children)
        case Or(children):
            return prod(pruned_ratio(child, literals, ends, lacks) for child in children)
        case Filtered(rows, _):
            return pruned_ratio(rows, literals, ends, lacks)
        case Leaf():
            return 1.0 if is_pruned(predicate, literals, ends) else lacks(predicate)
    return 0.0


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """Bloom filters that the columns of a segment could have; ``window``: all rows of it.

    Only columns without a dictionary are looked at: elsewhere a value that is not there costs no entry.
    """

    window: RowWindow
    _values: dict[str, ValuePositions] = field(default_factory=dict)

    def lacking(self, leaf: Leaf, literals: Literals) -> float:
        """Return how likely the filter of the leaf's column rules it out: never if a value is there."""
        column = self.window.columns.get(leaf.column)
        texts = [signed(text, slot) for slot in leaf.slots for text in literals[slot.position]]
        if column is None or column.values is None or not texts or len(texts) > _MOST_IN_VALUES:
            return 0.0
        if leaf.constants or is_redacted(texts):
            return 0.0
        if leaf.column not in self._values:
            self._values[leaf.column] = ValuePositions(column.values)
        is_there = len(self._values[leaf.column].equal_to(texts)) > 0
        return 0.0 if is_there else (1.0 - FALSE_POSITIVE_RATIO) ** len(texts)


def _ends(column: ColumnWindow) -> pa.Array | None:
    """Return the least and greatest value of the segment; a dictionary is sorted."""
    known = column.dictionary
    if known is None or not len(known):
        return column.ends
    return known.take([0, len(known) - 1])


def _is_outside(leaf: Leaf, literals: Literals, ends: ColumnEnds) -> bool:
    if leaf.operator in (Operator.EQUAL, Operator.IN):
        texts = [signed(text, slot) for slot in leaf.slots for text in literals[slot.position]]
        if not texts or len(texts) > _MOST_IN_VALUES:
            return False
        return all(_misses(ends, text, text, inclusive=(True, True)) for text in texts)
    if leaf.operator is Operator.RANGE:
        texts_of_ends = bound_texts(leaf, literals)
        if texts_of_ends is None:
            return False
        low, high = texts_of_ends
        inclusive = (bool(leaf.low and leaf.low.inclusive), bool(leaf.high and leaf.high.inclusive))
        return _is_contradiction(ends, low, high, inclusive) or _misses(ends, low, high, inclusive=inclusive)
    return False


def _is_contradiction(
    ends: ColumnEnds, low: str | None, high: str | None, inclusive: tuple[bool, bool]
) -> bool:
    """Return whether no value at all lies between the bounds."""
    if low is None or high is None:
        return False
    least, most = (value_of_type(text, ends.kind, exact=False) for text in (low, high))
    if least is None or most is None:
        return False
    return bool(least > most if all(inclusive) else least >= most)


def _misses(ends: ColumnEnds, low: str | None, high: str | None, *, inclusive: Sequence[bool]) -> bool:
    """Return whether the greatest value lies below ``low``, or the least one above ``high``."""
    above = operator.ge if inclusive[0] else operator.gt
    below = operator.le if inclusive[1] else operator.lt
    return not (_has(ends, low, above) and _has(ends, high, below))


def _has(ends: ColumnEnds, text: str | None, compare: Callable[[Any, Any], bool]) -> bool:
    """Return whether an end compares so with a literal; true for None, false for another type."""
    if text is None:
        return True
    bound = value_of_type(text, ends.kind, exact=False)
    return bound is not None and any(value is not None and compare(value, bound) for value in ends.values)
