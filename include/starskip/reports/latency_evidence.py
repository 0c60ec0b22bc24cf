"""The latency model of a table as evidence of its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from starskip.latency.latency_model import NoFit
from starskip.latency.latency_report import NO_FIT_SENTENCES
from starskip.reports.evidence_bounds import thinned_bins
from starskip.reports.log_values import LatencyBin, LatencyEvidence, Quantile
from starskip.reports.night_artefacts import night_properties, night_snapshot
from starskip.run.night import Night


def latency_evidence(night: Night, table: str) -> LatencyEvidence:
    """Return the model of ``table`` with its bins and quantiles, or why there is none."""
    properties = night_properties(night, "latency_model", table)
    model = properties.get("model")
    threshold = night.settings.latency.r2_threshold
    if not model:
        return LatencyEvidence(
            False, "no query of the night to fit a model on", None, None, None, None, threshold
        )
    spread = properties.get("quantiles", {})
    entries, latencies = spread.get("entries_scanned_in_filter", {}), spread.get("latency_ms", {})
    most_saved = properties.get("maximum_saving_ms") or {}
    is_fitted = model["alpha_ms"] is not None
    return LatencyEvidence(
        accepted=model["no_fit"] is None,
        reason=NO_FIT_SENTENCES[NoFit(model["no_fit"])] if model["no_fit"] else None,
        intercept_ms=model["intercept_ms"],
        alpha_ms_per_million_entries=model["alpha_ms"] * 1e6 if is_fitted else None,
        beta_ms_per_million_entries=model["beta_ms"] * 1e6 if is_fitted else None,
        r2_out_of_sample=model["r2_out_of_sample"],
        r2_threshold=threshold,
        bins=thinned_bins(_bins(night, table, model)),
        quantiles=tuple(
            Quantile(float(p), entries[p], latencies[p], most_saved.get(p)) for p in entries if p in latencies
        ),
    )


def _bins(night: Night, table: str, model: Mapping[str, Any]) -> tuple[LatencyBin, ...]:
    rows = night_snapshot(night, "latency_bins").read_table([table])
    in_filter = rows["entries_scanned_in_filter"].to_numpy()
    post_filter = rows["entries_scanned_post_filter"].to_numpy()
    latencies = rows["latency_ms"].to_numpy()
    if model["alpha_ms"] is None:
        predicted: list[float | None] = [None] * len(rows)
    else:
        fit = model["intercept_ms"] + model["alpha_ms"] * in_filter + model["beta_ms"] * post_filter
        predicted = np.asarray(fit).tolist()
    columns = zip(in_filter.tolist(), post_filter.tolist(), latencies.tolist(), predicted, strict=True)
    return tuple(LatencyBin(*row) for row in columns)
