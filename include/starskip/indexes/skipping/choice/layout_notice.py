"""Where layout and not metadata is the problem, and what re-layout would help (seed 003, equation 1).

With perfect metadata a query reads psi = sigma / lambda of the rows: where that is high though sigma is
low, matching rows lie in nearly all files, and only other files help. What a layout would make of psi at
mu = 1 is estimated, with F files of R rows each, for a query of which s_c of the rows satisfy what it asks
of column c, in p pieces of c's order:

    sorted by c:        those rows lie in (s_c * F + p * (1 - 1/R)) / F of the files
    z-ordered by c, d:  the files are a grid of side sqrt(F): (s_c + p_c / sqrt(F)) * (s_d + p_d / sqrt(F))

Of those files 1 - (1 - sigma / s)^R hold a matching row, with s the share that the layout tells apart.

The first is what a contiguous run at a random place touches: between ceil(s_c * F) files and one more. The
last takes the rest of the predicate as spread at random, as it is after a sort by another column: a query
that asks nothing of c has s = 1, and loses what the present layout does for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from starskip.number_text import share

Factors = npt.NDArray[np.float64]
_MIN_SCANNING_FACTOR = 0.2
_MIN_GAIN_RATIO = 0.5
_MAX_PAIRED = 64
"""Columns of which all pairs are tried: those that help most alone."""


@dataclass(frozen=True, slots=True)
class ColumnShare:
    """The share of the rows that satisfy what a query asks of a column, and in how many runs of its order."""

    ratio: float
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class QueryLayout:
    """A query's weight, sigma, lambda, and what it asks of the columns that rows could be sorted by."""

    weight: float
    selectivity: float
    layout_factor: float
    shares: Mapping[str, ColumnShare]


@dataclass(frozen=True, slots=True)
class Relayout:
    """A layout and the share of the rows that queries would read in it with perfect metadata (mean)."""

    columns: tuple[str, ...]
    scanning_factor: float


@dataclass(frozen=True, slots=True)
class LayoutNotice:
    """``best_scanning_factor``: what perfect metadata reaches in the present layout; means over the workload.

    ``hindered``: queries that it leaves reading at least the notice's threshold. ``sentence``: all of it in
    words.
    """

    hindered: int
    queries: int
    selectivity: float
    layout_factor: float
    best_scanning_factor: float
    relayout: Relayout | None

    @property
    def sentence(self) -> str:
        """What is wrong, and what would help."""
        wrong = (
            f"layout, not metadata, is the problem of {self.hindered} of {self.queries} queries: with perfect"
            f" metadata {share(self.best_scanning_factor)} of the rows would still be read, though"
            f" {share(self.selectivity)} match (layout factor {self.layout_factor:.2g})"
        )
        if self.relayout is None:
            return f"{wrong}; no sort order of the columns that are asked for would help"
        columns = ", ".join(self.relayout.columns)
        how = f"z-ordered by {columns}" if len(self.relayout.columns) > 1 else f"sorted by {columns}"
        return f"{wrong}; files {how} would leave {share(self.relayout.scanning_factor)} to read"


def layout_notice(
    queries: Sequence[QueryLayout],
    *,
    files: int,
    rows: int,
    min_pair_gain_ratio: float = 0.1,
) -> LayoutNotice | None:
    """Return a notice if perfect metadata would leave a fifth of the rows, and twice those that match.

    Queries without a matching row (which have no lambda) are to be left out. A re-layout is told of that
    saves half of what is read then; two columns if that saves ``min_pair_gain_ratio`` more
    than the best one. Raises ValueError for factors that are none.
    """
    if not queries or files < 2 or rows < files:
        return None
    weights = np.array([query.weight for query in queries], np.float64)
    sigma = np.array([query.selectivity for query in queries], np.float64)
    layout = np.array([query.layout_factor for query in queries], np.float64)
    if not (np.all((sigma > 0) & (sigma <= layout) & (layout <= 1)) and np.all(weights > 0)):
        raise ValueError("weights are above 0, and 0 < selectivity <= layout_factor <= 1")
    present = sigma / layout
    before = float(np.average(present, weights=weights))
    if before < _MIN_SCANNING_FACTOR or before < 2 * float(np.average(sigma, weights=weights)):
        return None
    best = _best_relayout(queries, weights, sigma, files, rows, min_pair_gain_ratio)
    return LayoutNotice(
        hindered=int((present >= _MIN_SCANNING_FACTOR).sum()),
        queries=len(queries),
        selectivity=float(np.average(sigma, weights=weights)),
        layout_factor=float(np.exp(np.average(np.log(layout), weights=weights))),
        best_scanning_factor=before,
        relayout=best if best and best.scanning_factor <= (1 - _MIN_GAIN_RATIO) * before else None,
    )


def _best_relayout(
    queries: Sequence[QueryLayout],
    weights: Factors,
    sigma: Factors,
    files: int,
    rows: int,
    min_pair_gain_ratio: float,
) -> Relayout | None:
    columns = sorted(frozenset().union(*(query.shares for query in queries)))
    if not columns:
        return None
    shares, pieces = _columns_of(queries, columns)
    rows_a_file = rows / files

    def mean(distinct: Factors, touched: Factors) -> float:
        inside = np.minimum(sigma / np.maximum(distinct, sigma), 1.0)
        # One less the chance that none of a file's rows matches, exact where inside is tiny, too.
        holds = np.where(inside < 1, -np.expm1(rows_a_file * np.log1p(-np.minimum(inside, 1 - 1e-16))), 1.0)
        return float(np.average(np.minimum(touched, 1.0) * holds, weights=weights))

    def sorted_by(column: int) -> Relayout:
        share, runs = shares[:, column], pieces[:, column]
        touched = share + runs * (1 - 1 / rows_a_file) / files
        return Relayout((columns[column],), mean(share, touched))

    def z_ordered_by(first: int, second: int) -> Relayout:
        side = np.sqrt(files)
        sides = [np.minimum(shares[:, each] + pieces[:, each] / side, 1.0) for each in (first, second)]
        names = (columns[first], columns[second])
        return Relayout(names, mean(shares[:, first] * shares[:, second], sides[0] * sides[1]))

    single = sorted(range(len(columns)), key=lambda each: sorted_by(each).scanning_factor)
    best = sorted_by(single[0])
    pairs = [z_ordered_by(*sorted(pair)) for pair in combinations(single[:_MAX_PAIRED], 2)]
    pair = min(pairs, key=lambda each: each.scanning_factor, default=best)
    return pair if pair.scanning_factor < (1 - min_pair_gain_ratio) * best.scanning_factor else best


def _columns_of(queries: Sequence[QueryLayout], columns: Sequence[str]) -> tuple[Factors, Factors]:
    rank = {column: number for number, column in enumerate(columns)}
    shares = np.ones((len(queries), len(columns)))
    pieces = np.ones((len(queries), len(columns)))
    for number, query in enumerate(queries):
        for column, found in query.shares.items():
            shares[number, rank[column]] = min(max(found.ratio, query.selectivity), 1.0)
            pieces[number, rank[column]] = max(found.pieces, 1)
    return shares, pieces
