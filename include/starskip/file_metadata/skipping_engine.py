"""Interface of an engine that lists, indexes and queries tables of the lake; Spark implements it.

``root`` is the folder or URL of all tables' metadata, None for metadata beside each table's files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.execution.engine import Engine
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Expression
from starskip.settings import Settings
from starskip.skipping.skipping_index import SkippingIndex


@dataclass(frozen=True, slots=True)
class ColumnMeans:
    """Means over the files of a column; None is unknown."""

    distinct_values: float | None = None
    value_bytes: float | None = None
    has_nulls: bool | None = None


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """Numbers of rows in some files that satisfy predicates.

    ``paths`` as in TableMetadata; ``rows``: rows of each file; ``matching``: predicates x files. ``faults``:
    by position, why a predicate cannot be evaluated; its row of ``matching`` is 0.
    """

    paths: pa.Array
    rows: npt.NDArray[np.int64]
    matching: npt.NDArray[np.int64]
    faults: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """One run of a query: rows, a ``digest`` of them that does not depend on their order, and costs.

    Files and bytes are the metrics of the engine.
    """

    rows: int
    digest: int
    files: int
    size_bytes: int
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Replay:
    """One query without skipping and with it; ``not_skipped_because``: the reasons of the second run.

    ``read_bytes``: of all runs, of which there are more if the answers differ.
    """

    files_total: int
    plain: Reading
    skipping: Reading
    not_skipped_because: tuple[str, ...]
    read_bytes: int


class Replaying(Protocol):
    """Runs queries of one table both ways."""

    def __call__(self, predicate: Expression) -> Replay:
        """Run the query of a predicate both ways.

        Raises UnsupportedQuery for a predicate that cannot be run, for example because a function is unknown,
        and TransientError if the table changes meanwhile.
        """
        ...

    def plain_bytes(self, predicate: Expression) -> int:
        """Return what the query would read without skipping; raises StarskipError if it cannot be planned."""
        ...


class SkippingEngine(Protocol):
    """Reads lake tables and refreshes their metadata.

    Methods raise SourceError for a table that cannot be read, and StarskipError for other failures.
    """

    def location(self, table: LakeTable, root: str | None) -> str:
        """Return the folder or URL of the table's metadata."""
        ...

    def file_bytes(self, table: LakeTable) -> float:
        """Return the mean size of the table's files, 0 if it has none."""
        ...

    def column_facts(self, table: LakeTable, columns: Sequence[str], files: int) -> Mapping[str, ColumnMeans]:
        """Return facts of columns from ``files`` evenly spread files; unknown columns are left out."""
        ...

    def refresh(
        self,
        table: LakeTable,
        wanted: Sequence[SkippingIndex],
        root: str | None,
    ) -> Refreshed:
        """Create and refresh the indexes ``wanted``, and delete all others.

        The files are collected by the given index objects themselves, such as WorkloadGapList. Raises
        ConfigError for an index that the table cannot have.
        """
        ...

    def faults(self, table: LakeTable, indexes: Sequence[SkippingIndex]) -> Mapping[str, str]:
        """Return why the table cannot have some of the indexes, by their specifications."""
        ...

    def matching_rows(
        self, table: LakeTable, predicates: Sequence[Expression], paths: pa.Array | None
    ) -> MatchingRows:
        """Count matching rows in one pass, in all files or in ``paths`` (as in TableMetadata)."""
        ...

    def sample_values(self, table: LakeTable, columns: Sequence[str], rows: int) -> Mapping[str, pa.Array]:
        """Return the values of about ``rows`` rows, spread over the table, by column."""
        ...

    def replaying(
        self, table: LakeTable, root: str | None, settings: Settings | None = None
    ) -> AbstractContextManager[Replaying]:
        """Return the context in which queries of a table run both ways.

        The two ways are without skipping, and with the metadata below ``root``. ``settings`` decide which
        indexes are read; None stands for the engine's own. The table is opened once for all queries, and
        again where files are gone.
        """
        ...


@runtime_checkable
class LakeEngine(Protocol):
    """An engine with a SkippingEngine."""

    @property
    def skipping(self) -> SkippingEngine:
        """The SkippingEngine."""
        ...


def skipping_engine(engine: Engine) -> SkippingEngine | None:
    """Return the SkippingEngine of an engine, None if it has none."""
    return engine.skipping if isinstance(engine, LakeEngine) else None
