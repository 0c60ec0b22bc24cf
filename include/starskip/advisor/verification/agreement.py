"""Agreement of the answers to one query, with the built indexes and without them."""

from __future__ import annotations

from enum import Enum


class Agreement(Enum):
    """The outcome of answering a query both ways; NOT_PROVED if it was to be asked and was not."""

    EQUAL = "equal"
    WITHIN_BOUND = "within_bound"
    NOT_COMPARABLE = "not_comparable"
    DIFFERENT = "different"
    NOT_ANSWERED = "not_answered"
    FAILED = "failed"
    NOT_PROVED = "not_proved"


AGREED = (Agreement.EQUAL.value, Agreement.WITHIN_BOUND.value, Agreement.NOT_COMPARABLE.value)
"""Values of the column ``verdict`` where both ways answered, and no difference was found."""
ACCEPTED = (*AGREED, Agreement.NOT_PROVED.value)
"""Values that a gate lets pass: what was not proved is said elsewhere."""
