"""Verdict on a query that is answered with the built indexes and without them."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """The outcome of answering a query both ways."""

    EQUAL = "equal"
    WITHIN_BOUND = "within_bound"
    NOT_COMPARABLE = "not_comparable"
    DIFFERENT = "different"
    NOT_ANSWERED = "not_answered"
    FAILED = "failed"


AGREED = (Verdict.EQUAL.value, Verdict.WITHIN_BOUND.value, Verdict.NOT_COMPARABLE.value)
"""Verdicts that a gate lets pass."""
