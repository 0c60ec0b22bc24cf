"""Codes of a column whose values satisfy a predicate."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.sql.predicate import Bound, Leaf, Operator, Slot
from starskip.sql.redacted_text import is_redacted
from starskip.tables.row_window import ColumnWindow
from starskip.tables.value_order import distinct_values
from starskip.tables.value_positions import Positions, ValuePositions

Literals = Sequence[Sequence[str]]
_MAX_KEPT_BYTES = 64 << 20


class LeafPositions:
    """Looks codes up in the distinct values of one segment's columns.

    Found codes are kept by literal: hot literals return in many queries, and in each order of the rows.
    """

    def __init__(self) -> None:
        self._values: dict[str, ValuePositions] = {}
        self._found: dict[tuple[Leaf, tuple[tuple[str, ...], ...]], Positions | None] = {}
        self._kept_bytes = 0

    def __call__(self, leaf: Leaf, literals: Literals, column: ColumnWindow) -> Positions | None:
        """Return the codes that satisfy ``leaf`` without its negation; None if they are not known."""
        key = (leaf, texts_of(leaf, literals))
        if key in self._found:
            return self._found[key]
        if leaf.column not in self._values:
            self._values[leaf.column] = ValuePositions(distinct_values(column))
        found = _positions(leaf, literals, self._values[leaf.column])
        if self._kept_bytes > _MAX_KEPT_BYTES:
            self._found.clear()
            self._kept_bytes = 0
        self._found[key] = found
        self._kept_bytes += 0 if found is None else found.nbytes
        return found


def texts_of(leaf: Leaf, literals: Literals) -> tuple[tuple[str, ...], ...]:
    """Return the literals in the slots of a leaf."""
    return tuple(tuple(literals[slot.position]) for slot in slots_of(leaf))


def slots_of(leaf: Leaf) -> tuple[Slot, ...]:
    """Return all slots of a leaf: the slots of its values, or of its bounds."""
    bounds = tuple(b.slot for b in (leaf.low, leaf.high) if b is not None and b.slot is not None)
    return leaf.slots + bounds


def _positions(leaf: Leaf, literals: Literals, values: ValuePositions) -> Positions | None:
    texts = [signed(text, slot) for slot in leaf.slots for text in literals[slot.position]]
    texts.extend(leaf.constants)
    if is_redacted(texts):
        return None
    match leaf.operator:
        case Operator.EQUAL | Operator.NOT_EQUAL | Operator.IN | Operator.NOT_IN if texts:
            return values.equal_to(texts)
        case Operator.RANGE:
            ends = bound_texts(leaf, literals)
            if ends is None:
                return None
            low, high = ends
            return values.between(
                low,
                high,
                low_inclusive=bool(leaf.low and leaf.low.inclusive),
                high_inclusive=bool(leaf.high and leaf.high.inclusive),
            )
        case Operator.LIKE if texts:
            return values.like(texts[0])
        case Operator.REGEXP_LIKE if texts:
            return values.regexp_like(texts[0], ignore_case="i" in "".join(texts[1:]))
    return None


def bound_texts(leaf: Leaf, literals: Literals) -> tuple[str | None, str | None] | None:
    """Return the literals of a range's ends, None for an open end; None if a literal is not known."""
    low, high = _bound_text(leaf.low, literals), _bound_text(leaf.high, literals)
    is_unknown = (leaf.low and low is None) or (leaf.high and high is None)
    return None if is_unknown or is_redacted(filter(None, (low, high))) else (low, high)


def _bound_text(bound: Bound | None, literals: Literals) -> str | None:
    if bound is None or bound.slot is None:
        return None
    return signed(literals[bound.slot.position][0], bound.slot)


def signed(text: str, slot: Slot) -> str:
    """Return a literal with the minus before its slot applied; two minuses cancel out."""
    if not slot.negative:
        return text
    return text[1:] if text.startswith("-") else "-" + text
