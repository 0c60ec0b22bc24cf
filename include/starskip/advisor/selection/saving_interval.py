"""The interval in which the real saving of a set is expected to lie.

The predicted ratio R = sum saving / sum entries is measured on the queries of one night, which are a draw
from the workload that the indexes are meant for. Its variance as an estimate of that workload's ratio is sum
(saving_q - R * entries_q)² / (sum entries)², as of the ratio estimator. Votes hold the squares of each
disjunct of a query by itself; the savings of a shape's disjuncts are assumed to be proportional over its
queries. The error of the model itself is added as ``model_error_ratio``, largest where half is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import copysign, sqrt

from starskip.advisor.families.index import Index
from starskip.advisor.selection.vote_list import Saving, VoteList

Z_90 = 1.6449


@dataclass(frozen=True, slots=True)
class SavingInterval:
    """``ratio`` of all entries scanned that is saved, and the 90 % interval around it, all at most 1.

    Negative if Pinot would scan more; below -1 if more than twice as much.
    """

    ratio: float
    low: float
    high: float

    def widened(self, factor: float) -> SavingInterval:
        """Return the saving with an interval ``factor`` times as wide."""
        low = self.ratio - factor * (self.ratio - self.low)
        return SavingInterval(self.ratio, low, min(self.ratio + factor * (self.high - self.ratio), 1.0))


def saving_interval(
    lists: Sequence[VoteList],
    chosen: Collection[Index],
    *,
    entries: float,
    entries_squared: float,
    model_error_ratio: float,
) -> SavingInterval:
    """Return the saving of ``chosen`` as a ratio of ``entries``, all entries the night scanned in filter.

    ``entries_squared``: the sum over queries of their entries squared.
    """
    if entries <= 0:
        return SavingInterval(0.0, 0.0, 0.0)
    chosen = frozenset(chosen)
    savings = [votes.saving(chosen) for votes in lists]
    ratio = sum(saving.entries for saving in savings) / entries
    squared = squared_savings(zip(lists, savings, strict=True))
    cross = sum(saving.cross for saving in savings)
    residual = max(squared - 2 * ratio * cross + ratio * ratio * entries_squared, 0.0)
    # If a set saves nothing, or everything, the model has nothing to be wrong about.
    model = model_error_ratio * 4 * max(ratio, 0.0) * (1 - min(ratio, 1.0))
    half = Z_90 * sqrt(residual / entries**2 + model**2)
    return SavingInterval(ratio, ratio - half, min(ratio + half, 1.0))


def squared_savings(savings: Iterable[tuple[VoteList, Saving]]) -> float:
    """Return the sum over queries of the squared saving of all their disjuncts together."""
    of_disjunct: dict[tuple[str, int], tuple[float, float]] = {}
    for votes, saving in savings:
        # A disjunct has several lists if nights voted on different sets: these are different queries.
        entries, squared = of_disjunct.get((votes.shape_id, votes.disjunct), (0.0, 0.0))
        of_disjunct[votes.shape_id, votes.disjunct] = entries + saving.entries, squared + saving.squared
    of_shape: dict[str, float] = {}
    for (shape_id, _), (entries, squared) in of_disjunct.items():
        of_shape[shape_id] = of_shape.get(shape_id, 0.0) + copysign(sqrt(squared), entries)
    return sum(root**2 for root in of_shape.values())
