"""Compute numbers from sketches, each with the bound of its error.

The value of a rank in a t-digest is interpolated between its centroids, as Dunning does. The library's
get_quantile swaps the weights of the two centroids around a rank, and so is off by up to 4 % of all ranks
where centroids are large (datasketches 5.2.0; mended in Java, Go and Rust in August 2026:
apache/datasketches-java, pull request 755).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.star_tree.measure import MeasureKind
from starskip.star_tree.measures.sketches import HLL_LG_K, KLL_K, T_DIGEST_K, quantile_class, sketch_library
from starskip.star_tree.measures.values_apart import parted

_CENTROIDS = np.dtype([("mean", "<f8"), ("weight", "<u8")])
_COUNT_AT, _CENTROIDS_AT = 8, 32
"""Offsets of the number of centroids, and of the centroids, in a serialised digest of several values."""


def t_digest_quantile(digest: Any, rank: float) -> float:
    """Return the value at ``rank`` (0 to 1) of a ``tdigest_double`` that is not empty.

    A centroid's mean lies in the middle of its weight, the least and the greatest value one from the ends.
    Between these points values are linear, but a centroid of one value has that value all along its weight.
    """
    total = digest.get_total_weight()
    if total == 1:
        return float(digest.get_min_value())
    digest.compress()
    stored = digest.serialize()
    count = int.from_bytes(stored[_COUNT_AT : _COUNT_AT + 4], "little")
    centroids = np.frombuffer(stored, _CENTROIDS, count, _CENTROIDS_AT)
    weights = centroids["weight"].astype(np.float64)
    middles = np.cumsum(weights) - weights / 2
    # Both ends of the flat stretch of a centroid of one value; for larger centroids the same point twice.
    halves = np.where(weights == 1, 0.5, 0.0)
    positions = np.stack([middles - halves, middles + halves], axis=1).ravel()
    values = np.repeat(centroids["mean"], 2)
    positions = np.concatenate([[min(1.0, positions[0])], positions, [max(total - 1.0, positions[-1])]])
    values = np.concatenate([[digest.get_min_value()], values, [digest.get_max_value()]])
    return float(np.interp(rank * total, positions, values))


_STANDARD_DEVIATIONS = 3
_T_DIGEST_RATIO = 4 / T_DIGEST_K
"""At worst 1 / k for up to a million values of up to 500 merged digests, 3.8 / k where 50 values repeat."""


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """The bound of an approximate answer's error, as a sentence and as a ratio.

    ``ratio`` is of the count for distinct counts, and of all ranks for percentiles; ``confidence`` is None
    where the method proves no bound.
    """

    ratio: float
    confidence: float | None
    text: str


def error_bound(kind: MeasureKind) -> ErrorBound:
    """Return the bound that holds for every sketch of that kind; small groups are exact or nearly so."""
    if kind is MeasureKind.HLL:
        ratio = float(sketch_library().hll_sketch.get_rel_err(True, False, HLL_LG_K, _STANDARD_DEVIATIONS))
        return ErrorBound(
            abs(ratio),
            0.997,
            f"HyperLogLog, 2^{HLL_LG_K} registers: within {abs(ratio):.1%} in 99.7 % of cases",
        )
    if kind is MeasureKind.KLL:
        ratio = float(sketch_library().kll_doubles_sketch.get_normalized_rank_error(KLL_K, False))
        return ErrorBound(
            ratio, 0.99, f"KLL, k = {KLL_K}: rank within {ratio:.2%} of all values in 99 % of cases"
        )
    return ErrorBound(
        _T_DIGEST_RATIO,
        None,
        f"t-digest, compression {T_DIGEST_K}: no proven bound; rank mostly within {_T_DIGEST_RATIO:.0%} in "
        "the middle and far less at both ends",
    )


def distinct_counts(sketches: pa.Array) -> pa.Array:
    """Return the estimated number of distinct values of each HLL sketch, as int64."""
    of_bytes = sketch_library().hll_sketch.deserialize
    estimates = [round(of_bytes(each).get_estimate()) for each in sketches.to_pylist()]
    return pa.array(estimates, pa.int64())


def percentiles(sketches: pa.Array, kind: MeasureKind, percentile: float) -> pa.Array:
    """Return the value at ``percentile`` (0 to 100) of each sketch as float64, null for an empty one.

    KLL returns a value of the data; a t-digest interpolates between its centroids. NaN is the greatest.
    """
    share = Fraction(repr(float(percentile))) / 100
    found = [_percentile(each, kind, share) for each in sketches.to_pylist()]
    return pa.array(found, pa.float64())


def _percentile(stored: bytes, kind: MeasureKind, share: Fraction) -> float | None:
    serialized, apart = parted(stored)
    sketch = quantile_class(kind).deserialize(serialized)
    held = int(sketch.n if kind is MeasureKind.KLL else sketch.get_total_weight())
    total = held + apart.count
    if not total:
        return None
    # In whole numbers: the product of floats 0.28 * 25 is above 7, and would select the next rank.
    place = max(math.ceil(share * total), 1)
    if place <= apart.least:
        return -math.inf
    if place > apart.least + held:
        return math.inf if place <= total - apart.nan else math.nan
    if kind is MeasureKind.KLL:
        return float(sketch.get_quantile((place - apart.least - 0.5) / held, True))
    rank = float((share * total - apart.least) / held)
    return t_digest_quantile(sketch, min(max(rank, 0.0), 1.0))
