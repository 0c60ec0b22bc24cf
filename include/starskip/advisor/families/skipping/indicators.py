"""Skipping indicators of a workload: selectivity, layout, metadata and scanning factor.

See "Extensible Data Skipping", IV-A, definitions 4 to 7. With D the rows, O_r the files with a matching row,
O_m the files that are read, and |o| the rows of a file:

    sigma = matching / |D|        lambda = matching / |O_r|        mu = |O_r| / |O_m|        psi = |O_m| / |D|

so that psi = sigma / (lambda * mu), which also holds for geometric means (equations 1 and 2). Where no row
matches, lambda and mu are undefined, and the paper calls psi undefined too: such queries are counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from starskip.skipping.file_metadata import Mask

Rows = npt.NDArray[np.int64]
Factors = npt.NDArray[np.float64]


class IndicatorState(Enum):
    """States whether the indicators of a query are defined."""

    DEFINED = "defined"
    NO_MATCHING_ROWS = "no_matching_rows"
    ROWS_LOST = "rows_lost"
    """A file with a matching row was not read: skipping was wrong, and its figures mean nothing."""


@dataclass(frozen=True, slots=True)
class Indicators:
    """The four factors of one query, or their geometric means; each is above 0 and at most 1."""

    selectivity: float
    layout_factor: float
    metadata_factor: float
    scanning_factor: float


@dataclass(frozen=True, slots=True)
class WorkloadIndicators:
    """Row counts of the queries of a workload, from which the factors are computed."""

    rows: int
    matching: Rows
    relevant: Rows
    """Rows of the files that hold a matching row."""
    read: Rows
    """Rows of the files that were read."""
    lost: Mask
    """The queries that did not read a file with a matching row."""

    def verdict(self, query: int) -> IndicatorState:
        """Return the verdict of a query; lost rows take precedence."""
        if self.lost[query]:
            return IndicatorState.ROWS_LOST
        return IndicatorState.DEFINED if self.matching[query] > 0 else IndicatorState.NO_MATCHING_ROWS

    def query(self, query: int) -> Indicators | IndicatorState:
        """Return the factors of a query, or the verdict why it has none."""
        verdict = self.verdict(query)
        if verdict is not IndicatorState.DEFINED:
            return verdict
        return Indicators(*(float(each[0]) for each in self._factors([query])))

    @property
    def defined(self) -> Mask:
        """The queries whose indicators are defined."""
        mask: Mask = (self.matching > 0) & ~self.lost
        return mask

    def verdicts(self) -> Mapping[IndicatorState, int]:
        """Return the number of queries by verdict, without zeros."""
        lost = int(self.lost.sum())
        defined = int(self.defined.sum())
        counts = {
            IndicatorState.DEFINED: defined,
            IndicatorState.NO_MATCHING_ROWS: len(self.lost) - lost - defined,
            IndicatorState.ROWS_LOST: lost,
        }
        return {verdict: count for verdict, count in counts.items() if count}

    def geometric_means(self, weights: npt.ArrayLike | None = None) -> Indicators | None:
        """Return the geometric means over the defined queries (equation 2), None if there are none.

        ``weights``: the number of runs of each query, above 0; 1 by default.
        """
        defined = self.defined
        if not defined.any():
            return None
        powers = np.ones(len(defined)) if weights is None else np.asarray(weights, np.float64)
        if powers.shape != defined.shape or not np.all(np.isfinite(powers) & (powers > 0)):
            raise ValueError(f"weights: {len(defined)} numbers above 0, one a query")
        factors = self._factors(defined)
        return Indicators(
            *(float(np.exp(np.average(np.log(each), weights=powers[defined]))) for each in factors)
        )

    def _factors(self, which: Mask | list[int]) -> tuple[Factors, Factors, Factors, Factors]:
        matching, relevant, read = self.matching[which], self.relevant[which], self.read[which]
        return matching / self.rows, matching / relevant, relevant / read, read / self.rows


def indicators(rows: Rows, matching: Rows, read: Mask) -> WorkloadIndicators:
    """Compute the indicators of a workload on one table.

    ``rows``: rows of each file. ``matching``: matching rows (queries x files). ``read``: whether a query read
    a file (queries x files). Raises ValueError for inconsistent shapes or counts.
    """
    rows, matching, read = np.asarray(rows, np.int64), np.asarray(matching), np.asarray(read, np.bool_)
    if rows.ndim != 1 or matching.ndim != 2 or matching.shape[1] != len(rows) or read.shape != matching.shape:
        raise ValueError(
            f"matching {matching.shape} and read {read.shape} are to be queries x {rows.shape} files"
        )
    if (matching < 0).any() or (matching > rows).any():
        raise ValueError("matching rows are between 0 and the file's rows")
    holds = matching > 0
    return WorkloadIndicators(
        rows=int(rows.sum()),
        matching=matching.sum(axis=1, dtype=np.int64),
        # einsum casts in small buffers, where a product of matrices would cast all of the mask at once.
        relevant=np.einsum("qf,f->q", holds, rows, dtype=np.int64, casting="safe"),
        read=np.einsum("qf,f->q", read, rows, dtype=np.int64, casting="safe"),
        lost=np.any(holds & ~read, axis=1),
    )
