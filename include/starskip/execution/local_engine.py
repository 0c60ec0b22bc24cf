"""The engine without Spark: everything in this process, one batch after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from starskip.errors import CapExceeded
from starskip.execution.engine import BatchMap
from starskip.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LocalRows:
    """Rows that are made when they are asked for."""

    batches: Callable[[], Iterable[pa.RecordBatch]]
    schema: pa.Schema

    def map(self, function: BatchMap, schema: pa.Schema) -> LocalRows:
        """See Rows.map."""
        return LocalRows(lambda: function(self.batches()), schema)

    def merge(self, keys: Sequence[str], function: BatchMap, schema: pa.Schema) -> LocalRows:
        """See Rows.merge; in one process all keys are together already."""
        del keys
        return self.map(function, schema)

    def gather(self, what: str, max_rows: int) -> pa.Table:
        """See Rows.gather."""
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in self.batches():
            rows += batch.num_rows
            if rows > max_rows:
                raise CapExceeded(f"{what}: more than {max_rows} rows; raise the cap or narrow the tables")
            held.append(batch)
        return pa.Table.from_batches(held, schema=self.schema)


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs stages in this process; ``progress`` wraps the items of long work, to show how far it is."""

    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter

    def rows_of_items(
        self,
        items: Sequence[Any],
        function: Callable[[Iterable[Any]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> LocalRows:
        """See Engine.rows_of_items."""
        return LocalRows(lambda: function(self.progress(items)), schema)

    def rows_of_snapshot(
        self, snapshot: Snapshot, tables: Collection[str], columns: Sequence[str] | None = None
    ) -> LocalRows:
        """See Engine.rows_of_snapshot."""
        schema = snapshot.row_schema()
        names = list(columns) if columns is not None else schema.names
        selected = pa.schema([schema.field(name) for name in names])
        return LocalRows(lambda: snapshot.batches(tables, names), selected)
