"""Facts of tables for one command: from a folder of tarred segments, or from packed metadata alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.index_sizes import merge_index_sizes, metadata_sizes
from starskip.advisor.families.config_limits import config_notes, with_config_limits
from starskip.advisor.families.families import FamilyChoice, segment_indexes
from starskip.errors import SourceError, SourceOutage, some_of
from starskip.execution.local_engine import LocalEngine
from starskip.execution.progress import Progress
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.pinot.hybrid_tables import hybrid_tables, with_halves
from starskip.pinot.index_sizes.index_format import index_format
from starskip.pinot.segments.damaged_segment import damage_sentence
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.pulled_note import pulled_words
from starskip.pinot.segments.read_packed_metadata import read_packed_metadata
from starskip.pinot.segments.segment_files import SegmentFile, folder_of, list_segments, segment_tables
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.storage.schemas import COLUMN_SUMS
from starskip.tables.table_overview import (
    IndexColumns,
    TableOverview,
    column_sums,
    merge_column_sums,
    table_overviews,
)
from starskip.tables.untracked_indexes import untracked_indexes, with_untracked_indexes


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """Overviews by table, INDEX_SIZES batches if the metadata has sizes, and warnings."""

    overviews: Mapping[str, TableOverview]
    index_sizes: Sequence[pa.RecordBatch]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class FactsSource:
    """Source of facts: ``segments_root``, or if it is empty the file ``metadata_path``.

    By table: ``configured``, the columns with an index in the table config, and ``configs``, these configs.
    """

    segments_root: str
    metadata_path: str
    configured: Mapping[str, IndexColumns]
    settings: Settings
    families: FamilyChoice = FamilyChoice()  # noqa: RUF009 - a frozen value
    configs: Mapping[str, Sequence[TableConfig]] = field(default_factory=dict)

    def tables(self, packed: pa.Table | None = None) -> Sequence[str]:
        """Return the tables that have facts; ``packed``: the packed metadata, if it was read already."""
        if self.segments_root:
            return segment_tables(self.segments_root)
        return _tables_of(read_packed_metadata(self.metadata_path) if packed is None else packed)

    def facts(self, asked: Sequence[str], in_log: Iterable[str] | None, progress: Progress) -> FoundFacts:
        """Return the facts of the tables ``asked`` for, else of the tables ``in_log``, else of all tables.

        A table that was asked for must be there and readable, else SourceError names it; for other tables a
        warning does.
        """
        packed = None if self.segments_root else read_packed_metadata(self.metadata_path)
        known = self.tables(packed)
        if not known:
            place = self.segments_root or self.metadata_path
            wanted = "the folder with one folder a table" if packed is None else "a file of collect-metadata"
            raise SourceError(f"{place} holds no table: give {wanted}", source=place)
        self._check(asked, known, "segments" if packed is None else "metadata")
        overviews: dict[str, TableOverview] = {}
        sizes: list[pa.RecordBatch] = []
        warnings: list[str] = []
        for table in with_halves(asked or (known if in_log is None else in_log), self.hybrids()):
            folder = folder_of(table, known)
            if folder is None:
                warnings.append(
                    f"table {table} of the log has no segments below {self.segments_root}"
                    if packed is None
                    else f"table {table} of the log is not in {self.metadata_path}"
                )
                continue
            try:
                sums = (
                    self._read_segments(table, progress, sizes, warnings)
                    if packed is None
                    else _of_table(packed, folder, table)
                )
            except SourceError as error:
                if asked or isinstance(error, SourceOutage):
                    raise
                warnings.append(str(error))  # one table of the log must not end the advice for the others
                continue
            overviews.update(table_overviews(sums, segment_indexes(self.families.known), self.configured))
        if in_log is None and not overviews:
            raise SourceError(f"nothing to advise on: {warnings[0]}", source=self.segments_root)
        untracked = self.settings.scoring.untracked_inverted_index
        for table, columns in untracked_indexes(untracked).items():
            unknown = columns - overviews[table].columns.keys() if table in overviews else ()
            warnings.extend(f"table {table} has no column {name} with an index" for name in sorted(unknown))
        tracked = with_untracked_indexes(overviews, untracked, INVERTED_NAME)
        version = self.settings.scoring.pinot_version
        limited = with_config_limits(tracked, self.configs, self.families.known, version)
        for table, overview in limited.items():
            warnings.extend(config_notes(overview, self.configs.get(table, ()), version))
        return FoundFacts(limited, sizes, warnings)

    def hybrids(self) -> frozenset[str]:
        """Return the tables of which both halves have a table config, or a folder each."""
        try:
            known = segment_tables(self.segments_root) if self.segments_root else ()
        except SourceError:
            # Whoever reads facts reports the error.
            known = ()
        return hybrid_tables(self.configs) | hybrid_tables(known)

    def _check(self, asked: Sequence[str], known: Collection[str], what: str) -> None:
        for table in asked:
            if folder_of(table, known) is None:
                listing = some_of(known, table) or "none"
                place = self.segments_root or self.metadata_path
                raise SourceError(f"unknown table {table}: {place} has {what} of {listing}", source=table)

    def _read_segments(
        self, table: str, progress: Progress, sizes: list[pa.RecordBatch], warnings: list[str]
    ) -> pa.Table:
        of_metadata = partial(
            metadata_sizes,
            index_format=index_format(self.settings.scoring.pinot_version),
            families=self.families.known,
        )
        damaged_segments: list[str] = []

        def sums(files: Iterable[SegmentFile]) -> Iterator[pa.RecordBatch]:
            for facts, damaged in collect_facts(files):
                yield from column_sums(facts.to_batches()).to_batches()
                sizes[:] = merge_index_sizes([*sizes, *map(of_metadata, facts.to_batches())])
                damaged_segments.extend(map(damage_sentence, damaged.to_pylist()))

        files = list_segments(self.segments_root, [table])
        engine = LocalEngine(partial(progress, f"segments of {table}"))
        merged = merge_column_sums(engine.rows_of_items(files, sums, COLUMN_SUMS).batches())
        if not len(merged):
            raise SourceError(
                f"table {table}: none of its {len(files)} segments can be read: {damaged_segments[0]}",
                source=table,
            )
        warnings.extend([*damaged_segments, *pulled_words(files).values()])
        return merged


def _of_table(packed: pa.Table, name: str, table: str) -> pa.Table:
    """Return the sums of the table that the file calls ``name``; of both halves of a hybrid table alike."""
    found = packed.filter(pc.equal(packed["table"], name))
    names = pa.array([table] * len(found), pa.string())
    return found.set_column(found.schema.get_field_index("table"), "table", names)


def _tables_of(packed: pa.Table) -> tuple[str, ...]:
    return tuple(sorted(pc.unique(packed["table"]).to_pylist()))
