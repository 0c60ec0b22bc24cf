"""Contract of an engine: map over Arrow batches, merge by key, gather bounded results.

Every function given to an engine takes an iterator of record batches and returns one; it may run
in another process, more than once, and must not depend on how rows are cut into batches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from starskip.storage.snapshot import Snapshot

BatchMap = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Rows(Protocol):
    """Rows somewhere, not held by the driver."""

    def map(self, function: BatchMap, schema: pa.Schema) -> Rows:
        """Return the rows that ``function`` makes from each part."""

    def merge(self, keys: Sequence[str], function: BatchMap, schema: pa.Schema) -> Rows:
        """Bring rows of equal ``keys`` together and return the rows that ``function`` makes from them.

        ``function`` sees rows of several keys, all rows of each.
        """

    def gather(self, what: str, max_rows: int) -> pa.Table:
        """Return all rows; raise CapExceeded naming ``what`` if they are more than ``max_rows``."""


class Engine(Protocol):
    """Runs maps over items and over published artefacts."""

    def rows_of_items(
        self,
        items: Sequence[Any],
        function: Callable[[Iterable[Any]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Rows:
        """Return the rows that ``function`` makes from ``items``, which are divided among the tasks."""

    def rows_of_snapshot(
        self, snapshot: Snapshot, tables: Collection[str], columns: Sequence[str] | None = None
    ) -> Rows:
        """Return the rows of ``tables`` of a published artefact."""
