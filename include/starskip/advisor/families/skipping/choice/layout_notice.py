"""Find tables whose layout, not metadata, limits skipping, and estimate better layouts.

See "Extensible Data Skipping", equation 1. With perfect metadata a query reads psi = sigma / lambda of the
rows. Where that is high and sigma is low, matching rows lie in nearly all files, and only another layout
helps. The psi of a layout at mu = 1 is estimated, with F files of R rows each, for a query that selects the
share s_c of the rows by column c, in p runs of the order of c:

    sorted by c:        those rows lie in (s_c * F + p * (1 - 1/R)) / F of the files
    z-ordered by c, d:  the files are a grid of side sqrt(F): (s_c + p_c / sqrt(F)) * (s_d + p_d / sqrt(F))

Of those files 1 - (1 - sigma / s)^R hold a matching row, with s the share that the layout selects by.

The first formula is the number of files that a contiguous run at a random place touches: between ceil(s_c *
F) and one more. The last assumes that the rest of the predicate is spread at random, as after a sort by
another column: a query without a predicate on c has s = 1, and loses the benefit of the present layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.families.skipping.choice.range_workload import range_workload
from starskip.number_text import share
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import order_keys, sorted_keys

Factors = npt.NDArray[np.float64]
_MIN_SCANNING_FACTOR = 0.2
_MIN_GAIN_RATIO = 0.5
_MIN_PAIR_GAIN_RATIO = 0.1
_MAX_PAIRED = 64
"""Number of columns, best first, whose pairs are tried."""


@dataclass(frozen=True, slots=True)
class ColumnShare:
    """The share of the rows that a query selects by a column, and the number of runs in its order."""

    ratio: float
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class QueryLayout:
    """A query's weight, sigma, lambda, and shares of the columns that rows could be sorted by."""

    weight: float
    selectivity: float
    layout_factor: float
    shares: Mapping[str, ColumnShare]


@dataclass(frozen=True, slots=True)
class Relayout:
    """A layout and the mean share of the rows that queries read in it with perfect metadata."""

    columns: tuple[str, ...]
    scanning_factor: float


@dataclass(frozen=True, slots=True)
class LayoutNotice:
    """Means over the workload; ``best_scanning_factor``: with perfect metadata in the present layout.

    ``hindered``: the number of queries that would still read at least the threshold.
    """

    hindered: int
    queries: int
    selectivity: float
    layout_factor: float
    best_scanning_factor: float
    relayout: Relayout | None

    @property
    def sentence(self) -> str:
        """The problem and the layout that would help, as one sentence."""
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
) -> LayoutNotice | None:
    """Return a notice if perfect metadata would leave a fifth of the rows, and twice the matching rows.

    Leave out queries without a matching row, which have no lambda. A layout is proposed if it saves half of
    the rows that perfect metadata leaves; a layout by two columns must save a tenth more than the best single
    column. Raises ValueError for invalid factors.
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
    best = _best_relayout(queries, weights, sigma, files, rows)
    return LayoutNotice(
        hindered=int((present >= _MIN_SCANNING_FACTOR).sum()),
        queries=len(queries),
        selectivity=float(np.average(sigma, weights=weights)),
        layout_factor=float(np.exp(np.average(np.log(layout), weights=weights))),
        best_scanning_factor=before,
        relayout=best if best and best.scanning_factor <= (1 - _MIN_GAIN_RATIO) * before else None,
    )


def column_shares(predicate: Expression, sample: Mapping[str, pa.Array]) -> Mapping[str, ColumnShare]:
    """Return the shares of sampled rows that pass a predicate, by column.

    Columns that the predicate does not bound are left out. ``sample``: values of rows by column name; null
    passes no bound.
    """
    found = {}
    for column, values in sample.items():
        workload = range_workload([predicate], [1.0], column, values.type)
        if not len(workload.weights) or not len(values):
            continue
        known = values.drop_null()
        places = workload.places_of(order_keys(workload.literals), sorted_keys(order_keys(known)))
        ratio = float((places.high - places.low).sum()) / len(values)
        found[column] = ColumnShare(ratio, int(np.count_nonzero(places.high > places.low)))
    return found


def _best_relayout(
    queries: Sequence[QueryLayout],
    weights: Factors,
    sigma: Factors,
    files: int,
    rows: int,
) -> Relayout | None:
    columns = sorted(frozenset().union(*(query.shares for query in queries)))
    if not columns:
        return None
    shares, pieces = _columns_of(queries, columns)
    rows_a_file = rows / files

    def mean(distinct: Factors, touched: Factors) -> float:
        inside = np.minimum(sigma / np.maximum(distinct, sigma), 1.0)
        # One less the chance that no row of a file matches, exact also where inside is tiny.
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
    return pair if pair.scanning_factor < (1 - _MIN_PAIR_GAIN_RATIO) * best.scanning_factor else best


def _columns_of(queries: Sequence[QueryLayout], columns: Sequence[str]) -> tuple[Factors, Factors]:
    rank = {column: number for number, column in enumerate(columns)}
    shares = np.ones((len(queries), len(columns)))
    pieces = np.ones((len(queries), len(columns)))
    for number, query in enumerate(queries):
        for column, found in query.shares.items():
            shares[number, rank[column]] = min(max(found.ratio, query.selectivity), 1.0)
            pieces[number, rank[column]] = max(found.pieces, 1)
    return shares, pieces
