"""Give the records of hybrid tables to their halves.

A query on T_OFFLINE or T_REALTIME is of that half alone. A query on plain T reads both halves, and the
broker's counters are of both together: each half gets a record with the share of its rows in the rows of the
table. That is the split of a query that reads both halves alike; the broker sends the offline half what lies
before the time boundary and the realtime half the rest, which the log does not tell. Latency, exceptions and
weight are the whole query's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.leaf_records import TableSize
from starskip.pinot.hybrid_tables import TABLE_TYPES, half_name, halves_of

_SHARED = (
    *("rows_scanned", "rows_total", "entries_scanned_in_filter", "entries_scanned_post_filter"),
    *("segments_queried", "segments_processed", "segments_matched"),
)


@dataclass(frozen=True, slots=True)
class HybridRecords:
    """Gives records of ``hybrids`` to their halves; ``size_of`` returns a half's size, None if unknown."""

    hybrids: frozenset[str]
    size_of: Callable[[str], TableSize | None]

    def whole_size(self, table: str) -> TableSize | None:
        """Return the size of a table; of a hybrid one the size of its halves together."""
        if table not in self.hybrids:
            return self.size_of(table)
        found = [size for half in halves_of(table) if (size := self.size_of(half))]
        columns: frozenset[str] = frozenset().union(*(size.columns for size in found))
        return TableSize(sum(size.rows for size in found), columns) if found else None

    def of_halves(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return query records (LOG_RECORDS, or columns of it), those of hybrid tables by half."""
        if not self.hybrids:
            return batch
        names = pa.array(sorted(self.hybrids), pa.string())
        is_hybrid = pc.fill_null(pc.is_in(batch.column("table"), value_set=names), False)
        if not pc.any(is_hybrid).as_py():
            return batch
        found = [batch.filter(pc.invert(is_hybrid))]
        for table in pc.unique(batch.filter(is_hybrid).column("table")).to_pylist():
            of_table = batch.filter(pc.fill_null(pc.equal(batch.column("table"), table), False))
            types = of_table.column("table_type")
            of_both = of_table.filter(pc.is_null(types))
            first_ratio = self._first_ratio(table)
            for table_type in TABLE_TYPES:
                name = half_name(table, table_type)
                of_half = of_table.filter(pc.fill_null(pc.equal(types, table_type), False))
                is_first = table_type == TABLE_TYPES[0]
                share = _shared(of_both, first_ratio, is_first=is_first)
                found += [_renamed(each, name) for each in (of_half, share)]
        return pa.concat_batches(found)

    def _first_ratio(self, table: str) -> float:
        """Return the share of the first half's rows; a half if one of the two is not known."""
        sizes = [self.size_of(half) for half in halves_of(table)]
        rows = [size.rows for size in sizes if size]
        whole = sum(rows)
        return rows[0] / whole if len(rows) == len(sizes) and whole else 1 / len(TABLE_TYPES)


def _shared(batch: pa.RecordBatch, first_ratio: float, *, is_first: bool) -> pa.RecordBatch:
    for name in _SHARED:
        position = batch.schema.get_field_index(name)
        if position < 0 or not batch.num_rows:
            continue
        counters = batch.column(position)
        whole = pc.fill_null(counters, 0).to_numpy(zero_copy_only=False)
        first = np.floor(whole * first_ratio).astype(np.int64)
        missing = counters.is_null().to_numpy(zero_copy_only=False)
        part = pa.array(first if is_first else whole - first, pa.int64(), mask=missing)
        batch = batch.set_column(position, batch.schema.field(position), part)
    return batch


def _renamed(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    position = batch.schema.get_field_index("table")
    names = pa.repeat(pa.scalar(table), batch.num_rows)
    return batch.set_column(position, batch.schema.field(position), names)
