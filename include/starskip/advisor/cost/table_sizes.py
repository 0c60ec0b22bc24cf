"""Rows and columns of the tables that a log's multi-stage queries may join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starskip.advisor.cost.facts_source import FactsSource
from starskip.advisor.cost.read_overviews import sound_overviews
from starskip.advisor.run.night import Night
from starskip.advisor.workload.leaf_records import TableSize
from starskip.errors import SourceError
from starskip.execution.engine import Engine
from starskip.execution.progress import Progress
from starskip.tables.table_overview import TableOverview


def table_sizes(engine: Engine, night: Night) -> Mapping[str, TableSize]:
    """Return the sizes of all tables with facts of the night, also of tables that it does not advise on."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    if snapshot is None:
        return {}
    overviews = sound_overviews(engine, night, sorted(snapshot.tables))
    return {table: _size(overview) for table, overview in overviews.items()}


@dataclass(frozen=True, slots=True)
class FoundSizes:
    """Sizes of tables from a folder of segments or packed metadata, each read when it is first asked for."""

    source: FactsSource
    progress: Progress
    _known: dict[str, TableSize | None] = field(default_factory=dict)

    def get(self, table: str) -> TableSize | None:
        """Return the size of ``table``, None if there are no facts of it."""
        if table not in self._known:
            try:
                overview = self.source.facts((), [table], self.progress).overviews.get(table)
            except SourceError:
                # If the command asks for this very table, reading its facts reports the error.
                overview = None
            self._known[table] = _size(overview) if overview else None
        return self._known[table]


def _size(overview: TableOverview) -> TableSize:
    return TableSize(overview.rows, frozenset(overview.columns), overview.booleans)
