"""Minimum pooling: keep the least latency of each bin of (entries in filter, entries post filter).

The space is cut into buckets of a x b entries and the minimum of each is kept, which drops queueing and noise
("Automated Inverted Index Recommendation for Pinot", II.1). That tool uses bins of 100 entries; here bins
grow with the entries (``BINS_PER_OCTAVE`` a doubling), so that a table of millions of rows pools as well as a
small one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.storage.schemas import LATENCY_BINS

SMALLEST_BIN_ENTRIES = 100
BINS_PER_OCTAVE = 4


def pool_latencies(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return LATENCY_BINS of query records (schema QUERIES), one row for each table and bin.

    Failed queries are left out: they may have ended before they read all their entries.
    """
    return _pooled([_binned(batch) for batch in batches])


def merge_bins(tables: Iterable[pa.Table]) -> pa.Table:
    """Merge LATENCY_BINS of the same bins; associative."""
    return _pooled(list(tables))


def _binned(batch: pa.RecordBatch) -> pa.Table:
    table = pa.table({name: batch.column(name) for name in _SOURCE})
    usable = pc.and_(pc.equal(pc.fill_null(table["exceptions"], 0), 0), pc.is_valid(table["latency_ms"]))
    usable = pc.and_(usable, pc.is_valid(table["entries_scanned_in_filter"]))
    table = table.filter(pc.and_(usable, pc.is_valid(table["entries_scanned_post_filter"])))
    columns: dict[str, pa.Array | pa.ChunkedArray] = {"table": table["table"]}
    for name in ("entries_scanned_in_filter", "entries_scanned_post_filter"):
        columns[name.replace("entries_scanned_", "bin_")] = pa.array(_bin(table[name].to_numpy()))
    for name in ("entries_scanned_in_filter", "entries_scanned_post_filter", "latency_ms"):
        # Not safe: past 2^53 a float rounds; no fit sees the difference, and Arrow would refuse.
        columns[name] = table[name].cast(pa.float64(), safe=False)
    columns["queries"] = pa.array(np.ones(len(table), dtype=np.int64))
    return pa.table(columns).select(LATENCY_BINS.names).cast(LATENCY_BINS)


_SOURCE = ("table", "latency_ms", "exceptions", "entries_scanned_in_filter", "entries_scanned_post_filter")


def _bin(entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    scaled = np.maximum(entries, 0) / SMALLEST_BIN_ENTRIES
    return np.asarray(np.floor(np.log2(1.0 + scaled) * BINS_PER_OCTAVE), dtype=np.int64)


def _pooled(tables: list[pa.Table]) -> pa.Table:
    """Keep the quickest query of each bin, with its own entries; on a tie, the one that read least."""
    if not tables:
        return LATENCY_BINS.empty_table()
    everything = pa.concat_tables(tables)
    keys = ["table", "bin_in_filter", "bin_post_filter"]
    counts = everything.group_by(keys).aggregate([("queries", "sum")])
    order = ["latency_ms", "entries_scanned_in_filter", "entries_scanned_post_filter"]
    ranked = everything.sort_by([(name, "ascending") for name in keys + order])
    first = np.ones(len(ranked), dtype=bool)
    for position, name in enumerate(keys):
        codes = pc.rank(ranked[name], tiebreaker="dense").to_numpy()
        changed = np.append(True, codes[1:] != codes[:-1]) if len(ranked) else first
        first = changed if position == 0 else first | changed
    kept = ranked.filter(pa.array(first)).drop_columns(["queries"])
    joined = kept.join(counts, keys).rename_columns({"queries_sum": "queries"})
    return (
        joined.select(LATENCY_BINS.names).cast(LATENCY_BINS).sort_by([(name, "ascending") for name in keys])
    )
