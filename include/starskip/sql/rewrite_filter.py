"""Rewrite a filter as Pinot's broker does before it runs.

Restates FlattenAndOrFilterOptimizer, MergeEqInFilterOptimizer and MergeRangeFilterOptimizer of
Pinot 0.11: nested ANDs and ORs are flattened, equalities of one column under an OR become one IN,
ranges of one column under an AND become one range. Measured: ``a = 1 OR a = 2`` scans a column
once, not twice (tests/data/truth/README.md, model_check).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starskip.sql.java_hash_order import java_hash_order
from starskip.sql.predicate import And, Constant, Leaf, Not, Operator, Or, Predicate

_EQUALITIES = (Operator.EQUAL, Operator.IN)


def rewrite_filter(predicate: Predicate) -> Predicate:
    """Return the filter flattened, its constants folded and its mergeable leaves merged."""
    match predicate:
        case And(children):
            parts = _flat(And, children)
            if any(part == Constant(False) for part in parts):
                return Constant(False)
            parts = _merge_ranges([part for part in parts if part != Constant(True)])
            return _joined(And, parts, empty=True)
        case Or(children):
            parts = _flat(Or, children)
            if any(part == Constant(True) for part in parts):
                return Constant(True)
            parts = _merge_equalities([part for part in parts if part != Constant(False)])
            return _joined(Or, parts, empty=False)
        case Not(child):
            # Below a NOT no equalities are merged: NOT (a = 1 OR a = 2) was measured to scan twice.
            return _negated(_below_not(child))
    return predicate


def _below_not(predicate: Predicate) -> Predicate:
    """Merge ranges alone: the other optimizers of the broker do not look below a NOT."""
    match predicate:
        case And(children):
            return _joined(And, _merge_ranges([_below_not(child) for child in children]), empty=True)
        case Or(children):
            return Or(tuple(_below_not(child) for child in children))
        case Not(child):
            return _negated(_below_not(child))
    return predicate


def _negated(child: Predicate) -> Predicate:
    return Constant(not child.value) if isinstance(child, Constant) else Not(child)


def _flat(kind: type[And] | type[Or], children: Sequence[Predicate]) -> list[Predicate]:
    """Return the children, with each nested AND or OR replaced by its own children, before any merging."""
    parts: list[Predicate] = []
    for child in children:
        if isinstance(child, kind):
            parts.extend(_flat(kind, child.children))
        else:
            parts.append(rewrite_filter(child))
    return parts


def _joined(kind: type[And] | type[Or], parts: list[Predicate], *, empty: bool) -> Predicate:
    if not parts:
        return Constant(empty)
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _merge_equalities(parts: list[Predicate]) -> list[Predicate]:
    merged: list[Predicate] = []
    place: dict[str, int] = {}
    for part in parts:
        if isinstance(part, Leaf) and part.operator in _EQUALITIES:
            if part.column in place:
                first = merged[place[part.column]]
                assert isinstance(first, Leaf)
                merged[place[part.column]] = Leaf(
                    Operator.IN,
                    part.column,
                    first.slots + part.slots,
                    constants=first.constants + part.constants,
                )
                continue
            place[part.column] = len(merged)
        merged.append(part)
    return merged


def _merge_ranges(parts: list[Predicate]) -> list[Predicate]:
    ranges: dict[str, list[Leaf]] = {}
    others: list[Predicate] = []
    for part in parts:
        if isinstance(part, Leaf) and part.operator is Operator.RANGE:
            ranges.setdefault(part.column, []).append(part)
        else:
            others.append(part)
    if all(len(of_column) == 1 for of_column in ranges.values()):
        return parts
    # The broker gathers them in a HashMap, and appends them to the other children in the map's order.
    return others + [leaf for column in java_hash_order(ranges) for leaf in _merged_halves(ranges[column])]


def _merged_halves(leaves: list[Leaf]) -> list[Leaf]:
    """Merge a lower with an upper bound; which of two lower bounds is tighter depends on literals."""
    merged = leaves[:1]
    for leaf in leaves[1:]:
        first = merged[-1]
        if (first.low is None or leaf.low is None) and (first.high is None or leaf.high is None):
            low, high = first.low or leaf.low, first.high or leaf.high
            merged[-1] = replace(first, low=low, high=high, is_merged=True)
        else:
            merged.append(leaf)
    return merged
