"""Distance functions of metric spaces: as functions for Spark, and over whole Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Distances = npt.NDArray[np.float64]


def euclidean_distance(*points: Any) -> float | None:
    """Return the Euclidean distance of two arrays of numbers, or of 2 n numbers.

    Returns None for null, and for arrays of different lengths. Its name in Spark is ``euclidean_distance``.
    """
    pair = _pair(points)
    return None if pair is None else math.sqrt(sum((a - b) * (a - b) for a, b in zip(*pair, strict=True)))


def manhattan_distance(*points: Any) -> float | None:
    """Return the Manhattan distance, for the arguments of euclidean_distance."""
    pair = _pair(points)
    return None if pair is None else float(sum(abs(a - b) for a, b in zip(*pair, strict=True)))


def register_functions(spark: Any) -> None:
    """Register both functions in a Spark session, by the names that indexes serve."""
    spark.udf.register("euclidean_distance", euclidean_distance, "double")
    spark.udf.register("manhattan_distance", manhattan_distance, "double")


def _pair(points: Sequence[Any]) -> tuple[list[float], list[float]] | None:
    if any(each is None for each in points):
        return None
    of_arrays = len(points) == 2 and all(hasattr(each, "__len__") for each in points)
    middle = len(points) // 2
    left, right = points if of_arrays else (points[:middle], points[middle:])
    if len(left) != len(right) or any(each is None for each in (*left, *right)):
        return None
    return [float(each) for each in left], [float(each) for each in right]


def _euclidean(differences: Distances) -> Distances:
    return np.asarray(np.sqrt(np.square(differences).sum(axis=1)))


def _manhattan(differences: Distances) -> Distances:
    return np.asarray(np.abs(differences).sum(axis=1))


VECTOR_METRICS: dict[str, Callable[[Distances], Distances]] = {
    "euclidean": _euclidean,
    "manhattan": _manhattan,
}
"""Functions from the differences of points, one a row, to their distances."""
TEXT_METRIC = "levenshtein"


def distances_to_point(points: pa.ListArray, point: Sequence[float], metric: str) -> Distances:
    """Return the distance of each point to ``point``; NaN for null or another dimension."""
    found = np.full(len(points), np.nan)
    offsets = points.offsets.to_numpy()
    numbers = points.values.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    valid = points.is_valid().to_numpy(zero_copy_only=False)
    alike = np.flatnonzero(valid & (np.diff(offsets) == len(point)))
    at = offsets[:-1][alike, None] + np.arange(len(point))
    with np.errstate(over="ignore", invalid="ignore"):
        found[alike] = VECTOR_METRICS[metric](numbers[at] - np.asarray(point, np.float64))
    return found
