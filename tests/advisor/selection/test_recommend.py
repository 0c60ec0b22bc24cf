"""The chosen set of one table: K, the storage budget, enough is enough, and no flapping."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason
from starskip.advisor.selection.entries_percentile import DesirableEntries, entries_percentile
from starskip.advisor.selection.recommend import recommend
from starskip.advisor.selection.recommendation import Budget, Entries, Recommendation, Stop
from starskip.advisor.selection.vote_list import Saving, VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries

A, B, C = (Index("inverted", name) for name in "abc")
ALL = Entries(1000.0, 1e6)


def votes(shape_id: str, savings: Mapping[Index, float]) -> VoteList:
    """A query that one of the indexes is enough for."""
    alternatives = {frozenset({item}): Saving(saved) for item, saved in savings.items()}
    return VoteList("t", shape_id, 0, alternatives, is_complete=False)


def budget(**fields: object) -> Budget:
    return Budget(**({"max_indexes": 3, "min_gain_ratio": 0.05, "model_error_ratio": 0.0} | fields))  # type: ignore[arg-type]


def columns(advice: Recommendation) -> list[str]:
    return [item.index.column for item in advice.chosen]


def reasons(advice: Recommendation) -> dict[str, Reason]:
    return {item.index.column: item.reason for item in advice.refused}


def test_indexes_are_added_until_the_next_one_gains_too_little() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 200}), votes("3", {C: 40})]
    advice = recommend(lists, ALL, budget())
    assert columns(advice) == ["a", "b"]
    assert advice.stop is Stop.BELOW_MIN_GAIN
    assert reasons(advice) == {"c": Reason.BELOW_MIN_GAIN}


def test_a_storage_budget_takes_two_small_ones_for_a_large_one() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 300}), votes("3", {C: 290})]
    sizes = {A: 100, B: 50, C: 50}
    advice = recommend(lists, ALL, budget(storage_bytes=100), size_bytes=sizes)
    assert columns(advice) == ["b", "c"]
    assert [item.size_bytes for item in advice.chosen] == [50, 50]
    assert advice.stop is Stop.STORAGE_BUDGET
    assert reasons(advice) == {"a": Reason.OVER_STORAGE_BUDGET}
    assert recommend(lists, ALL, budget(), size_bytes=sizes).stop is Stop.MAX_INDEXES


def test_what_is_of_unknown_size_fits_no_budget() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 300})]
    advice = recommend(lists, ALL, budget(storage_bytes=100), size_bytes={B: 50})
    assert columns(advice) == ["b"]
    assert reasons(advice) == {"a": Reason.SIZE_UNKNOWN}


def test_a_baselines_order_keeps_the_storage_budget_too() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 300}), votes("3", {C: 290})]
    advice = recommend(
        lists, ALL, budget(storage_bytes=100), ranked=[B, A, C], size_bytes={A: 100, B: 50, C: 50}
    )
    assert columns(advice) == ["b", "c"]


def test_it_ends_where_the_queries_scan_as_few_entries_as_desired() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 200}), votes("3", {C: 100})]
    shapes = {"1": ShapeEntries(5, 600.0), "2": ShapeEntries(4, 280.0), "3": ShapeEntries(1, 120.0)}
    for most, expected in ((120.0, []), (75.0, ["a"]), (25.0, ["a", "b"])):
        wanted = DesirableEntries(most, 0.9, shapes)
        advice = recommend(lists, ALL, budget(desirable=wanted))
        assert columns(advice) == expected, most
        assert advice.stop is Stop.DESIRABLE_ENTRIES
    assert reasons(advice) == {"c": Reason.BEYOND_DESIRABLE}
    out_of_reach = DesirableEntries(1.0, 1.0, shapes)
    assert columns(recommend(lists, ALL, budget(desirable=out_of_reach))) == ["a", "b", "c"]


def test_the_percentile_counts_queries() -> None:
    shapes = {"1": ShapeEntries(9, 90.0), "2": ShapeEntries(1, 1000.0)}
    assert entries_percentile([], [], shapes, 0.9) == 10.0
    assert entries_percentile([], [], shapes, 0.91) == 1000.0
    assert entries_percentile([votes("2", {A: 950})], [A], shapes, 1.0) == 50.0
    assert entries_percentile([], [], {}, 0.9) == 0.0


@pytest.mark.parametrize(("gain", "expected"), [(5.0, "a"), (50.0, "b")])
def test_last_nights_index_stays_until_another_one_saves_clearly_more(gain: float, expected: str) -> None:
    lists = [votes("1", {A: 500, B: 500 + gain})]
    steady = budget(max_indexes=1, switch_gain_ratio=0.01)
    assert columns(recommend(lists, ALL, steady)) == ["b"], "without a last advice the best one wins"
    advice = recommend(lists, ALL, steady, kept=frozenset({A}))
    assert columns(advice) == [expected]
    if expected == "a":
        assert reasons(advice) == {"b": Reason.NEAR_EQUAL}


def test_an_index_at_the_least_gain_does_not_come_and_go() -> None:
    seen: list[list[str]] = []
    kept: frozenset[Index] = frozenset()
    for gain in (52, 48, 51, 47, 39):
        advice = recommend(
            [votes("1", {A: 500}), votes("2", {B: gain})], ALL, budget(switch_gain_ratio=0.01), kept=kept
        )
        kept = frozenset(item.index for item in advice.chosen)
        seen.append(columns(advice))
    assert seen == [["a", "b"]] * 4 + [["a"]]


@settings(max_examples=30)
@given(noise=st.lists(st.integers(-4, 4), min_size=2, max_size=12))
def test_noise_below_half_the_switch_gain_never_changes_the_advice(noise: list[int]) -> None:
    kept: frozenset[Index] = frozenset()
    advised = []
    for shift in noise:
        lists = [votes("1", {A: 500 + shift, B: 500 - shift}), votes("2", {C: 300})]
        advice = recommend(lists, ALL, budget(max_indexes=2, switch_gain_ratio=0.01), kept=kept)
        kept = frozenset(item.index for item in advice.chosen)
        advised.append(kept)
    assert all(later == earlier for earlier, later in itertools.pairwise(advised))


def test_a_further_index_is_no_swap() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 52})]
    advice = recommend(lists, ALL, budget(switch_gain_ratio=0.1), kept=frozenset({A}))
    assert columns(advice) == ["a", "b"]
    built = recommend(lists[1:], ALL, budget(switch_gain_ratio=0.1), kept=frozenset({A}))
    assert columns(built) == ["b"], "what has been built since is in nobody's place"


def test_what_the_last_advice_holds_goes_when_it_is_worth_nothing() -> None:
    lists = [votes("1", {A: 500}), votes("2", {B: 0.1}), votes("3", {C: 80})]
    advice = recommend(lists, ALL, budget(max_indexes=2, switch_gain_ratio=0.1), kept=frozenset({A, B}))
    assert columns(advice) == ["a", "c"]


@settings(max_examples=40)
@given(
    saved=st.lists(st.integers(0, 300), min_size=3, max_size=3),
    kept=st.sets(st.sampled_from([A, B, C])),
    together=st.integers(0, 300),
)
def test_steady_advice_costs_less_than_the_switch_gain_and_settles(
    saved: list[int], kept: set[Index], together: int
) -> None:
    lists = [votes(str(item), {item: gain}) for item, gain in zip((A, B, C), saved, strict=True)]
    lists.append(votes("either", {A: together, B: together}))
    steady, free = budget(max_indexes=2, switch_gain_ratio=0.02), budget(max_indexes=2)
    advice = recommend(lists, ALL, steady, kept=frozenset(kept))
    best = recommend(lists, ALL, free)
    net = [each.saving.ratio - 0.05 * len(each.chosen) for each in (advice, best)]
    assert net[0] >= net[1] - 0.02 * len(kept) - 1e-9
    again = recommend(lists, ALL, steady, kept=frozenset(item.index for item in advice.chosen))
    assert columns(again) == columns(advice)


def test_nothing_to_save_is_said() -> None:
    advice = recommend([], ALL, budget())
    assert (columns(advice), advice.stop) == ([], Stop.NOTHING_TO_SAVE)
