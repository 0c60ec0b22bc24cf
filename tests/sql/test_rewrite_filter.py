"""Rewriting a filter keeps what it means: the same rows match before and after."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starskip.sql.predicate import And, Bound, Constant, Leaf, Not, Operator, Or, Predicate, Slot, leaves
from starskip.sql.rewrite_filter import rewrite_filter

VALUES = range(6)
"""Literal number n of the query is the value n; columns hold values too."""

columns = st.sampled_from("ab")
slots = st.sampled_from(VALUES).map(Slot)
equalities = st.builds(
    Leaf, st.sampled_from([Operator.EQUAL, Operator.IN, Operator.NOT_EQUAL]), columns, st.tuples(slots)
)
bounds = st.none() | st.builds(Bound, slots, st.booleans())
ranges = st.builds(Leaf, st.just(Operator.RANGE), columns, low=bounds, high=bounds)
trees = st.recursive(
    st.one_of(equalities, ranges, st.booleans().map(Constant)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(lambda found: And(tuple(found))),
        st.lists(inner, min_size=1, max_size=4).map(lambda found: Or(tuple(found))),
        inner.map(Not),
    ),
    max_leaves=12,
)


def matches(tree: Predicate, row: dict[str, int]) -> bool:
    match tree:
        case And(children):
            return all(matches(child, row) for child in children)
        case Or(children):
            return any(matches(child, row) for child in children)
        case Not(child):
            return not matches(child, row)
        case Constant(value):
            return value
    value = row[tree.column]
    if tree.operator is Operator.RANGE:
        return is_within(value, tree.low, 1) and is_within(value, tree.high, -1)
    is_equal = value in {slot.position for slot in tree.slots}
    return is_equal != (tree.operator is Operator.NOT_EQUAL)


def is_within(value: int, bound: Bound | None, direction: int) -> bool:
    if bound is None or bound.slot is None:
        return True
    distance = (value - bound.slot.position) * direction
    return distance > 0 or (bound.inclusive and distance == 0)


@given(tree=trees)
def test_the_same_rows_match(tree: Predicate) -> None:
    rewritten = rewrite_filter(tree)
    for a in VALUES:
        for b in VALUES:
            row = {"a": a, "b": b}
            assert matches(rewritten, row) == matches(tree, row)


@given(tree=trees)
def test_rewriting_twice_changes_nothing(tree: Predicate) -> None:
    once = rewrite_filter(tree)
    assert rewrite_filter(once) == once


@given(tree=trees)
def test_nothing_is_nested_in_its_own_kind_above_a_not(tree: Predicate) -> None:
    def check(node: Predicate, above: type | None) -> None:
        assert above is None or type(node) is not above
        if isinstance(node, And | Or):
            assert len(node.children) > 1
            assert not any(isinstance(child, Constant) for child in node.children)
            for child in node.children:
                check(child, type(node))

    check(rewrite_filter(tree), None)


@given(tree=trees)
def test_leaves_never_grow_in_number(tree: Predicate) -> None:
    assert len(list(leaves(rewrite_filter(tree)))) <= len(list(leaves(tree)))
