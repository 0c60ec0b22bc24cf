"""The chosen set by one programme, against the steps that also tell the curve and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.column_indexes import INVERTED
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.families.index import Index
from starskip.advisor.selection.choice_steps import choose_answers, choose_columns, choose_set, told_lists
from starskip.advisor.selection.look_back import NightVotes
from starskip.advisor.selection.past_nights import PastNights
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.tonight import DropEvidence, Tonight, budget_of
from starskip.advisor.selection.vote_list import IndexSet, Saving, VoteList, total_saving
from starskip.advisor.workload.logged_queries import logged_queries
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.storage.schemas import VOTES

COLUMNS = tuple(Index("inverted", name) for name in "abcd")
SHAPES = ("s", "t", "u", "v")
TOTAL = 1_000.0
SIZES = dict(zip(COLUMNS, (40, 30, 20, 10), strict=True))
_ENTRIES = st.integers(0, 300).map(float)
either = st.dictionaries(
    st.sampled_from(COLUMNS).map(lambda index: frozenset([index])), _ENTRIES.map(Saving), min_size=1
)
trees = st.builds(
    AnswerCandidate,
    st.sampled_from("xy").map(lambda name: Index("star_tree", name)),
    st.just(("d",)),
    st.dictionaries(st.sampled_from(SHAPES), _ENTRIES, min_size=1),
    st.integers(0, 60).map(float),
    is_exclusive=st.just(True),
)


def tonight(
    votes: Sequence[Mapping[IndexSet, Saving]],
    answers: Sequence[AnswerCandidate],
    kept: IndexSet,
    max_indexes: int,
    switch_gain_ratio: float,
    storage_bytes: int | None,
) -> Tonight:
    terms = {
        "advice.max_indexes": max_indexes,
        "advice.switch_gain_ratio": switch_gain_ratio,
        "advice.index_budget_bytes": storage_bytes,
    }
    asked = family_defaults().changed(terms)
    lists = [
        VoteList("t", shape, 0, of_shape, is_complete=False)
        for shape, of_shape in zip(SHAPES, votes, strict=True)
    ]
    shapes = {shape: ShapeEntries(1.0, TOTAL / 4) for shape in SHAPES}
    window = NightVotes(lists, Entries(TOTAL, TOTAL), shapes, frozenset(), frozenset())
    families = FamilyChoice((INVERTED,), (INVERTED,))
    past = PastNights(chosen=kept)
    question = TableQuestion("t", (), VOTES.empty_table(), None, asked, families, past, SIZES)
    return Tonight(
        question,
        logged_queries((), 0),
        window,
        window,
        DropEvidence(0.0, 0.0, 0),
        budget_of(asked, 0.0, shapes),
        {"star_tree": AnswerOffer(tuple({each.index: each for each in answers}.values()))},
    )


def worth(asked: Tonight, chosen: IndexSet, *, is_steady: bool) -> float:
    """Return the saving less what each member must gain; members of the last advice are favoured or not."""
    answers = [each for each in asked.candidates if each.index in chosen]
    # The first answer of a shape serves it.
    served = {shape: saved for each in reversed(answers) for shape, saved in each.saving_entries.items()}
    rest = [votes for votes in told_lists(asked) if votes.shape_id not in served]
    columns = {index for index in chosen if index in COLUMNS}
    budget = asked.budget
    paid = TOTAL * budget.min_gain_ratio * len(chosen)
    bonus = TOTAL * budget.switch_gain_ratio * len(columns & asked.question.past.chosen)
    return sum(served.values()) + total_saving(rest, columns) - paid + (bonus if is_steady else 0.0)


@settings(max_examples=law_cases("STARSKIP_ONE_PROGRAMME", 100), deadline=None)
@given(
    votes=st.tuples(either, either, either, either),
    answers=st.lists(trees, max_size=2),
    kept=st.sets(st.sampled_from(COLUMNS)).map(frozenset),
    max_indexes=st.integers(1, 4),
    switch=st.sampled_from([0.0, 0.01, 0.04]),
    storage=st.none() | st.integers(10, 120),
)
def test_one_programme_chooses_a_set_as_good_as_that_of_the_steps(
    votes: tuple[Mapping[IndexSet, Saving], ...],
    answers: list[AnswerCandidate],
    kept: IndexSet,
    max_indexes: int,
    switch: float,
    storage: int | None,
) -> None:
    asked = tonight(votes, answers, kept, max_indexes, switch, storage)
    given_answers = choose_answers(asked)
    by_steps = frozenset((*choose_columns(asked, given_answers).indexes, *given_answers.answer_indexes))
    at_once = choose_set(asked)
    assert len(at_once) <= max_indexes
    # Where a set of the last advice is near equal, the one programme may take the set that saves more.
    assert any(
        worth(asked, at_once, is_steady=each) >= worth(asked, by_steps, is_steady=each) - 1e-6 * TOTAL
        for each in ([True, False] if kept else [False])
    ), (at_once, by_steps)
