"""Select the busiest texts to parse, of a log with more shapes than are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial

import numpy as np
import pyarrow as pa

from starskip.advisor.workload.key_sums import KEY_SUMS, MAX_KEYS, BusyKeys, busiest_keys, sum_keys
from starskip.errors import printable
from starskip.execution.engine import Rows

_KEYS_PER_SHAPE = 2
"""Some texts are no shape, and some shapes have several keys: so many are kept before shapes are known."""
_MOST_TABLES = 100_000

_BUSY = pa.schema(
    [
        ("table", pa.string()),
        ("bits", pa.int8()),
        ("prefixes", pa.list_(pa.int64())),
        ("keys", pa.int64()),
        ("left_out_entries", pa.float64()),
        ("is_counted", pa.bool_()),
    ]
)


def busy_keys(queries: Rows, max_shapes: int) -> dict[str, BusyKeys]:
    """Return the keys to be parsed of each table of ``queries`` (schema QUERIES) that has too many keys.

    Reads the queries once; queries of tables with more keys than can be held are read once more, and so on.
    """
    most = _KEYS_PER_SHAPE * max_shapes
    # With twice as many keys as are kept, one more bit can be distinguished at the next reading.
    held = max(MAX_KEYS, 2 * most)
    found = _busiest(queries, most, held, {})
    while coarse := {table: keys for table, keys in found.items() if not keys.is_exact}:
        found |= _busiest(queries, most, held, coarse)
    return {table: keys for table, keys in found.items() if not keys.is_whole}


def left_out_words(busy: Mapping[str, BusyKeys]) -> list[str]:
    """Return a warning for each table some of whose texts were not counted apart."""
    return [
        f"{printable(table, 100)}: its queries have {keys.words} forms; the {len(keys.prefixes):,} that scan "
        f"most are counted apart, others scanned at most {keys.left_out_entries:,.0f} entries in filter each"
        for table, keys in sorted(busy.items())
    ]


def _busiest(queries: Rows, most: int, held: int, within: Mapping[str, BusyKeys]) -> dict[str, BusyKeys]:
    sums = queries.map(partial(sum_keys, within=within or None, max_keys=held), KEY_SUMS)
    rows = sums.merge(["table"], partial(_busy_rows, most, held, within), _BUSY)
    found = {}
    for row in rows.gather("busy skeletons", _MOST_TABLES).to_pylist():
        table, prefixes = row.pop("table"), np.array(row.pop("prefixes"), np.int64)
        found[table] = BusyKeys(prefixes=prefixes, **row)
    return found


def _busy_rows(
    most: int, held: int, within: Mapping[str, BusyKeys], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for table, keys in busiest_keys(batches, most=most, max_keys=held):
        known = within[table].refined(keys) if table in within else keys
        if not known.is_whole:
            row = {"table": table, **{item.name: getattr(known, item.name) for item in fields(known)}}
            yield pa.RecordBatch.from_pylist([row], _BUSY)
