"""What stages need of an engine that lists, indexes and queries tables of the lake: Spark, in fact.

A ``root`` is where metadata of all tables lies, None for beside each table's files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.execution.engine import Engine
from starskip.indexes.skipping.choice.candidate_indexes import ColumnFacts
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.metadata.refresh_metadata import Refreshed
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.lake.lake_table import LakeTable


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """Rows of some files that satisfy predicates.

    ``paths`` as TableMetadata has them (files); ``rows`` of each file (files); ``matching`` (predicates x
    files), whose rows are 0 for a predicate in ``faults``: by its position, why it cannot be evaluated.
    """

    paths: pa.Array
    rows: npt.NDArray[np.int64]
    matching: npt.NDArray[np.int64]
    faults: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """One run of a query. ``digest`` tells sets of rows apart, in whatever order they come.

    Files and bytes are the engine's own numbers of what it read.
    """

    rows: int
    digest: int
    files: int
    size_bytes: int
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Replay:
    """A query without skipping and with it; ``not_skipped_because``: what the second one said of itself."""

    files_total: int
    plain: Reading
    skipping: Reading
    not_skipped_because: tuple[str, ...]


class SkippingEngine(Protocol):
    """All raise SourceError for a table that cannot be read, and StarskipError otherwise."""

    def location(self, table: LakeTable, root: str | None) -> str:
        """Return the folder or URL of the table's metadata."""
        ...

    def file_bytes(self, table: LakeTable) -> float:
        """Return the size of the table's mean file, 0 if it has none."""
        ...

    def column_facts(self, table: LakeTable, columns: Sequence[str], files: int) -> Mapping[str, ColumnFacts]:
        """Return facts of columns from ``files`` evenly spread files; what is no column is left out."""
        ...

    def refresh(
        self,
        table: LakeTable,
        wanted: Sequence[SkippingIndex],
        root: str | None,
    ) -> Refreshed:
        """Have exactly ``wanted`` be active and up to date: others are deleted, missing ones created.

        Files that are read are collected by the very indexes given, such as WorkloadGapList.
        Raises ConfigError for an index that cannot be.
        """
        ...

    def fault(self, table: LakeTable, index: SkippingIndex) -> str | None:
        """Return why the table cannot have the index, None if it can: its column is missing, say."""
        ...

    def matching_rows(
        self, table: LakeTable, predicates: Sequence[Expression], paths: pa.Array | None
    ) -> MatchingRows:
        """Count matching rows in one pass, of all files or of those of ``paths`` (TableMetadata's)."""
        ...

    def sample_values(self, table: LakeTable, columns: Sequence[str], rows: int) -> Mapping[str, pa.Array]:
        """Return values of about ``rows`` rows, spread over the table, by column."""
        ...

    def replay(self, table: LakeTable, predicate: Expression, root: str | None) -> Replay:
        """Ask for the rows that satisfy ``predicate``, without skipping and with the metadata below ``root``.

        Raises UnsupportedQuery for a predicate that cannot be asked: of a function that is not known, say.
        """
        ...


@runtime_checkable
class LakeEngine(Protocol):
    """An engine that lists, indexes and queries tables of the lake."""

    @property
    def skipping(self) -> SkippingEngine:
        """What does so."""
        ...


def skipping_engine(engine: Engine) -> SkippingEngine | None:
    """Return what lists, indexes and queries tables of the lake; None for an engine that cannot."""
    return engine.skipping if isinstance(engine, LakeEngine) else None
