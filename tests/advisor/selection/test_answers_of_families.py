"""Answers of whole queries, exclusive or not, beside indexes on columns: as good as every set enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice import ChoiceLimits, choose
from starskip.advisor.selection.vote_list import Saving, VoteList, total_saving

INDEXES = tuple(Index("inverted", name) for name in "abc")
SHAPES = ("s", "t", "u")
MOST_ANSWERS = 2


# Made once: Hypothesis would check each anew in every draw, which took it as long as drawing.
_MEMBERS = st.sets(st.sampled_from(INDEXES), min_size=1, max_size=2).map(sorted)
_VOTES = st.integers(-40, 100).map(float)
_SAVINGS = {
    least: st.dictionaries(
        st.sampled_from(SHAPES), st.integers(least, 150).map(float), min_size=1, max_size=3
    )
    for least in (-30, 1)
}
_SIZES = st.integers(0, 50).map(float)
_RANKS = st.integers(0, 3).map(float)


@st.composite
def vote_lists(draw: st.DrawFn, shape: str, disjunct: int) -> VoteList:
    """One disjunct, some of whose sets may read more."""
    members = draw(_MEMBERS)
    savings = {
        frozenset(built): Saving(draw(_VOTES))
        for count in range(1, len(members) + 1)
        for built in itertools.combinations(members, count)
    }
    return VoteList("t", shape, disjunct, savings, is_complete=draw(st.booleans()))


@st.composite
def answers(draw: st.DrawFn, number: int) -> AnswerCandidate:
    """An answer of one to three shapes; an exclusive one may read more, too."""
    is_exclusive = draw(st.booleans())
    saving = draw(_SAVINGS[-30 if is_exclusive else 1])
    family = "star_tree" if is_exclusive else "partition"
    return AnswerCandidate(
        Index(family, f"n{number}"),
        (f"n{number}",),
        saving,
        size_bytes=draw(_SIZES),
        is_exclusive=is_exclusive,
        rank=draw(_RANKS),
    )


def worth(
    built: Sequence[Index], chosen: Sequence[AnswerCandidate], lists: Sequence[VoteList], upkeep: float
) -> float:
    """The first exclusive answer serves a shape; else the better of its indexes and of another answer."""
    total = -upkeep * (len(built) + len(chosen))
    tried = sorted(chosen, key=lambda each: (each.rank, each.index))
    for shape in SHAPES:
        exclusive = [each for each in tried if each.is_exclusive and shape in each.saving_entries]
        others = [each.saving_entries[shape] for each in tried if shape in each.saving_entries]
        votes = total_saving([each for each in lists if each.shape_id == shape], built)
        total += exclusive[0].saving_entries[shape] if exclusive else max([votes, *others])
    return total


@settings(max_examples=300)
@given(
    lists=st.tuples(*(vote_lists(shape, disjunct) for shape in SHAPES for disjunct in (0, 1))),
    candidates=st.tuples(*(answers(number) for number in range(3))),
    upkeep=st.integers(0, 30).map(float),
    storage=st.none() | st.integers(0, 120).map(float),
    most_chosen=st.integers(0, 4),
)
def test_the_choice_is_worth_as_much_as_the_best_of_all_sets(
    lists: tuple[VoteList, ...],
    candidates: tuple[AnswerCandidate, ...],
    upkeep: float,
    storage: float | None,
    most_chosen: int,
) -> None:
    sizes = dict(zip(INDEXES, (30.0, 20.0, 40.0), strict=True))
    most = {"star_tree": MOST_ANSWERS, "partition": 1}
    costs = dict.fromkeys([*INDEXES, *(each.index for each in candidates)], upkeep)
    found = choose(
        lists,
        ChoiceLimits(most_chosen, most, storage, sizes),
        answers=candidates,
        upkeep_entries=costs,
    )
    best = 0.0
    for count, number in itertools.product(range(4), range(4)):
        if count + number > most_chosen:
            continue
        for built, chosen in itertools.product(
            itertools.combinations(INDEXES, count), itertools.combinations(candidates, number)
        ):
            size = sum(sizes[item] for item in built) + sum(each.size_bytes or 0.0 for each in chosen)
            families = [each.index.family for each in chosen]
            if (storage is None or size <= storage) and all(
                families.count(family) <= limit for family, limit in most.items()
            ):
                best = max(best, worth(built, chosen, lists, upkeep))
    assert len(found.indexes) + len(found.answers) <= most_chosen
    assert found.worth == pytest.approx(worth(sorted(found.indexes), found.answers, lists, upkeep), abs=1e-6)
    assert found.worth == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert found.gap_ratio == 0
