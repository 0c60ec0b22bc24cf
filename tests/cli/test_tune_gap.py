"""The gap of the choice to the best one, in the text and the JSON of ``starskip tune``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.recommendation import Recommendation, Stop
from starskip.advisor.selection.saving_interval import SavingInterval
from starskip.advisor.selection.table_advice import TableAdvice, VotedNights
from starskip.advisor.workload.logged_queries import LoggedQueries
from starskip.cli.tune_document import tune_document
from starskip.cli.tune_text import tune_text

NOTHING = Recommendation((), SavingInterval(0.0, 0.0, 0.0), (), Stop.NOTHING_TO_SAVE, ())
ADVICE = TableAdvice("t", LoggedQueries(), VotedNights(entries=200.0), NOTHING)


@pytest.mark.parametrize(
    ("gap", "bound", "told", "words"),
    [
        (0.0, 100.0, {}, ""),
        (0.0004, 100.0, {}, ""),
        (0.1, 100.0, {"gap_ratio": 0.1, "bound": 0.5}, "up to 10.0 % more"),
        (math.inf, math.inf, {"gap_ratio": None, "bound": None}, "it is unknown how much more"),
    ],
)
def test_a_gap_is_told_where_there_is_one(gap: float, bound: float, told: dict[str, Any], words: str) -> None:
    families = FamilyChoice()
    of_answers = replace(ADVICE, answers=ChosenAnswers(gap_ratio=gap, bound=bound))
    of_indexes = replace(ADVICE, recommendation=replace(NOTHING, gap_ratio=gap, bound=bound))
    for advice in (of_answers, of_indexes):
        document = tune_document(advice, families)
        assert {key: document[key] for key in ("gap_ratio", "bound") if key in document} == told
        text = tune_text(advice, families, is_guess=False)
        assert words in text
        assert bool(words) == ("the choice" in text.partition("nothing to recommend")[2])
