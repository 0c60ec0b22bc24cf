from __future__ import annotations

from math import inf, nan

import pyarrow as pa
import pytest
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.selection.vote_list import NOTHING, Saving, VoteList, total_saving, vote_lists
from starskip.errors import StarskipError
from starskip.storage.schemas import VOTES

A, B, C = (Index("inverted", name) for name in "abc")


def sets(*indexes: Index) -> frozenset[Index]:
    return frozenset(indexes)


def test_complete_list_knows_what_each_set_does_harm_included() -> None:
    savings = {sets(A): Saving(5), sets(B): Saving(-3), sets(A, B): Saving(1)}
    votes = VoteList("t", "s", 0, savings, is_complete=True)
    assert votes.indexes == sets(A, B)
    assert votes.saving(sets()) == NOTHING
    assert votes.saving(sets(C)) == NOTHING
    assert votes.saving(sets(B, C)) == Saving(-3)
    assert votes.saving(sets(A, B, C)) == Saving(1)


def test_incomplete_list_takes_the_best_listed_set_that_is_built() -> None:
    votes = VoteList("t", "s", 0, {sets(A): Saving(5), sets(B, C): Saving(9)}, is_complete=False)
    assert votes.saving(sets(A, B)) == Saving(5)
    assert votes.saving(sets(A, B, C)) == Saving(9)
    assert votes.saving(sets(B)) == NOTHING


def test_legs_add_up() -> None:
    disjuncts = [
        VoteList("t", "s", disjunct, {sets(A): Saving(disjunct + 1)}, is_complete=True)
        for disjunct in range(3)
    ]
    assert total_saving(disjuncts, [A]) == 6


def test_lists_are_read_from_votes_rows() -> None:
    rows = [
        {"shape_id": "s", "leg": 0, "structures": ["inverted:a"], "saving_entries": 5.0},
        {"shape_id": "s", "leg": 0, "structures": ["inverted:a", "inverted:b"], "saving_entries": 7.0},
        {"shape_id": "s", "leg": 1, "structures": ["inverted:a"], "saving_entries": 2.0},
    ]
    constant = {
        "table": "t",
        "saving_entries_squared": 1.0,
        "saving_entries_cross": 2.0,
        "saving_priced_entries": 3.0,
        "is_complete": True,
    }
    found = vote_lists(pa.Table.from_pylist([constant | row for row in rows], schema=VOTES))
    assert found == [
        VoteList("t", "s", 0, {sets(A): Saving(5, 1, 2, 3), sets(A, B): Saving(7, 1, 2, 3)}, True),
        VoteList("t", "s", 1, {sets(A): Saving(2, 1, 2, 3)}, True),
    ]


def test_a_column_name_with_a_colon_survives() -> None:
    odd = Index("inverted", "a:b")
    assert parse_index(str(odd)) == odd


@pytest.mark.parametrize("saving", [nan, inf, -inf])
def test_a_vote_that_is_no_number_is_named_and_not_lost(saving: float) -> None:
    row = {"table": "t", "shape_id": "s", "leg": 0, "structures": ["inverted:a"], "saving_entries": saving}
    votes = pa.Table.from_pylist([{**row, "is_complete": True}], VOTES)
    with pytest.raises(StarskipError, match=r"table t: shape s votes -?(nan|inf) entries.* for inverted:a;"):
        vote_lists(votes)
