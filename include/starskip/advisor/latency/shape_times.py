"""Fit what an entry of each query shape costs in milliseconds, from the times of the shape's own queries.

One line for a whole table ("Automated Inverted Index Recommendation for Pinot", II.1) takes every entry to
cost the same, but an entry of a LIKE costs fifty times that of an integer. Here a query takes
``constant + ms_per_entry * entries`` with a rate for each shape, and one constant for the table: what a query
takes that reads nothing, waiting included. A rate that is known badly, from few queries or on a busy machine,
is drawn towards the table's usual rate, as far as the noise says (empirical Bayes, as for a normal mean).

Queries that wait for one another wait for the others' work. So the rates are stretched until all queries
together take what the log says, without the constant: whoever saves a share of the work, saves it of the
waiting, too.

Every model is judged by predicting queries from the other literals of their shape. What the repeats of one
text differ by is noise that no model can predict, and does not count against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.advisor.latency.latency_model import fitted_line
from starskip.advisor.workload.shape_workload import ShapeWorkload

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

OWN_TIMES = "own times"
OWN_LEAST_TIMES = "own least times"
LINE = "line"

MIN_POINTS = 12
"""Texts whose shape has other texts: with fewer, no model can be judged."""
_CHEAP_RATIO = 0.1
"""A shape is cheap if its entries take less than this share of the constant."""
_LEAST_READ_RATIO = 0.1
_IDLE_MS = 3.0
"""Time of a query that reads nothing, on a broker without anything else to do."""
_WAITING_FACTOR = 3.0
"""Queries wait if those that read next to nothing take so many times as long as they must."""
_LEAST_MISFIT_RATIO = 0.1
_ROUNDS = 20
_EXPLAINS_R2 = 0.5
"""A model that explains less is no better than another one."""


@dataclass(frozen=True, slots=True)
class ShapeRate:
    """Milliseconds that an entry costs, in filter and post filter.

    ``error_ratio``: the standard error of both, as a share of them.
    """

    in_filter_ms: float
    post_filter_ms: float
    error_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class ShapeTimes:
    """Rates of a table's shapes by one model.

    ``name``: the model's. ``constant_ms``: what a query takes that neither reads nor waits. ``waiting_ms``:
    the mean time that a query waits for others, which the rates contain. ``usual``: the rate of a shape that
    is not in ``rates``. ``ms_per_query``: the mean of the log's queries. ``r2``: out of sample, centred,
    without the noise that repeats of one text show; None if it cannot be judged. ``candidates``: the R2 of
    every model by name.
    """

    name: str
    constant_ms: float
    waiting_ms: float
    usual: ShapeRate
    rates: Mapping[str, ShapeRate]
    ms_per_query: float
    r2: float | None
    candidates: Mapping[str, float | None] = field(default_factory=dict)

    def rate(self, shape_id: str) -> ShapeRate:
        """Return the rate of a shape."""
        return self.rates.get(shape_id, self.usual)


@dataclass(frozen=True, slots=True)
class TimeSaving:
    """Time that a mean query saves, with the 90 % interval, of ``ms_per_query``, which it takes today."""

    ms_per_query: float
    saving_ms: float
    low_ms: float
    high_ms: float

    def widened(self, factor: float) -> TimeSaving:
        """Return the saving with an interval ``factor`` times as wide."""
        low = self.saving_ms - factor * (self.saving_ms - self.low_ms)
        high = min(self.saving_ms + factor * (self.high_ms - self.saving_ms), self.ms_per_query)
        return replace(self, low_ms=low, high_ms=max(high, self.high_ms))

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "ms_per_query": self.ms_per_query,
            "saving_ms": self.saving_ms,
            "interval_ms": [self.low_ms, self.high_ms],
        }


@dataclass(frozen=True, slots=True)
class _Points:
    """Texts of a table's shapes: mean entries, the mean latency of ``queries``, and the least one.

    ``shape``: the position of the text's shape among ``shape_ids``. ``noise``: variance of one query's
    latency, known where a text was asked several times.
    """

    shape_ids: tuple[str, ...]
    shape: Positions
    queries: Floats
    in_filter: Floats
    post_filter: Floats
    mean_ms: Floats
    least_ms: Floats
    noise: Floats

    @property
    def entries(self) -> Floats:
        return self.in_filter + self.post_filter

    def by_shape(self, values: Floats) -> Floats:
        """Return the sums of ``values`` by shape."""
        found: Floats = np.bincount(self.shape, values, len(self.shape_ids)).astype(np.float64)
        return found


def latency_document(times: ShapeTimes | None, mistrust: str) -> dict[str, Any]:
    """Return the model as JSON has it; ``mistrust``: why it cannot be trusted, empty if it can."""
    names = ("r2", "ms_per_query", "constant_ms", "waiting_ms")
    return {
        "model": times.name if times else None,
        "trusted": not mistrust,
        "mistrust": mistrust,
        **{name: getattr(times, name, None) for name in names},
        "candidates": dict(times.candidates) if times else {},
    }


def mistrust(times: ShapeTimes | None, r2_threshold: float) -> str:
    """Return why times cannot be trusted; empty if they can."""
    if times is None:
        return "the log has no latencies of queries that read entries"
    if times.r2 is None:
        return "too few queries of the same shapes, with other literals, to judge any model of latency by"
    if times.r2 < r2_threshold:
        return (
            f"the model of latency ({times.name}) explains R² {times.r2:.2f} of the time of queries that"
            f" it had not seen, and {r2_threshold:g} is asked for"
        )
    return ""


def fit_shape_times(shapes: Sequence[ShapeWorkload]) -> ShapeTimes | None:
    """Return the best model of a table's shapes; None if their queries have no latencies, or read nothing.

    Where none explains half of the time, own times are taken: what a query saves follows from its own time,
    also where nothing foretells the time of another one.
    """
    found = candidate_times(shapes)
    judged = [model for model in found if model.r2 is not None]
    explaining = [model for model in judged if (model.r2 or 0.0) >= _EXPLAINS_R2]
    best = (
        max(explaining, key=lambda model: model.r2 or 0.0)
        if explaining
        else next(iter(judged or found), None)
    )
    return replace(best, candidates={model.name: model.r2 for model in found}) if best else None


def candidate_times(shapes: Sequence[ShapeWorkload]) -> list[ShapeTimes]:
    """Return every model of a table's shapes; none if their queries have no latencies, or read nothing."""
    points = _points(shapes)
    if points is None or not points.entries.any():
        return []
    models = [
        _own_times(points, points.mean_ms, OWN_TIMES, _noise_of_means(points)),
        _own_times(points, points.least_ms, OWN_LEAST_TIMES, 0.0),
        _line(points),
    ]
    return [_stretched(model, points) for model in models]


def _stretched(model: ShapeTimes, points: _Points) -> ShapeTimes:
    """Return the model with rates by which all queries together take what the log says."""
    mean = float(np.average(points.mean_ms, weights=points.queries))
    constant, waiting = _waiting(points, model.constant_ms)
    rates = [model.rate(shape_id) for shape_id in points.shape_ids]
    in_filter, post_filter = (
        np.array([getattr(rate, name) for rate in rates]) for name in ("in_filter_ms", "post_filter_ms")
    )
    work = points.in_filter * in_filter[points.shape] + points.post_filter * post_filter[points.shape]
    stretch = max(mean - constant, 0.0) / max(float(np.average(work, weights=points.queries)), 1e-12)

    def stretched(rate: ShapeRate) -> ShapeRate:
        return ShapeRate(rate.in_filter_ms * stretch, rate.post_filter_ms * stretch, rate.error_ratio)

    return replace(
        model,
        constant_ms=constant,
        waiting_ms=waiting,
        usual=stretched(model.usual),
        rates={shape_id: stretched(rate) for shape_id, rate in model.rates.items()},
        ms_per_query=mean,
    )


def _waiting(points: _Points, constant: float) -> tuple[float, float]:
    """Return the constant without waiting, and the mean waiting: by how much the quickest text is quicker."""
    least = float(points.least_ms.min())
    if constant < _WAITING_FACTOR * max(least, _IDLE_MS):
        return constant, 0.0
    return least, constant - least


def _points(shapes: Sequence[ShapeWorkload]) -> _Points | None:
    rows = [
        (
            position,
            instance.timed_queries,
            instance.entries_scanned_in_filter / instance.queries,
            instance.entries_scanned_post_filter / instance.queries,
            instance.latency_ms_sum / instance.timed_queries,
            instance.least_latency_ms,
            instance.latency_ms_squared,
        )
        for position, shape in enumerate(shapes)
        if shape.is_parsed
        for instance in shape.instances.values()
        if instance.timed_queries
    ]
    if not rows:
        return None
    position, queries, in_filter, post_filter, mean, least, squared = np.array(rows, dtype=np.float64).T
    spread = np.maximum(squared - queries * mean**2, 0.0) / np.maximum(queries - 1.0, 1.0)
    return _Points(
        tuple(shape.shape_id for shape in shapes),
        position.astype(np.intp),
        queries,
        in_filter,
        post_filter,
        mean,
        least,
        np.where(queries > 1, spread, np.nan),
    )


def _own_times(points: _Points, times: Floats, name: str, noise: float) -> ShapeTimes:
    constant, usual = _constant_and_usual_rate(points, times)
    queries, entries = points.by_shape(points.queries), points.by_shape(points.queries * points.entries)
    reducible = points.by_shape(points.queries * (times - constant))
    variance = _variance(points, times, constant)
    rates, errors = _drawn_together(reducible, entries, points.by_shape(points.queries * variance), usual)
    # Each text is predicted from the other texts of its shape.
    other_entries = entries[points.shape] - points.queries * points.entries
    other_rates, _ = _drawn_together(
        reducible[points.shape] - points.queries * (times - constant),
        other_entries,
        (points.by_shape(points.queries * variance))[points.shape] - points.queries * variance,
        usual,
    )
    judged = other_entries > 0
    predicted = constant + other_rates * points.entries
    return ShapeTimes(
        name,
        constant,
        0.0,
        ShapeRate(usual, usual, 1.0),
        {
            shape_id: ShapeRate(float(rate), float(rate), float(error))
            for shape_id, rate, error, asked in zip(points.shape_ids, rates, errors, queries, strict=True)
            if asked
        },
        0.0,
        _r2(times[judged], predicted[judged], points.queries[judged], noise),
    )


def _constant_and_usual_rate(points: _Points, times: Floats) -> tuple[float, float]:
    """Return milliseconds of a query that reads nothing, and of an entry over all queries.

    The constant is the mean time of texts whose entries cost next to nothing. The first guess is the mean
    time of the texts that read least.
    """
    queries, entries = points.queries, points.entries
    order = np.argsort(entries, kind="stable")
    least = order[: 1 + int(np.searchsorted(np.cumsum(queries[order]), _LEAST_READ_RATIO * queries.sum()))]
    constant = float(np.average(times[least], weights=queries[least]))
    constant = min(constant, float(fitted_line(points.in_filter, points.post_filter, times, queries)[0]))
    usual = max(float(queries @ (times - constant)) / max(float(queries @ entries), 1.0), 1e-12)
    for _ in range(_ROUNDS):
        cheap = usual * entries < _CHEAP_RATIO * max(constant, 1.0)
        if cheap.any():
            constant = max(float(np.average((times - usual * entries)[cheap], weights=queries[cheap])), 0.0)
        constant = min(constant, float(np.average(times, weights=queries)))
        usual = max(float(queries @ (times - constant)) / max(float(queries @ entries), 1.0), 1e-12)
    return constant, usual


def _variance(points: _Points, times: Floats, constant: float) -> Floats:
    """Return the variance of one query's time: of the waiting, and a share of the work itself."""
    known = ~np.isnan(points.noise)
    work = np.maximum(times - constant, 0.0)
    works = known & (work > constant)
    waiting = _spread_of_waits(points, times, constant)
    of_work = np.sqrt(np.maximum(points.noise[works] - waiting**2, 0.0)) / np.maximum(work[works], 1.0)
    ratio = float(np.median(of_work)) if works.any() else 0.0
    return np.asarray(waiting**2 + (ratio * work) ** 2)


def _spread_of_waits(points: _Points, times: Floats, constant: float) -> float:
    """Return the standard deviation of the times of texts that mostly take the constant."""
    waits = ~np.isnan(points.noise) & (times - constant <= constant)
    return float(np.sqrt(np.mean(points.noise[waits]))) if waits.any() else 0.0


def _drawn_together(
    reducible_ms: Floats, entries: Floats, variance: Floats, usual: float
) -> tuple[Floats, Floats]:
    """Return rates and their errors as shares; rates spread about as much as the usual rate is large."""
    read = np.maximum(entries, 1e-9)
    rates = reducible_ms / read
    noise = np.maximum(variance, 0.0) / read**2
    spread = usual**2
    drawn = np.maximum((rates * spread + usual * noise) / (spread + noise), 0.0)
    drawn = np.where(entries > 0, drawn, usual)
    error = np.sqrt(spread * noise / (spread + noise))
    return drawn, np.where(drawn > 0, error / np.maximum(drawn, 1e-12), 0.0)


def _line(points: _Points) -> ShapeTimes:
    """Return the paper's line over the texts' least times."""
    weights, texts = points.queries, len(points.queries)
    constant, alpha, beta = fitted_line(points.in_filter, points.post_filter, points.least_ms, weights)
    predicted = np.empty(texts)
    folds = np.arange(texts) % 10
    for fold in np.unique(folds):
        held, kept = folds == fold, folds != fold
        if not kept.any():
            return ShapeTimes(LINE, constant, 0.0, ShapeRate(alpha, beta), {}, 0.0, None)
        line = fitted_line(
            points.in_filter[kept], points.post_filter[kept], points.least_ms[kept], weights[kept]
        )
        predicted[held] = line[0] + line[1] * points.in_filter[held] + line[2] * points.post_filter[held]
    entries = points.by_shape(points.queries * points.entries)
    judged = entries[points.shape] - points.queries * points.entries > 0
    return ShapeTimes(
        LINE,
        constant,
        0.0,
        ShapeRate(alpha, beta),
        {},
        0.0,
        _r2(points.least_ms[judged], predicted[judged], weights[judged], 0.0),
    )


def _r2(times: Floats, predicted: Floats, weights: Floats, noise: float) -> float | None:
    """Return the centred R2, without ``noise``, the variance of the times that repeats show."""
    if len(times) < MIN_POINTS:
        return None
    total = float(np.average((times - np.average(times, weights=weights)) ** 2, weights=weights)) - noise
    squared = float(np.average((times - predicted) ** 2, weights=weights))
    # The noise is an estimate, too: some of what is left is the model's, however noisy the log.
    residual = max(squared - noise, _LEAST_MISFIT_RATIO * squared)
    return 1.0 - residual / total if total > 0 else None


def _noise_of_means(points: _Points) -> float:
    """Return the mean variance of the texts' mean times, weighted by queries, as their repeats show it."""
    known = ~np.isnan(points.noise)
    if not known.any():
        return 0.0
    usual = float(np.average(points.noise[known], weights=points.queries[known]))
    variance = np.where(known, points.noise, usual) / points.queries
    return float(np.average(variance, weights=points.queries))
