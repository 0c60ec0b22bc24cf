"""Write a window of rows as the bytes of one Arrow batch, and read it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.tables.row_window import ColumnWindow, RowWindow

_PARTS = ("codes", "dictionary", "offsets", "values", "nulls", "ends")
_NUMBERS = ("codes", "offsets", "nulls")
_FACTS = "window"


def window_bytes(window: RowWindow) -> bytes:
    """Return the window as a batch of one row, which has a list for each part of a column."""
    arrays = dict(_arrays(window))
    lists = [_one_list(array) for array in arrays.values()]
    facts = {
        "table": window.table,
        "segment": window.segment,
        "segment_rows": window.segment_rows,
        "rows": window.rows,
        "columns": list(window.columns),
        "unreadable": dict(window.unreadable),
    }
    fields = [pa.field(name, each.type) for name, each in zip(arrays, lists, strict=True)]
    # A batch without columns would have no row.
    schema = pa.schema([pa.field("one", pa.bool_()), *fields], {_FACTS: json.dumps(facts)})
    batch = pa.record_batch([pa.array([True]), *lists], schema=schema)
    return stream_bytes(batch, compression="zstd")


def stream_bytes(batch: pa.RecordBatch, *, compression: str | None = None) -> bytes:
    """Return a batch with its schema as Arrow's stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def window_from_bytes(content: bytes) -> RowWindow:
    """Return the window that ``window_bytes`` wrote."""
    with pa.ipc.open_stream(content) as reader:
        batch = reader.read_next_batch()
    facts = json.loads((batch.schema.metadata or {})[_FACTS.encode()])
    lists: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = {}
    for place, name in enumerate(facts.pop("columns")):
        parts: dict[str, Any] = {}
        for part in _PARTS:
            if (held := lists.get(f"{place}.{part}")) is not None:
                values = held[0].values
                parts[part] = values.to_numpy(zero_copy_only=False) if part in _NUMBERS else values
        columns[name] = ColumnWindow(**parts)
    return RowWindow(columns=columns, **facts)


def _arrays(window: RowWindow) -> Iterator[tuple[str, pa.Array]]:
    for place, column in enumerate(window.columns.values()):
        for part in _PARTS:
            values = getattr(column, part)
            if values is not None:
                yield f"{place}.{part}", values if isinstance(values, pa.Array) else pa.array(values)


def _one_list(array: pa.Array) -> pa.Array:
    ends = pa.array(np.array([0, len(array)], np.int32))
    return pa.ListArray.from_arrays(ends, array)
