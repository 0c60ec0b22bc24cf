"""Shapes that read more with the chosen indexes, and the option that spares them."""

from __future__ import annotations

import pytest
from starskip.advisor.families.index import Index
from starskip.advisor.selection.harmed_shapes import HarmedShape, harmed_shapes
from starskip.advisor.selection.vote_list import Saving, VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload

A, B, R, F = (Index(*each) for each in (("inverted", "a"), ("inverted", "b"), ("range", "a"), ("fst", "t")))
NEW = Index("own", "a")


def votes(shape_id: str, savings: dict[tuple[Index, ...], float], disjunct: int = 0) -> VoteList:
    sets = {frozenset(indexes): Saving(entries) for indexes, entries in savings.items()}
    return VoteList("t", shape_id, disjunct, sets, is_complete=True)


def harmed(*lists: VoteList, chosen: tuple[Index, ...], version: str = "1.2") -> tuple[HarmedShape, ...]:
    ids = sorted({each.shape_id for each in lists})
    window = {shape_id: ShapeEntries(10.0, 1_000.0) for shape_id in ids}
    shapes = [ShapeWorkload("t", shape_id, f"text of {shape_id}", "") for shape_id in ids]
    return harmed_shapes(lists, chosen, window, shapes, version)


def test_a_shape_that_gains_is_not_named() -> None:
    assert harmed(votes("s", {(A,): 5.0}), chosen=(A,)) == ()
    assert harmed(votes("s", {(A,): -1.0}), chosen=(A,)) == (), "below half a percent"
    assert harmed(votes("s", {(A,): -900.0}), chosen=(B,)) == ()
    assert harmed(votes("s", {(A,): -100.0}), votes("s", {(A,): 200.0}, 1), chosen=(A,)) == ()


def test_the_one_index_that_harms_is_left_out() -> None:
    found = harmed(votes("s", {(A,): -2_000.0, (B,): 400.0, (A, B): -1_500.0}), chosen=(A, B))
    assert found == (HarmedShape("s", "text of s", 1.5, "SET skipIndexes='a=inverted';"),)


def test_indexes_that_harm_together_are_all_left_out_and_the_worst_shape_comes_first() -> None:
    both = votes(
        "s",
        {(A,): -10.0, (R,): -10.0, (B,): -10.0, (A, R): -20.0, (A, B): -20.0, (R, B): -20.0}
        | {(A, R, B): -30.0},
    )
    worse = votes("u", {(F,): -500.0})
    found = harmed(both, worse, chosen=(A, B, R, F))
    assert [each.shape_id for each in found] == ["u", "s"]
    assert found[0].option == "SET skipIndexes='t=inverted';", "an FST index answers through the inverted one"
    assert found[1].option == "SET skipIndexes='a=inverted,range&b=inverted';"


@pytest.mark.parametrize(("version", "index"), [("1.1.0", A), ("0.11", A), ("1.6", NEW)])
def test_the_harm_is_told_where_pinot_has_no_such_option(version: str, index: Index) -> None:
    (found,) = harmed(votes("s", {(index,): -100.0}), chosen=(index,), version=version)
    assert (found.more_ratio, found.option) == (0.1, "")


def test_a_shape_of_no_night_in_the_window_is_not_named() -> None:
    assert harmed_shapes([votes("s", {(A,): -100.0})], [A], {}, [], "1.2") == ()
