"""Segments that a server leaves alone since a column's least and greatest values rule a filter out.

Restates ``ColumnValueSegmentPruner``. The whole filter has to be ruled out: one side of an OR that matches no
value leaves the segment to be read for the other. A part below a NOT prunes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from starskip.cost.leaf_masks import Literals, bound_texts, signed
from starskip.sql.predicate import And, Filtered, Leaf, Operator, Or, Predicate
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.value_positions import ValuePositions, literal_value

_MOST_IN_VALUES = 10
"""DEFAULT_VALUE_PRUNER_IN_PREDICATE_THRESHOLD: longer lists are not looked at."""


def is_pruned(predicate: Predicate, literals: Literals, window: RowWindow) -> bool:
    """Return whether no row of the segment can pass ``predicate``, by the ends of its columns."""
    match predicate:
        case And(children):
            return any(is_pruned(child, literals, window) for child in children)
        case Or(children):
            return all(is_pruned(child, literals, window) for child in children)
        case Filtered(rows, _):
            # A FILTER rules nothing out.
            return is_pruned(rows, literals, window)
        case Leaf():
            column = window.columns.get(predicate.column)
            ends = None if column is None else _ends(column)
            return ends is not None and _is_outside(predicate, literals, ends)
    return False


def _ends(column: ColumnWindow) -> ValuePositions | None:
    """Return the least and greatest value of the segment; a dictionary is sorted."""
    known = column.dictionary
    if known is None or not len(known):
        return None if column.ends is None else ValuePositions(column.ends)
    return ValuePositions(known.take([0, len(known) - 1]))


def _is_outside(leaf: Leaf, literals: Literals, ends: ValuePositions) -> bool:
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
    ends: ValuePositions, low: str | None, high: str | None, inclusive: tuple[bool, bool]
) -> bool:
    """Return whether no value at all lies between the bounds."""
    if low is None or high is None:
        return False
    least, most = (literal_value(text, ends.values.type, exact=False) for text in (low, high))
    if least is None or most is None:
        return False
    return bool(least > most if all(inclusive) else least >= most)


def _misses(ends: ValuePositions, low: str | None, high: str | None, *, inclusive: Sequence[bool]) -> bool:
    """Return whether the greatest value lies below ``low``, or the least one above ``high``."""
    above = ends.between(low, None, low_inclusive=inclusive[0], high_inclusive=True)
    below = ends.between(None, high, low_inclusive=True, high_inclusive=inclusive[1])
    return not len(above) or not len(below)
