"""Sentences on queries that were not answered both ways."""

from __future__ import annotations

from starskip.advisor.verification.unproved_words import unproved_sentences, unproved_warning

ROWS = [
    {"shape_id": "a", "verdict": "not_proved", "detail": "one query reads 1.2 TB"},
    {"shape_id": "b", "verdict": "equal", "detail": None},
    {"shape_id": "b", "verdict": "not_proved", "detail": "the budget is used up"},
    {"shape_id": "c", "verdict": "failed", "detail": "a file is gone"},
]


def test_all_queries_asked_leave_nothing_to_say() -> None:
    asked = [row for row in ROWS if row["verdict"] != "not_proved"]
    assert unproved_warning(asked) is None
    assert unproved_sentences(asked, {"b": 1.0}) is None
    assert unproved_sentences([], {}) is None


def test_how_much_was_asked_is_said_with_the_share_of_the_work_and_the_reason() -> None:
    assert unproved_warning(ROWS) == "2 of 4 queries were not proved: one query reads 1.2 TB"
    assert unproved_sentences(ROWS, {"a": 30.0, "b": 60.0, "c": 10.0, "another": 900.0}) == (
        "2 of 4 queries were asked both ways: of 2 of 3 query shapes, with 70 % of the work of all of these. "
        "The others were not proved: one query reads 1.2 TB."
    )


def test_a_share_of_unknown_work_is_not_told() -> None:
    assert unproved_sentences(ROWS[:1], {}) == (
        "0 of 1 queries were asked both ways: of 0 of 1 query shapes. "
        "The others were not proved: one query reads 1.2 TB."
    )
