"""Advice for a table without a log: a guess from cardinalities.

Source: Automated Inverted Index Recommendation, comments.

The selection is the same as every night's; only the votes are assumed, one query a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from starskip.advisor.cost.column_votes import column_votes
from starskip.advisor.cost.planned_votes import candidate_indexes, rules_of
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.index import Index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.recommendation import Recommendation
from starskip.advisor.selection.saving_interval import SavingInterval
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.vote_list import building_lists, order_lists, vote_lists
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import SourceError
from starskip.settings import Settings
from starskip.tables.table_overview import TableOverview

_TAIL = 0.05


ColumnWeights = Mapping[str, Mapping[str, float]]
"""Weights of columns by table; weights under "" hold for every table that has the column."""


def advice_without_log(
    overview: TableOverview,
    weights: ColumnWeights,
    families: FamilyChoice,
    settings: Settings,
    *,
    size_bytes: Mapping[Index, int] | None = None,
) -> TableAdvice:
    """Return the advice for a table whose columns are queried as ``weights`` say, or equally without any.

    Its counts of queries are 0, no index is dropped and no query is typical. Raises SourceError for a weight
    of a column that the table lacks.
    """
    of_table = _of_table(overview, weights)
    candidates = candidate_indexes(overview, families.with_path, settings)
    guessed = column_votes(overview, candidates, rules_of(overview, settings, families.known), of_table)
    shapes = [
        ShapeWorkload(
            overview.table,
            f"column:{name}",
            name,
            _skeleton(overview.table, name),
            entries_scanned_in_filter=round(entries),
            entries_scanned_in_filter_squared=entries**2,
        )
        for name, entries in guessed.entries.items()
    ]
    # There are no queries to judge, or for a baseline to rank by.
    plain = settings.changed(
        {
            "scoring.strategy": "estimation",
            "workload.num_queries_threshold": 0,
            "workload.entries_scanned_threshold": 0,
            "advice.desirable_entries_scanned_in_filter": None,
        }
    )
    advice = advise_table(
        TableQuestion(
            overview.table,
            shapes,
            guessed.votes,
            overview,
            plain,
            families,
            size_bytes=size_bytes or {},
        )
    )
    lists = vote_lists(guessed.votes)
    lists = [*building_lists(lists), *exclusive_orders(order_lists(lists))]

    def with_interval(recommendation: Recommendation) -> Recommendation:
        chosen = frozenset(item.index for item in recommendation.chosen)
        saved = dict.fromkeys(guessed.entries, 0.0)
        for votes in lists:
            saved[votes.shape_id.removeprefix("column:")] += votes.saving(chosen).entries
        return replace(recommendation, saving=guess_interval(saved, guessed.entries))

    recommendation = with_interval(advice.recommendation)
    return replace(
        advice,
        recommendation=recommendation,
        # A guess knows of entries in filter alone.
        combined=replace(advice.combined, saving=recommendation.saving),
        sort_order=with_interval(advice.sort_order) if advice.sort_order else None,
        drops=(),
        typical=None,
    )


def unknown_weights(weights: ColumnWeights, overviews: Mapping[str, TableOverview]) -> list[str]:
    """Return a sentence for each weight that fits no table or column of ``overviews``.

    Raises SourceError if no weight fits: then the advice would be about nothing. Raises it also for a weight
    of a named table that lacks the column.
    """
    for table, overview in overviews.items():
        for column in weights.get(table, {}):
            if column not in overview.columns:
                raise SourceError(
                    f"table {table} has no column {column}: take its weight away", source=column
                )
    known = {name for overview in overviews.values() for name in overview.columns}
    problems = [f"no table {table} here" for table in weights if table and table not in overviews]
    listing = ", ".join(overviews)
    shared = weights.get("", {})
    problems += [f"no column {column} in {listing}" for column in shared if column not in known]
    given = len(weights.keys() - {""}) + len(shared)
    if given and len(problems) == given:
        raise SourceError(f"the weights name nothing that is known: {'; '.join(problems)}", source="weights")
    return [f"{problem}: its weight counts for nothing" for problem in problems]


def _of_table(overview: TableOverview, weights: ColumnWeights) -> Mapping[str, float]:
    if not weights:
        return dict.fromkeys(overview.columns, 1.0)
    named = weights.get(overview.table, {})
    shared = {name: weight for name, weight in weights.get("", {}).items() if name in overview.columns}
    return {**shared, **named}


def _skeleton(table: str, column: str) -> str:
    quoted = (name.replace('"', '""') for name in (table, column))
    return 'SELECT COUNT(*) FROM "{}" WHERE "{}" = \x00'.format(*quoted)  # noqa: S608 - never run


def guess_interval(saved: Mapping[str, float], entries: Mapping[str, float]) -> SavingInterval:
    """Return the saved ratio with the 90 % interval around it; both mappings are by column, in entries.

    The columns' shares of all entries are a draw from a Dirichlet distribution around the assumed shares,
    with the weight of one query a column; the saving has the beta distribution of the same mean and variance.
    No column saves more than its entries; a column that loses (another sort order) saves less than 0.
    """
    scanned = np.array([value for value in entries.values() if value > 0])
    total = float(scanned.sum())
    if total <= 0:
        return SavingInterval(0.0, 0.0, 0.0)
    ratios = np.array([saved.get(name, 0.0) / value for name, value in entries.items() if value > 0])
    shares = scanned / total
    mean = min(float(shares @ ratios), 1.0)
    variance = float(shares @ ratios**2 - mean**2) / (len(scanned) + 1)
    if not 0 < mean < 1 or variance <= 1e-12:
        return SavingInterval(mean, mean, mean)
    concentration = mean * (1 - mean) / variance - 1
    if concentration <= 0:
        return SavingInterval(mean, 0.0, 1.0)
    # The quantiles of the beta distribution; scipy.stats has them, too, and takes half a second to import.
    low, high = betaincinv(mean * concentration, (1 - mean) * concentration, [_TAIL, 1 - _TAIL])
    return SavingInterval(mean, min(float(low), mean), max(float(high), mean))
