"""Votes of several nights as those of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.scoring.structure import Structure
from starskip.selection.entries_percentile import ShapeEntries
from starskip.selection.look_back import NightVotes, is_comparable, look_back
from starskip.selection.recommendation import Entries
from starskip.selection.vote_list import Saving, StructureSet, VoteList, total_saving

A, B = (Structure("inverted", name) for name in "ab")
NONE: frozenset[Structure] = frozenset()


def night(saved: dict[StructureSet, float], entries: float = 100.0, **fields: object) -> NightVotes:
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
    assert A not in {item for votes in window.lists for item in votes.structures}


def test_what_was_dropped_or_sorted_since_is_not_comparable() -> None:
    before = night(JOINT, in_force=frozenset({A}))
    assert not is_comparable(before, night(JOINT))
    assert is_comparable(night(JOINT), before)
    assert not is_comparable(night(JOINT, order=frozenset({"day"})), night(JOINT))


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
