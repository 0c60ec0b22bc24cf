"""The gate behind fit_latency_model: a plausible model, or why there is none.

Source: Automated Inverted Index Recommendation, II.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from starskip.advisor.latency.latency_model import MIN_BINS, NoFit
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    equal,
    in_set,
    none,
)
from starskip.advisor.run.gate import Gate, fields_view, mapping_of, number_of
from starskip.advisor.run.night import Night
from starskip.settings import Settings

_COEFFICIENTS = ("intercept_ms", "alpha_ms", "beta_ms")
_REASONS = [reason.value for reason in NoFit]
_BIN_KEY = ("bin_in_filter", "bin_post_filter")
_BIN_VALUES = ("entries_scanned_in_filter", "entries_scanned_post_filter", "latency_ms")


def _views(night: Night, table: str) -> Mapping[str, View]:
    properties = published(night, "latency_model").parts()[table].properties
    queries = published(night, "queries").parts().get(table)
    bins = published(night, "latency_bins").read_table([table]).to_pylist()
    for place, row in enumerate(bins):
        row["place"] = f"bin {place}"
    model = mapping_of(properties.get("model"))
    pooled = sum(row["queries"] or 0 for row in bins)
    view = {
        **{name: model.get(name) for name in (*_COEFFICIENTS, "r2_out_of_sample", "threshold", "queries")},
        "reason": model.get("no_fit"),
        "missing_coefficients": _missing_coefficients(model),
        "unfounded": _unfounded(model),
        "bins": model.get("bins"),
        "published_bins": len(bins),
        "pooled_queries": pooled,
        "all_queries": queries.rows if queries else 0,
        "falling_quantiles": _falling(mapping_of(properties.get("quantiles"))),
    }
    return {"model": View([view]), "bins": View(bins, "place"), "bin_fields": fields_view(bins, _BIN_VALUES)}


def _missing_coefficients(model: Mapping[str, Any]) -> int:
    """Return how many figures a fitted model lacks, whether it is good or not."""
    if model.get("no_fit") in (NoFit.TOO_FEW_BINS.value, NoFit.NO_VARIATION.value):
        return 0
    return sum(model.get(name) is None for name in (*_COEFFICIENTS, "r2_out_of_sample"))


def _unfounded(model: Mapping[str, Any]) -> bool:
    """Return whether the verdict contradicts the figures that it rests on."""
    r2, threshold, reason = (
        number_of(model.get("r2_out_of_sample")),
        number_of(model.get("threshold")),
        model.get("no_fit"),
    )
    bins = number_of(model.get("bins")) or 0
    if reason == NoFit.TOO_FEW_BINS.value:
        return bins >= MIN_BINS
    if reason == NoFit.NO_VARIATION.value or r2 is None or threshold is None:
        return False
    return (r2 < threshold) != (reason == NoFit.POOR_FIT.value) or bins < MIN_BINS


def _falling(quantiles: Mapping[str, Any]) -> int:
    """Return how often a quantile is below the one before it."""
    falls = 0
    for spread in quantiles.values():
        ranked = sorted(mapping_of(spread).items())
        values = [number_of(value) or 0.0 for _, value in ranked]
        falls += sum(later < earlier for earlier, later in pairwise(values))
    return falls


def _expectations(settings: Settings) -> Sequence[Expectation]:
    of_table = "latency model of {table}"
    return (
        *(between("model", name, f"{name} of the {of_table}", 0) for name in _COEFFICIENTS),
        none("model", "missing_coefficients", f"{of_table}: missing figures of a fitted model"),
        between("model", "r2_out_of_sample", f"{of_table}: R2 out of sample", None, 1),
        in_set("model", "threshold", f"{of_table}: R2 threshold", [settings.latency.r2_threshold]),
        in_set("model", "reason", f"{of_table}: reason for no model", _REASONS),
        in_set("model", "unfounded", f"{of_table}: verdict against its own figures", [False]),
        equal("model", "bins", "published_bins", f"{of_table}: bins, and published bins", "equal"),
        equal("model", "queries", "pooled_queries", f"{of_table}: queries, and queries in its bins", "equal"),
        at_most(
            "model",
            "queries",
            "all_queries",
            f"{of_table}: queries, and queries of the night",
            "no more than the night's",
        ),
        none("model", "falling_quantiles", "quantiles of {table}: below a lower quantile"),
        distinct("bins", _BIN_KEY, "latency bins of {table}: pooled twice"),
        between("bins", "queries", "queries of latency bins of {table}: minimum", 1),
        none("bin_fields", "missing", "latency bins of {table}: fields with missing values"),
        between("bin_fields", "minimum", "latency bins of {table}: minimum of each field", 0),
    )


LATENCY_MODEL_GATE = Gate(_views, _expectations)
