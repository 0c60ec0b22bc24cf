"""Words of ``starskip tune`` on indexes that look alike, and keys of families that look alike."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer
from starskip.advisor.families.families import BUILT_IN, FamilyChoice
from starskip.advisor.families.family import AccessPath, Family
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.families.star_tree.recommend.star_tree_offer import answer_of
from starskip.advisor.families.verdict import Reason, chosen, refused
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.recommendation import Recommendation, Stop
from starskip.advisor.selection.saving_interval import SavingInterval
from starskip.advisor.selection.table_advice import TableAdvice, VotedNights
from starskip.advisor.workload.logged_queries import LoggedQueries
from starskip.cli.tune_document import tune_document
from starskip.cli.tune_text import tune_text
from starskip.reports.advice_values import CombinedSavingEvidence, Interval
from starskip.reports.saving_words import together_words
from starskip.star_tree.star_tree_config import StarTreeConfig

NOTHING = Recommendation((), SavingInterval(0.0, 0.0, 0.0), (), Stop.NOTHING_TO_SAVE, ())
ADVICE = TableAdvice("t", LoggedQueries(), VotedNights(entries=200.0), NOTHING)


def tree(*pairs: str) -> AnswerCandidate:
    config = StarTreeConfig.from_document({"dimensionsSplitOrder": ["a"], "functionColumnPairs": list(pairs)})
    return answer_of(CandidateTree(config, 100.0, 10.0, {"s": 2.0}, {"s": 50.0}))


def test_star_trees_by_the_same_columns_are_told_apart_by_their_functions() -> None:
    one, other = tree("COUNT__*", "SUM__b"), tree("MAX__b")
    verdict = refused(other.index, Reason.COVERED_BY_CHOSEN, "by itself it saves 5 %")
    answers = ChosenAnswers((one,), {"s": 0}, ((other, verdict),))
    found = replace(ADVICE, answers=answers, offers={"star_tree": AnswerOffer(total_entries=100.0)})
    text = tune_text(found, FamilyChoice(), is_guess=False)
    assert "  a star-tree by a with COUNT__*, SUM__b: 50.0 % of all entries" in text
    assert "  refused a star-tree by a with MAX__b: covered_by_chosen (by itself it saves 5 %)" in text
    (told,) = tune_document(found, FamilyChoice())["refused"]
    assert told["detail"] == "with MAX__b: by itself it saves 5 %"


def test_a_sort_order_beside_the_indexes_is_told() -> None:
    order = replace(
        NOTHING, chosen=(chosen(Index("sorted", "a"), 0.3, 0.3),), saving=SavingInterval(0.3, 0.2, 0.4)
    )
    text = tune_text(replace(ADVICE, sort_order=order), FamilyChoice(), is_guess=False)
    assert "not among these changes: sorted by a, the table scans 30.0 % fewer entries" in text
    assert "(90 % interval 20–40 %)" in text
    assert "sorted by" not in tune_text(replace(ADVICE, sort_order=NOTHING), FamilyChoice(), is_guess=False)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((0.656, 0.145), "save 80.1 % of all entries scanned, in filters and behind them "),
        ((0.656, 0.145), ": 65.6 % by indexes on columns, 14.5 % by star-trees"),
        ((0.6567, 0.1445), ": 65.7 % by indexes on columns, 14.4 % by star-trees"),
        ((0.6, 0.0461), ": 60.0 % by indexes on columns, 4.6 % by star-trees"),
        ((0.6, 0.0002), ": 60.0 % by indexes on columns, 0.02 % by star-trees"),
        ((0.6, -0.0461), ": 60.0 % by indexes on columns, −4.6 % by star-trees"),
    ],
)
def test_the_parts_of_a_saving_add_up_as_they_are_shown(parts: tuple[float, float], words: str) -> None:
    by_name = dict(zip(("indexes", "star_tree"), parts, strict=True))
    whole = sum(parts)
    told = together_words(CombinedSavingEvidence(whole, Interval(whole, whole), 100, 50, by_name), 2)
    assert words in told


@given(st.lists(st.floats(0.0, 0.3), min_size=2, max_size=3))
@example([0.0625, 0.0005, 0.0005])
def test_whatever_the_parts_their_shown_sum_is_the_whole(parts: list[float]) -> None:
    whole = sum(parts)
    by_name = dict(zip(("indexes", "star_tree", "own"), parts, strict=False))
    told = together_words(CombinedSavingEvidence(whole, Interval(whole, whole), 100, 50, by_name), 2)
    shown = [float(each) for each in re.findall(r"([0-9.]+) % by", told)]
    # A part below a tenth of a percent is shown with two digits of its own.
    assert sum(shown) == pytest.approx(round(100 * whole, 1), abs=0.11)


def test_the_keys_of_a_users_family_replace_none_of_the_others() -> None:
    own = Family(
        "own",
        "a thing",
        "things",
        path=AccessPath(lambda *_: True, lambda _: None),
        document=lambda columns: {"inverted_index_columns": ["mine"], "queries": -1, "things": list(columns)},
    )
    families = (*BUILT_IN, own)
    found = tune_document(ADVICE, FamilyChoice(families, families))
    assert (found["inverted_index_columns"], found["queries"], found["things"]) == ([], 0, [])


def test_a_query_that_an_index_harms_is_told_with_the_option_that_spares_it(call, deep_store, tmp_path, line):
    """A real Pinot 0.11 scanned 384 entries in four segments for it, and 10,799 with the index."""
    limited = "SELECT l_orderkey FROM lineitem WHERE l_shipmode = 'AIR' AND l_shipinstruct = 'NONE' LIMIT 10"
    asked = [("SELECT COUNT(*) FROM lineitem WHERE l_shipmode = 'AIR'", 74_952), (limited, 96)]
    (tmp_path / "broker.log").write_text("".join(line(*each) * 9 for each in asked))
    arguments = ("tune", "--log", tmp_path / "broker.log", "--segments", deep_store, "--index", "inverted")
    arguments += ("--max-indexes", "1", "--set", "scoring.pinot_version=1.5.1")
    told = call(*arguments).stdout
    option = "SET skipIndexes='l_shipmode=inverted';"
    assert f"l_shipinstruct = ? LIMIT ?; not with {option} before it" in told
    (table,) = json.loads(call(*arguments, "--format", "json").stdout)["tables"].values()
    (harmed,) = table["reads_more"]
    assert harmed["option"] == option
    assert harmed["more_ratio"] == pytest.approx(10_799 / 384 - 1, rel=0.1)
