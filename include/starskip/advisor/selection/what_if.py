"""Savings of given sets of indexes, chosen or not, from a log and segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from starskip.advisor.cost.index_sizes import sizes_of
from starskip.advisor.families.families import reorders
from starskip.advisor.latency.shape_times import ShapeTimes, TimeSaving, fit_shape_times, mistrust
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.saving_interval import SavingInterval, saving_interval
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.time_saving import time_saving
from starskip.advisor.selection.timed_tonight import timed
from starskip.advisor.selection.tonight import Tonight, tonight_of
from starskip.advisor.selection.tune_tables import TuneRequest, scored_tables
from starskip.advisor.selection.vote_list import IndexSet, VoteList, building_lists, order_lists
from starskip.errors import SourceError, printable
from starskip.execution.progress import Progress

_MOST_NAMED = 20
"""Columns of a table that a message names."""


@dataclass(frozen=True, slots=True)
class SetSaving:
    """Saving of one set beside the present indexes; ``time`` is None if the log has no latencies."""

    indexes: IndexSet
    saving: SavingInterval
    time: TimeSaving | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class TableWhatIf:
    """The savings of all sets on one table; ``mistrust``: why ``times`` cannot be trusted, if so."""

    sets: tuple[SetSaving, ...]
    times: ShapeTimes | None
    mistrust: str


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """The answer by table, warnings on the inputs, and by table the reason of a failure."""

    tables: Mapping[str, TableWhatIf]
    warnings: tuple[str, ...]
    failures: Mapping[str, str]


def what_if(request: TuneRequest, sets: Sequence[IndexSet], progress: Progress) -> WhatIfAnswer:
    """Return the savings of ``sets``, whose indexes are the candidates of ``request``.

    Raises SourceError for a column that none of the tables has.
    """
    scored = scored_tables(request, progress)
    known = {name for overview in scored.overviews.values() for name in overview.columns}
    for index in sorted(frozenset().union(*sets)):
        if index.column not in known:
            listing = ", ".join(sorted(known)[:_MOST_NAMED]) or "no columns"
            raise SourceError(
                f"no column {printable(index.column, 80)}: the tables have {listing}", source=index.column
            )
    found = {}
    for table in scored.tables:
        if table in scored.failures:
            continue
        of_table = scored.index_sizes.filter(pc.equal(scored.index_sizes["table"], table))
        question = TableQuestion(
            table,
            scored.workload.get(table, ()),
            scored.votes.filter(pc.equal(scored.votes["table"], table)),
            scored.overviews.get(table),
            request.settings,
            request.families,
            size_bytes=sizes_of(of_table),
            configs=request.configs.get(table, ()),
        )
        found[table] = _savings(question, sets)
    return WhatIfAnswer(found, scored.warnings, scored.failures)


def _savings(question: TableQuestion, sets: Sequence[IndexSet]) -> TableWhatIf:
    tonight = tonight_of(question)
    times = fit_shape_times(question.shapes)
    by_time = timed(tonight, times) if times is not None else None
    savings = []
    for indexes in sets:
        sizes = [question.size_bytes.get(index) for index in indexes if not reorders(index)]
        known = [size for size in sizes if size is not None]
        savings.append(
            SetSaving(
                indexes,
                _of_entries(tonight, indexes),
                _of_time(by_time, times, indexes) if by_time is not None and times is not None else None,
                sum(known) if len(known) == len(sizes) else None,
            )
        )
    return TableWhatIf(tuple(savings), times, mistrust(times, question.settings.latency.r2_threshold))


def _of_entries(tonight: Tonight, indexes: IndexSet) -> SavingInterval:
    entries = tonight.window.entries
    return saving_interval(
        _lists(tonight, indexes),
        indexes,
        entries=entries.total,
        entries_squared=entries.squared,
        model_error_ratio=tonight.budget.model_error_ratio,
    )


def _of_time(tonight: Tonight, times: ShapeTimes, indexes: IndexSet) -> TimeSaving:
    error = tonight.budget.model_error_ratio
    return time_saving(tonight.window, times, _lists(tonight, indexes), indexes, ChosenAnswers(), error)


def _lists(tonight: Tonight, indexes: IndexSet) -> Sequence[VoteList]:
    """Return the votes that decide: of sort orders if the set is one, else of indexes."""
    if any(map(reorders, indexes)):
        return exclusive_orders(order_lists(tonight.lists))
    return building_lists(tonight.lists)
