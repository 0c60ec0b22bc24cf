"""Fit the linear latency model, and judge by its out-of-sample R2 whether it may be used.

``latency_ms = c + alpha * entries_in_filter + beta * entries_post_filter``
("Automated Inverted Index Recommendation for Pinot", II.1), fitted by non-negative least squares with an
intercept on the pooled bins. That tool judged the fit by the uncentred R2 of its own training points, which
is near 1 for anything; here R2 is centred and out of sample: each point is predicted by a model that was
fitted without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.optimize import nnls

Floats = npt.NDArray[np.float64]

MIN_BINS = 12
_FOLDS = 10


class NoFit(Enum):
    """The reason why there is no model."""

    TOO_FEW_BINS = "too_few_bins"
    NO_VARIATION = "no_variation"
    POOR_FIT = "poor_fit"


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """The fit of one table; ``no_fit`` is None if the model may be used.

    ``intercept_ms``, ``alpha_ms`` and ``beta_ms`` (milliseconds an entry) are None if nothing could be
    fitted. ``r2_out_of_sample`` is centred, at most 1, and negative for a model that is worse than the mean.
    """

    table: str
    bins: int
    queries: int
    intercept_ms: float | None
    alpha_ms: float | None
    beta_ms: float | None
    r2_out_of_sample: float | None
    threshold: float
    no_fit: NoFit | None


def fit_latency_model(bins: pa.Table, table: str, *, r2_threshold: float) -> LatencyModel:
    """Fit the LATENCY_BINS of one table; say so if the model does not fit."""
    queries = int(np.sum(bins["queries"].to_numpy())) if len(bins) else 0
    latencies = bins["latency_ms"].to_numpy().astype(float)
    inputs = np.column_stack(
        [
            np.ones(len(bins)),
            bins["entries_scanned_in_filter"].to_numpy().astype(float),
            bins["entries_scanned_post_filter"].to_numpy().astype(float),
        ]
    )
    refused = _unfit(latencies, inputs)
    if refused is not None:
        return LatencyModel(table, len(bins), queries, None, None, None, None, r2_threshold, refused)
    intercept, alpha, beta = _fitted(inputs, latencies)
    r2 = _out_of_sample_r2(inputs, latencies)
    no_fit = None if r2 >= r2_threshold else NoFit.POOR_FIT
    return LatencyModel(table, len(bins), queries, intercept, alpha, beta, r2, r2_threshold, no_fit)


def _unfit(latencies: Floats, inputs: Floats) -> NoFit | None:
    if len(latencies) < MIN_BINS:
        return NoFit.TOO_FEW_BINS
    if np.ptp(latencies) == 0 or np.ptp(inputs[:, 1]) == 0:
        return NoFit.NO_VARIATION
    return None


def fitted_line(
    in_filter: Floats, post_filter: Floats, latencies: Floats, weights: Floats
) -> tuple[float, float, float]:
    """Return intercept, alpha and beta in ms; errors count by ``weights``, and as shares of the latencies."""
    by = np.sqrt(weights) / np.maximum(latencies, 1.0)
    inputs = np.column_stack([np.ones(len(in_filter)), in_filter, post_filter])
    intercept, alpha, beta = _fitted(inputs * by[:, None], latencies * by)
    return float(intercept), float(alpha), float(beta)


def _fitted(inputs: Floats, latencies: Floats) -> Floats:
    # Entries run into millions and the intercept is 1: without scaling the solver loses its digits.
    scale = np.maximum(np.abs(inputs).max(axis=0), 1.0)
    solution: Floats = nnls(inputs / scale, latencies)[0] / scale
    return solution


def _out_of_sample_r2(inputs: Floats, latencies: Floats) -> float:
    """Centred R2 over predictions for points that the fit had not seen."""
    folds = np.arange(len(latencies)) % min(_FOLDS, len(latencies))
    residual = total = 0.0
    for fold in np.unique(folds):
        held, kept = folds == fold, folds != fold
        predicted = inputs[held] @ _fitted(inputs[kept], latencies[kept])
        residual += float(((latencies[held] - predicted) ** 2).sum())
        total += float(((latencies[held] - latencies[kept].mean()) ** 2).sum())
    return 1.0 - residual / total if total > 0 else 0.0
