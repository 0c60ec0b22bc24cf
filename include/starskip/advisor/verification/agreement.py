"""Agreement of the answers to one query, with the built indexes and without them."""

from __future__ import annotations

from enum import Enum


class Agreement(Enum):
    """The outcome of answering a query both ways."""

    EQUAL = "equal"
    WITHIN_BOUND = "within_bound"
    NOT_COMPARABLE = "not_comparable"
    DIFFERENT = "different"
    NOT_ANSWERED = "not_answered"
    FAILED = "failed"


AGREED = (Agreement.EQUAL.value, Agreement.WITHIN_BOUND.value, Agreement.NOT_COMPARABLE.value)
"""Values of the column ``verdict`` that a gate lets pass."""
