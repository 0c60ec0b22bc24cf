"""The interval in which the real saving of a set is expected to lie.

The predicted ratio R = sum saving / sum entries is measured on one night's queries. Were the same
workload drawn again, its variance would be sum (saving_q - R * entries_q)² / (sum entries)², the
ratio estimator's; both the night at hand and the one to come vary, hence twice that. What the model
itself misses is added as ``model_error_ratio``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import sqrt

from starskip.scoring.structure import Structure
from starskip.selection.vote_list import VoteList

_Z_90 = 1.6449
_VARYING_NIGHTS = 2.0


@dataclass(frozen=True, slots=True)
class SavingInterval:
    """``ratio`` of all entries scanned that is saved, and the 90 % interval around it, all at most 1.

    Negative where Pinot would scan more; below -1 where more than twice as much.
    """

    ratio: float
    low: float
    high: float


def saving_interval(
    lists: Sequence[VoteList],
    chosen: Collection[Structure],
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
    squared = sum(saving.squared for saving in savings)
    cross = sum(saving.cross for saving in savings)
    residual = max(squared - 2 * ratio * cross + ratio * ratio * entries_squared, 0.0)
    # Half of a saving that is nothing or everything cannot be wrong: the model errs in between.
    model = model_error_ratio * 4 * max(ratio, 0.0) * (1 - min(ratio, 1.0))
    half = _Z_90 * sqrt(_VARYING_NIGHTS * residual / entries**2 + model**2)
    return SavingInterval(ratio, ratio - half, min(ratio + half, 1.0))
