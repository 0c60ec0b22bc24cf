"""Read ``table_facts`` and table configs of a night as one overview for each table, or their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.advisor.cost.facts_source import FactsSource
from starskip.advisor.families.config_limits import with_config_limits
from starskip.advisor.families.families import configured_indexes, families_of_night, segment_indexes
from starskip.advisor.families.family_faults import without_faulty
from starskip.advisor.run.night import Night
from starskip.advisor.workload.leaf_records import TableSize
from starskip.errors import SourceError
from starskip.execution.engine import Engine
from starskip.execution.progress import Progress
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.storage.schemas import COLUMN_SUMS
from starskip.tables.table_overview import TableOverview, column_sums, merge_column_sums, table_overviews
from starskip.tables.untracked_indexes import with_untracked_indexes

_MAX_COLUMNS = 2_000_000


def read_overviews(engine: Engine, night: Night, tables: Sequence[str]) -> dict[str, TableOverview]:
    """Return the overview of each table from ``table_facts`` and the table configs of the night."""
    return overviews_of_sums(night, sum_facts(engine, night, tables))


def sum_facts(engine: Engine, night: Night, tables: Sequence[str]) -> pa.Table:
    """Return COLUMN_SUMS of the tables' ``table_facts``, which families of users do not change."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    assert snapshot is not None
    rows = engine.rows_of_snapshot(snapshot, tables).map(_column_sums, COLUMN_SUMS)
    return rows.merge(["table", "column"], _merge_column_sums, COLUMN_SUMS).gather("columns", _MAX_COLUMNS)


def overviews_of_sums(night: Night, sums: pa.Table) -> dict[str, TableOverview]:
    """Return the overview of each table from what ``sum_facts`` returned."""
    families, configs = families_of_night(night).known, night.table_configs()
    configured = configured_indexes(configs, families)
    overviews = table_overviews(sums, segment_indexes(families), configured)
    scoring = night.settings.scoring
    tracked = with_untracked_indexes(overviews, scoring.untracked_inverted_index, INVERTED_NAME)
    return with_config_limits(tracked, configs, families, scoring.pinot_version)


def sound_overviews(night: Night, sums: pa.Table) -> dict[str, TableOverview]:
    """Return the overviews as far as families of users can tell them: rows and columns need none."""
    found, _ = without_faulty({}, lambda names: overviews_of_sums(night.without_families(names), sums))
    return found


def _column_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from column_sums(batches).to_batches()


def _merge_column_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from merge_column_sums(batches).to_batches()


def table_sizes(engine: Engine, night: Night) -> Mapping[str, TableSize]:
    """Return the sizes of all tables with facts of the night, also of tables that it does not advise on."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    if snapshot is None:
        return {}
    overviews = sound_overviews(night, sum_facts(engine, night, sorted(snapshot.tables)))
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
