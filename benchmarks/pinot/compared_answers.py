"""Compare two answers, and measure the error of an approximate one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from starskip.star_tree.measure import MeasureKind
from starskip.star_tree.measures.sketch_answers import error_bound
from starskip.star_tree.measures.sketches import HLL_LG_K, KLL_K, T_DIGEST_K

RELATIVE_TOLERANCE = 1e-9
"""Relative tolerance of doubles: the order in which they are added differs."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A ratio that ``confidence`` of all errors stay below."""

    ratio: float
    confidence: float
    text: str


_HLL, _KLL = error_bound(MeasureKind.HLL), error_bound(MeasureKind.KLL)
_T_DIGEST = error_bound(MeasureKind.T_DIGEST)
OUR_BOUNDS = {
    "DISTINCTCOUNTHLL": Bound(_HLL.ratio, _HLL.confidence or 1.0, f"HLL of 2^{HLL_LG_K}, 3 deviations"),
    "PERCENTILEEST": Bound(_KLL.ratio, _KLL.confidence or 1.0, f"KLL of k = {KLL_K}"),
    "PERCENTILETDIGEST": Bound(_T_DIGEST.ratio, 1.0, f"t-digest of {T_DIGEST_K}, not proven"),
}
PINOTS_BOUNDS = {
    "DISTINCTCOUNTHLL": Bound(3 * 1.04 / math.sqrt(256), 0.997, "HLL of 2^8, 3 deviations"),
    "PERCENTILEEST": Bound(0.05, 1.0, "QuantileDigest of maxError 0.05"),
    "PERCENTILETDIGEST": Bound(0.02, 1.0, "t-digest of 100, not proven"),
}
"""By the defaults of Pinot 0.11: log2m 8, maximum error 0.05, compression 100."""


def same_rows(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]], *, is_ordered: bool) -> bool:
    """Return whether the rows are the same: texts and whole numbers exactly, doubles to a tolerance."""
    if len(found) != len(wanted):
        return False
    if not is_ordered:
        found, wanted = sorted(found, key=_texts), sorted(wanted, key=_texts)
    return all(
        len(ours) == len(theirs) and all(map(_same, ours, theirs))
        for ours, theirs in zip(found, wanted, strict=True)
    )


def _texts(row: Sequence[Any]) -> list[str]:
    return [value for value in row if isinstance(value, str)]


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return math.isclose(float(found), wanted, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE)
    return bool(found == wanted)


def distinct_count_error(found: float, values: npt.NDArray[np.float64]) -> float:
    """Return the error relative to the number of distinct values."""
    exact = len(np.unique(values))
    return abs(found - exact) / exact


def rank_error(found: float, percentile: float, values: npt.NDArray[np.float64], *, is_cut: bool) -> float:
    """Return how far the rank of ``found`` among the sorted values is from the percentile, as a ratio.

    A value that stands there several times has all of their ranks; ``is_cut``: what stood behind the point
    was cut off, as Pinot's PERCENTILEEST does.
    """
    low = np.searchsorted(values, found, side="left") / len(values)
    high = np.searchsorted(values, found + 1 if is_cut else found, side="left" if is_cut else "right") / len(
        values
    )
    wanted = percentile / 100
    return float(max(0.0, low - wanted, wanted - high))


class Errors:
    """The errors of one function in one system."""

    def __init__(self, bound: Bound) -> None:
        """Start without any."""
        self.bound = bound
        self.found: list[float] = []

    @property
    def outside(self) -> int:
        """Return the number that are greater than the bound."""
        return sum(error > self.bound.ratio for error in self.found)

    @property
    def is_within(self) -> bool:
        """Return whether no more are outside than the bound's confidence allows; one may be, if any may."""
        share = 1 - self.bound.confidence
        return self.outside <= (math.ceil(share * len(self.found)) if share else 0)
