"""Indexes on columns, star-trees and indexes of files under one budget: as good as every set enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.selection import choice, programme
from starskip.advisor.selection.choice_items import choice_items
from starskip.advisor.selection.chosen_answers import AnswerTerms, chosen_answers
from starskip.advisor.selection.greedy_set import LinearLimits, greedy_set
from starskip.advisor.selection.programme import Solved
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.set_values import set_values
from starskip.advisor.selection.vote_list import Saving, VoteList, total_saving

COLUMNS = tuple(Index("inverted", name) for name in "ab")
FILES = tuple(Index("skipping", name) for name in "xyz")
TREE = Index("star_tree", "t")
SHAPES = ("s", "t")
MIN_GAIN, TOTAL = 0.02, 500.0
COLUMN_SIZES = dict(zip(COLUMNS, (30, 20), strict=True))


# Made once: Hypothesis would check each anew in every draw.
_MEMBERS = st.sets(st.sampled_from(COLUMNS), min_size=1).map(sorted)
_VOTES = st.integers(0, 100).map(float)


@st.composite
def vote_lists(draw: st.DrawFn, shape: str) -> VoteList:
    members = draw(_MEMBERS)
    savings = {
        frozenset(built): Saving(draw(_VOTES))
        for count in range(1, len(members) + 1)
        for built in itertools.combinations(members, count)
    }
    return VoteList("t", shape, 0, savings, is_complete=False)


sets_of_files = st.sets(st.sampled_from(FILES), min_size=1, max_size=2).map(frozenset)
file_skips = st.builds(
    FileSkips,
    st.just("skipping"),
    st.dictionaries(
        st.sets(sets_of_files, min_size=1, max_size=2).map(frozenset),
        st.integers(1, 200).map(float),
        max_size=4,
    ),
    st.just(dict.fromkeys(FILES, 9.0)),
    st.tuples(*(st.integers(0, 50).map(float) for _ in FILES)).map(
        lambda sizes: dict(zip(FILES, sizes, strict=True))
    ),
    st.none() | st.integers(0, 60).map(float),
)
trees = st.builds(
    AnswerCandidate,
    st.just(TREE),
    st.just(("t",)),
    st.dictionaries(st.sampled_from(SHAPES), st.integers(1, 150).map(float), min_size=1),
    size_bytes=st.integers(0, 60).map(float),
    is_exclusive=st.just(True),
)


def spared(skips: FileSkips, chosen: Collection[Index]) -> float:
    return sum(
        saved for sets, saved in skips.saving_entries.items() if any(needed <= set(chosen) for needed in sets)
    )


def worth(
    columns: Sequence[Index],
    files: Sequence[Index],
    tree: AnswerCandidate | None,
    lists: Sequence[VoteList],
    skips: FileSkips,
) -> float:
    answered = tree.saving_entries if tree else {}
    votes = total_saving([each for each in lists if each.shape_id not in answered], columns)
    upkeep = MIN_GAIN * TOTAL * (len(columns) + (tree is not None))
    upkeep += sum(skips.must_gain_entries[each] for each in files)
    return votes + sum(answered.values()) + spared(skips, files) - upkeep


@settings(max_examples=300)
@given(
    lists=st.tuples(*(vote_lists(shape) for shape in SHAPES)),
    tree=trees,
    skips=file_skips,
    storage=st.none() | st.integers(0, 150),
    most_chosen=st.integers(1, 3),
)
def test_one_budget_is_spent_as_well_as_the_best_set_spends_it(
    lists: tuple[VoteList, ...],
    tree: AnswerCandidate,
    skips: FileSkips,
    storage: int | None,
    most_chosen: int,
) -> None:
    # Indexes of files are limited by their bytes, not in number.
    budget = Budget(most_chosen, MIN_GAIN, 0.0, storage)
    terms = {"star_tree": AnswerTerms(TOTAL, MIN_GAIN, 1)}
    found = chosen_answers([tree], lists, budget, TOTAL, terms, size_bytes=COLUMN_SIZES, skips=[skips])
    best = 0.0
    for columns in subsets(COLUMNS):
        for files in subsets(FILES):
            for candidate in (None, tree):
                of_files = sum(skips.size_bytes[each] for each in files)
                size = of_files + sum(COLUMN_SIZES[each] for each in columns)
                size += candidate.size_bytes or 0.0 if candidate else 0.0
                fits = skips.max_bytes is None or of_files <= skips.max_bytes
                fits = fits and len(columns) + (candidate is not None) <= most_chosen
                if fits and (storage is None or size <= storage):
                    best = max(best, worth(columns, files, candidate, lists, skips))
    chosen = worth(
        sorted(found.indexes), sorted(found.file_indexes), next(iter(found.answers), None), lists, skips
    )
    assert chosen == pytest.approx(best, abs=1e-6)
    assert found.gap_ratio == 0
    assert len(found.indexes) + len(found.answers) <= most_chosen
    assert found.file_bytes == sum(skips.size_bytes[each] for each in found.file_indexes)
    taken = found.size_bytes + sum(COLUMN_SIZES[each] for each in found.indexes)
    assert storage is None or taken <= storage
    assert skips.max_bytes is None or found.file_bytes <= skips.max_bytes


several_trees = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("stuv"), st.integers(-20, 150).map(float), min_size=1),
        st.integers(1, 3),
    ),
    min_size=2,
    max_size=4,
).map(
    lambda found: [
        AnswerCandidate(
            Index("star_tree", str(number)), ("t",), saving, size_bytes=1.0, is_exclusive=True, rank=rank
        )
        for number, (saving, rank) in enumerate(found)
    ]
)


def in_turn(
    trees: Collection[AnswerCandidate], lists: Sequence[VoteList], chosen: Collection[Index]
) -> float:
    """Return the saving if each shape goes to the first tree that serves it, else to indexes."""
    saved: dict[str, float] = {}
    for tree in sorted(trees, key=lambda each: (each.rank, each.index)):
        for shape, entries in tree.saving_entries.items():
            saved.setdefault(shape, entries)
    return sum(saved.values()) + total_saving([e for e in lists if e.shape_id not in saved], chosen)


@pytest.mark.parametrize("left_out", [0.0, 0.3])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists=st.tuples(*(vote_lists(shape) for shape in "stuv")), trees=several_trees)
def test_the_bound_of_the_programme_holds_for_every_set(
    left_out: float,
    monkeypatch: pytest.MonkeyPatch,
    lists: tuple[VoteList, ...],
    trees: list[AnswerCandidate],
) -> None:
    # Also where it leaves out sets that save hardly more than a part of theirs, as it does of thousands.
    monkeypatch.setattr(programme, "_MANY_SETS", 0)
    monkeypatch.setattr(programme, "_LEFT_OUT_RATIO", left_out)
    limits = choice.ChoiceLimits(2, {"star_tree": 2})
    found = choice.choose(lists, limits, answers=trees)
    pairs = [each for count in range(3) for each in itertools.combinations(trees, count)]
    best = max(
        in_turn(each, lists, columns)
        for each in pairs
        for columns in subsets(COLUMNS)
        if len(each) + len(columns) <= 2
    )
    assert found.worth == pytest.approx(in_turn(found.answers, lists, found.indexes), abs=1e-6)
    assert found.worth <= best + 1e-6
    assert found.bound >= best - 1e-6
    assert programme.most_worth(set_values(choice_items(lists, trees), {})) >= best - 1e-6
    if not left_out:
        assert (found.worth, found.gap_ratio) == (pytest.approx(best, abs=1e-6), 0)


def subsets(items: Sequence[Index]) -> list[tuple[Index, ...]]:
    return [found for count in range(len(items) + 1) for found in itertools.combinations(items, count)]


def test_a_budget_that_is_short_goes_to_whichever_family_saves_more() -> None:
    votes = VoteList("t", "s", 0, {frozenset(COLUMNS[:1]): Saving(100.0)}, is_complete=True)
    for saved, taken in ((90.0, frozenset()), (110.0, frozenset(FILES[:1]))):
        skips = FileSkips(
            "skipping", {frozenset([frozenset(FILES[:1])]): saved}, {FILES[0]: 0.0}, {FILES[0]: 30.0}
        )
        found = chosen_answers(
            [], [votes], Budget(2, 0.0, 0.0, 50), TOTAL, {}, size_bytes=COLUMN_SIZES, skips=[skips]
        )
        assert found.file_indexes == taken
        assert found.indexes == (frozenset() if taken else frozenset(COLUMNS[:1]))


def test_where_the_solver_fails_the_greedy_set_stays_and_nobody_knows_the_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choice, "solve", lambda *_: Solved(None, math.inf, is_proven=False))
    a = Index("inverted", "a")
    votes = VoteList("t", "s", 0, {frozenset([a]): Saving(5.0)}, is_complete=False)
    found = choice.choose([votes], choice.ChoiceLimits(3))
    assert found.indexes == {a}
    assert found.worth == 5.0
    assert math.isinf(found.gap_ratio)


def test_the_greedy_set_keeps_to_its_time() -> None:
    indexes = [Index("inverted", name) for name in "abc"]
    lists = [VoteList("t", i.column, 0, {frozenset([i]): Saving(5.0)}, is_complete=False) for i in indexes]
    values = set_values(choice_items(lists, ()), {})
    limits = LinearLimits(np.ones((1, 3)), np.array([3.0]))
    assert greedy_set(values, limits, 10.0).sum() == 3
    assert greedy_set(values, limits, 0.0).sum() == 1, "one addition is better than none"
