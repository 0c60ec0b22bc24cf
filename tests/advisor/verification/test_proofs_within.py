"""Queries answered both ways within a budget of bytes: their order, and which are left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.verification.proofs_within import NotAsked, WantedProof, proofs_within

Query = tuple[str, int, int, int | None]
"""Shape, instance, and the bytes that the query is expected to read, and does read if that is known."""


def wanted(shape_id: str, instance: int, saving: float, cost: int, read: int | None) -> WantedProof[Query]:
    return WantedProof(shape_id, instance, saving, (shape_id, instance, cost, read))


@st.composite
def workloads(draw: st.DrawFn) -> list[WantedProof[Query]]:
    shapes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=8))
    bytes_read = st.none() | st.integers(0, 60)
    return draw(
        st.permutations(
            [
                wanted(f"s{number}", instance, saving, draw(st.integers(0, 40)), draw(bytes_read))
                for number, (saving, instances) in enumerate(shapes)
                for instance in range(1, instances + 1)
            ]
        )
    )


def cost_of(query: Query) -> int:
    return query[2]


@pytest.mark.law
@given(workloads(), st.integers(0, 200), st.integers(0, 8))
def test_the_first_of_each_shape_is_asked_first_the_largest_savers_before_others_and_never_beyond_the_budget(
    queries: list[WantedProof[Query]], budget_bytes: int, most_shapes: int
) -> None:
    savings = {each.shape_id: each.saving for each in queries}
    asked: list[Query] = []
    spent = 0

    def prove(query: Query) -> tuple[str, int | None]:
        nonlocal spent
        _, _, cost, read = query
        assert spent + cost <= budget_bytes, "a query is asked that the budget has no room for"
        asked.append(query)
        spent += cost if read is None else read
        return "equal", read

    found = proofs_within(queries, budget_bytes, most_shapes, cost_of, prove)

    assert sorted(each.query[:2] for each, _ in found) == sorted(each.query[:2] for each in queries)
    assert {each.query for each, outcome in found if outcome == "equal"} == set(asked)
    if asked:
        *_, cost, read = asked[-1]
        assert spent <= budget_bytes + max((read or 0) - cost, 0), "more than one estimate was wrong"
    turns = [(instance, -savings[shape_id]) for shape_id, instance, _, _ in asked]
    assert turns == sorted(turns)
    of_asked = {shape_id for shape_id, *_ in asked}
    assert len(of_asked) <= most_shapes
    left_bytes = budget_bytes - spent
    for each, outcome in found:
        if isinstance(outcome, NotAsked) and "query shapes" not in outcome.reason:
            assert left_bytes <= 0 or cost_of(each.query) > left_bytes, "a query is left out that has room"
        elif isinstance(outcome, NotAsked):
            others = {
                other.shape_id for other, why in found if other.saving >= each.saving and why != outcome
            }
            assert len(others) >= most_shapes, "a shape is left out for one that saves less"


def test_what_is_left_out_says_why() -> None:
    queries = [
        wanted("huge", 1, 9.0, 1_200_000, None),
        wanted("large", 1, 8.0, 600, None),
        wanted("larger", 1, 7.0, 700, None),
        wanted("small", 1, 6.0, 400, None),
        wanted("tiny", 1, 5.0, 1, None),
        wanted("rare", 1, 4.0, 0, None),
    ]
    found = proofs_within(queries, 1_000, 5, cost_of, lambda _: ("equal", None))
    assert [(each.shape_id, getattr(outcome, "reason", outcome)) for each, outcome in found] == [
        ("huge", "one query reads 1.2 MB both ways, more than the budget of 1 kB"),
        ("large", "equal"),
        ("larger", "one query reads 700 B both ways, and 400 B are left of the budget of 1 kB"),
        ("small", "equal"),
        ("tiny", "the budget of 1 kB is used up"),
        ("rare", "at most 5 query shapes are asked, the ones that save most"),
    ]


def test_shapes_that_save_alike_keep_their_order_and_stand_with_all_their_queries() -> None:
    queries = [wanted(shape, instance, 1.0, 1, 1) for instance in (2, 1) for shape in ("b", "a")]
    found = proofs_within(queries, 3, 9, cost_of, lambda _: ("equal", 1))
    assert [(each.shape_id, each.instance, outcome == "equal") for each, outcome in found] == [
        ("b", 1, True),
        ("b", 2, True),
        ("a", 1, True),
        ("a", 2, False),
    ]
