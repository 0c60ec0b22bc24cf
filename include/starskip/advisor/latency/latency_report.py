"""Report a table's latency: quantiles, the fitted model, and the most that indexes could save.

"Automated Inverted Index Recommendation for Pinot", II.1, and the EntriesScannedQuantileReport of its tool.
"Maximum optimization" of a quantile is its entries in filter times alpha: an index can at best save the whole
filter scan. It is stated only if the model is trusted; otherwise the tool "is unable to predict" the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.latency.latency_model import LatencyModel, NoFit, fit_latency_model
from starskip.advisor.latency.quantiles import RANKS

NO_FIT_SENTENCES: Mapping[NoFit, str] = {
    NoFit.TOO_FEW_BINS: "too few different queries to fit a model on",
    NoFit.NO_VARIATION: "all queries took equally long or scanned the same entries",
    NoFit.POOR_FIT: "entries scanned explain too little of the latency of queries that the fit had not seen",
}


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """The latency report of one table.

    ``quantiles``: measure (latency_ms, entries_scanned_in_filter, entries_scanned_post_filter) to rank
    ("0.95") to value, over ``queries``. ``maximum_saving_ms``: rank to milliseconds, None without a model
    that can be trusted.
    """

    queries: int
    quantiles: Mapping[str, Mapping[str, float]]
    model: LatencyModel

    @property
    def maximum_saving_ms(self) -> Mapping[str, float] | None:
        """Return the time that indexes could save at most, at each quantile of entries scanned in filter."""
        if self.model.no_fit is not None or self.model.alpha_ms is None:
            return None
        alpha_ms = self.model.alpha_ms
        entries = self.quantiles.get("entries_scanned_in_filter", {})
        return {rank: value * alpha_ms for rank, value in entries.items()}

    def properties(self) -> dict[str, Any]:
        """Return the report as the artefact ``latency_model`` keeps it."""
        reason = self.model.no_fit
        return {
            "model": {**asdict(self.model), "no_fit": reason.value if reason else None},
            "quantiles": {measure: dict(values) for measure, values in self.quantiles.items()},
            "maximum_saving_ms": self.maximum_saving_ms,
        }


def latency_reports(
    bins: pa.Table, quantiles: pa.Table, tables: Sequence[str], *, r2_threshold: float
) -> dict[str, LatencyReport]:
    """Return the report of each table from LATENCY_BINS and QUANTILES of all tables."""
    spread: dict[str, dict[str, dict[str, float]]] = {}
    queries: dict[str, int] = {}
    for row in quantiles.to_pylist():
        if row["values"]:
            ranked = {f"{rank:g}": value for rank, value in zip(RANKS, row["values"], strict=True)}
            spread.setdefault(row["table"], {})[row["measure"]] = ranked
        queries[row["table"]] = max(queries.get(row["table"], 0), row["n"])
    return {
        table: LatencyReport(
            queries.get(table, 0),
            spread.get(table, {}),
            fit_latency_model(bins.filter(pc.equal(bins["table"], table)), table, r2_threshold=r2_threshold),
        )
        for table in tables
    }
