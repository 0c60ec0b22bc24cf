"""Savings of given sets of indexes, chosen or not, from a log and segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from starskip.advisor.cost.index_sizes import sizes_of
from starskip.advisor.latency.shape_times import ShapeTimes, fit_shape_times, mistrust
from starskip.advisor.selection.set_saving import SetSaving, SetSavings
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.tonight import tonight_of
from starskip.advisor.selection.tune_tables import TuneRequest, scored_tables
from starskip.advisor.selection.vote_list import IndexSet
from starskip.errors import SourceError, printable
from starskip.execution.progress import Progress

_MOST_NAMED = 20
"""Columns of a table that a message names."""


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
    times = fit_shape_times(question.shapes)
    savings = SetSavings(tonight_of(question), times)
    doubts = mistrust(times, question.settings.latency.r2_threshold)
    return TableWhatIf(tuple(savings.of(indexes) for indexes in sets), times, doubts)
