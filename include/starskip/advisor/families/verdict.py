"""The verdict on an index: chosen, refused or to be dropped, with the reason, the saving and the size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from starskip.advisor.families.index import Index


class Outcome(Enum):
    """Kinds of advice on an index."""

    CHOSEN = "chosen"
    REFUSED = "refused"
    DROP = "drop"


class Reason(Enum):
    """The reason why an index is refused, or is to be dropped."""

    NO_SEGMENTS = "no_segments"
    NOT_ENOUGH_QUERIES = "not_enough_queries"
    NO_DICTIONARY = "no_dictionary"
    MULTI_VALUE = "multi_value"
    ALREADY_INDEXED = "already_indexed"
    ALREADY_SORTED = "already_sorted"
    UNKNOWN_COLUMN = "unknown_column"
    PREDICATE_NOT_SERVED = "predicate_not_served"
    NO_QUERY = "no_query"
    CANNOT_BE = "cannot_be"
    BREAKS_CONFIG_RULE = "breaks_config_rule"
    DECIDED_AGAINST = "decided_against"
    SAVES_NOTHING = "saves_nothing"
    READS_MORE_ENTRIES = "reads_more_entries"
    BELOW_MIN_GAIN = "below_min_gain"
    ANSWERED_BY_ANOTHER = "answered_by_another"
    COVERED_BY_CHOSEN = "covered_by_chosen"
    COVERED_BY_FORMAT = "covered_by_format"
    NEEDS_ANOTHER = "needs_another"
    LAYOUT = "layout"
    OVER_MAX_INDEXES = "over_max_indexes"
    OVER_MAX_ANSWERS = "over_max_answers"
    OVER_STORAGE_BUDGET = "over_storage_budget"
    SIZE_UNKNOWN = "size_unknown"
    NEAR_EQUAL = "near_equal"
    BEYOND_DESIRABLE = "beyond_desirable"
    UNUSED = "unused"


def reason_of(code: str) -> Reason | str:
    """Return the reason that a code stands for; the code itself if it is a user's family's."""
    return next((reason for reason in Reason if reason.value == code), code)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The advice on one index; ratios are shares of all entries that the queries scan.

    ``reason``: a Reason, or the code of a user's family. ``detail``: a sentence with the figures.
    ``individual_saving_ratio``: the saving of the index alone. ``progressive_saving_ratio``: its saving
    beyond the chosen indexes that are ranked before it. ``shapes_helped``: number of shapes that it helps
    alone. ``size_bytes``: None if it is not known.
    """

    index: Index
    outcome: Outcome
    reason: Reason | str | None = None
    detail: str = ""
    individual_saving_ratio: float | None = None
    progressive_saving_ratio: float | None = None
    shapes_helped: int | None = None
    size_bytes: int | None = None

    @property
    def code(self) -> str:
        """The reason as artefacts write it, empty for a chosen index."""
        return self.reason.value if isinstance(self.reason, Reason) else self.reason or ""

    def to_row(self, rank: int | None = None) -> dict[str, Any]:
        """Return the columns that all artefacts of advice share; ``rank``: of a chosen index, from 1."""
        return {
            "verdict": self.outcome.value,
            "rank": rank,
            "reason": self.code or None,
            "detail": self.detail or None,
            "individual_saving_ratio": self.individual_saving_ratio,
            "progressive_saving_ratio": self.progressive_saving_ratio,
            "size_bytes": self.size_bytes,
        }


def chosen(
    index: Index,
    individual_saving_ratio: float,
    progressive_saving_ratio: float,
    shapes_helped: int | None = None,
    size_bytes: int | None = None,
) -> Verdict:
    """Return the verdict on an index that is recommended."""
    return Verdict(
        index,
        Outcome.CHOSEN,
        individual_saving_ratio=individual_saving_ratio,
        progressive_saving_ratio=progressive_saving_ratio,
        shapes_helped=shapes_helped,
        size_bytes=size_bytes,
    )


def refused(
    index: Index,
    reason: Reason | str,
    detail: str,
    individual_saving_ratio: float | None = 0.0,
    size_bytes: int | None = None,
) -> Verdict:
    """Return the verdict on an index that is not recommended."""
    return Verdict(
        index,
        Outcome.REFUSED,
        reason,
        detail,
        individual_saving_ratio=individual_saving_ratio,
        size_bytes=size_bytes,
    )
