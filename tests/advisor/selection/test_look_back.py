"""Votes of several nights as those of one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.index import Index, drop_of
from starskip.advisor.selection.look_back import NightVotes, is_comparable, look_back
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.vote_list import IndexSet, Saving, VoteList, total_saving
from starskip.advisor.workload.shape_entries import ShapeEntries

A, B = (Index("inverted", name) for name in "ab")
NONE: frozenset[Index] = frozenset()


def night(saved: dict[IndexSet, float], entries: float = 100.0, **fields: object) -> NightVotes:
    alternatives = {needed: Saving(value, value**2, value * entries) for needed, value in saved.items()}
    plain: dict[str, object] = {"in_force": NONE, "order": frozenset()}
    return NightVotes(
        lists=[VoteList("t", "s", 0, alternatives, is_complete=True)],
        entries=Entries(entries, entries**2),
        shapes={"s": ShapeEntries(1.0, entries)},
        **(plain | fields),  # type: ignore[arg-type]
    )


BOTH = frozenset({A, B})
JOINT = {frozenset({A}): 60.0, frozenset({B}): 50.0, BOTH: 90.0}


def test_older_nights_count_less() -> None:
    window = look_back(night({frozenset({A}): 10.0}), [(0.5, night({frozenset({A}): 80.0}))])
    assert total_saving(window.lists, {A}) == 10.0 + 40.0
    assert window.entries.total == 150.0
    assert len(window.lists) == 1, "the same shape is one list, however many nights there are"
    assert window.shapes == {"s": ShapeEntries(1.5, 150.0)}


def test_a_night_without_past_is_itself() -> None:
    alone = night(JOINT)
    window = look_back(alone, [])
    assert (window.lists, window.entries) == (alone.lists, alone.entries)


def test_the_same_night_again_keeps_the_ratio_and_halves_its_variance() -> None:
    window = look_back(night(JOINT), [(1.0, night(JOINT))])
    assert total_saving(window.lists, BOTH) / window.entries.total == 0.9
    assert window.entries.squared / window.entries.total**2 == pytest.approx(0.5)


def test_what_was_built_since_is_given() -> None:
    tonight = night({frozenset({B}): 0.0}, entries=40.0, in_force=frozenset({A}))
    window = look_back(tonight, [(1.0, night(JOINT))])
    # With a built, the earlier night would have scanned 40 and b would have saved 30 of them.
    assert window.entries.total == 40.0 + 40.0
    assert total_saving(window.lists, {B}) == 30.0
    assert A not in {item for votes in window.lists for item in votes.indexes}


def test_what_was_built_since_would_be_missed() -> None:
    tonight = night({frozenset({B}): 0.0}, entries=40.0, in_force=frozenset({A}))
    window = look_back(tonight, [(1.0, night(JOINT))])
    assert total_saving(window.lists, {drop_of(A)}) == -60.0
    assert total_saving(window.lists, {drop_of(A), B}) == 50.0 - 60.0


def test_what_was_dropped_since_can_be_built_again() -> None:
    built = frozenset({A})
    before = night({frozenset({drop_of(A)}): -60.0}, entries=40.0, in_force=built, asked=built)
    window = look_back(night({}, entries=100.0), [(1.0, before)])
    assert window.entries.total == 100.0 + 100.0
    assert total_saving(window.lists, {A}) == 60.0
    assert window.asked == NONE


def test_a_night_in_another_order_is_not_comparable() -> None:
    assert is_comparable(night(JOINT, in_force=frozenset({A})), night(JOINT))
    assert not is_comparable(night(JOINT, order=frozenset({"day"})), night(JOINT))


@st.composite
def nights_told_both_ways(draw: st.DrawFn) -> tuple[NightVotes, NightVotes, dict[IndexSet, float]]:
    """A night with what it would scan under each set of indexes, seen from two sets that are in force."""
    names = [Index("inverted", name) for name in "abc"]
    sets = [frozenset(chosen) for size in range(4) for chosen in itertools.combinations(names, size)]
    scanned = {chosen: float(draw(st.integers(0, 100))) for chosen in sets}

    def seen_from(in_force: IndexSet) -> NightVotes:
        told = {
            frozenset(drop_of(s) if s in in_force else s for s in chosen ^ in_force): scanned[in_force] - read
            for chosen, read in scanned.items()
            if chosen != in_force
        }
        return night(told, entries=scanned[in_force], in_force=in_force)

    before, now = draw(st.sampled_from(sets)), draw(st.sampled_from(sets))
    return seen_from(before), seen_from(now), scanned


@given(told=nights_told_both_ways())
def test_a_restated_night_is_the_night_as_it_would_have_been(
    told: tuple[NightVotes, NightVotes, dict[IndexSet, float]],
) -> None:
    before, now, _ = told
    window = look_back(replace(now, lists=[], entries=Entries(0.0, 0.0), shapes={}), [(1.0, before)])
    assert window.entries.total == now.entries.total
    for votes in now.lists:
        for chosen, saving in votes.alternatives.items():
            assert total_saving(window.lists, chosen) == saving.entries


@given(
    weights=st.lists(st.floats(0.1, 1.0), max_size=4),
    saved=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=5, max_size=5),
)
def test_a_window_saves_the_weighted_sum_of_its_nights(
    weights: list[float], saved: list[tuple[int, int]]
) -> None:
    nights = [
        night({frozenset({A}): float(a), frozenset({B}): float(b), BOTH: float(a + b)}) for a, b in saved
    ]
    window = look_back(nights[0], list(zip(weights, nights[1:], strict=False)))
    for chosen in ({A}, {B}, {A, B}):
        expected = sum(
            weight * total_saving(each.lists, chosen)
            for weight, each in zip([1.0, *weights], nights, strict=False)
        )
        assert total_saving(window.lists, chosen) == pytest.approx(expected)
