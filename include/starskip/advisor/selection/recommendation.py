"""Question and answer of the selection: budget, chosen set, curve over K, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.selection.choice import TIME_S
from starskip.advisor.selection.entries_percentile import DesirableEntries
from starskip.advisor.selection.saving_interval import SavingInterval


class Stop(Enum):
    """The reason why the curve over K ends at its last point."""

    BELOW_MIN_GAIN = "below_min_gain"
    MAX_INDEXES = "max_indexes"
    NO_MORE_CANDIDATES = "no_more_candidates"
    NOTHING_TO_SAVE = "nothing_to_save"
    DESIRABLE_ENTRIES = "desirable_entries"
    STORAGE_BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Budget:
    """``max_indexes``: K, an upper bound; ``min_gain_ratio``: share of the entries in filter to add.

    ``storage_bytes``: for all chosen indexes together; None is no limit. ``switch_gain_ratio``: the saving by
    which an index must exceed an index of the last advice to replace it. ``desirable``: the entries a query
    that are few enough. ``time_s``: seconds after which the best set found is taken. ``is_timed``: what the
    votes count is milliseconds instead of entries.
    """

    max_indexes: int
    min_gain_ratio: float
    model_error_ratio: float
    storage_bytes: int | None = None
    switch_gain_ratio: float = 0.0
    desirable: DesirableEntries | None = None
    time_s: float = TIME_S
    is_timed: bool = False

    @property
    def of_filters(self) -> str:
        """Words for what an index saves a share of."""
        return "of the time of filters" if self.is_timed else "of the entries in filters"

    @property
    def of_all(self) -> str:
        """Words for what an answer of whole queries saves a share of."""
        return "of all time" if self.is_timed else "of all entries"


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries scanned in filter by all of a table's queries, and the sum over queries of their squares."""

    total: float
    squared: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The best set of at most ``k`` indexes and answers, the indexes ranked, with its saving.

    ``gap_ratio``: the share of the bound by which another set could be better; 0 if none is, infinite if
    unknown. ``bound``: in entries, less upkeep; no set saves more.
    """

    k: int
    indexes: tuple[Index, ...]
    saving: SavingInterval
    gap_ratio: float = 0.0
    bound: float = 0.0
    answers: tuple[AnswerCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The chosen indexes of one table; ``gap_ratio`` and ``bound`` as in CurvePoint.

    ``saving``: what the indexes save by themselves, without the chosen answers, of the entries in filter.
    """

    chosen: tuple[Verdict, ...]
    saving: SavingInterval
    curve: tuple[CurvePoint, ...]
    stop: Stop
    refused: tuple[Verdict, ...]
    gap_ratio: float = 0.0
    bound: float = 0.0
