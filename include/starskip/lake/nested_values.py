"""Changes the values of columns at any depth: within structs, lists and maps, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]
Change = Callable[[pa.Array, Path], pa.Array]
"""Returns an array of the same type; in a leaf's path a list has "element", a map "key" and "value"."""


def with_leaves(column: pa.ChunkedArray, path: Path, change: Change) -> pa.ChunkedArray:
    """Return a column with ``change`` applied to all arrays but structs, lists and maps."""
    return pa.chunked_array([_changed(each, path, change) for each in column.chunks], column.type)


def with_padding(column: pa.ChunkedArray, name: str, lengths: Mapping[Path, int]) -> pa.ChunkedArray:
    """Return a column whose values of CHAR(n) have n characters, as Spark reads them; longer ones stay."""
    if not any(path[0] == name for path in lengths):
        return column

    def padded(leaf: pa.Array, path: Path) -> pa.Array:
        return pc.utf8_rpad(leaf, lengths[path]) if path in lengths else leaf

    return with_leaves(column, (name,), padded)


def _changed(array: pa.Array, path: Path, change: Change) -> pa.Array:
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [
            _changed(part, (*path, field.name), change)
            for part, field in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null()) if parts else array
    if pa.types.is_map(kind):
        entries = map_entries(array)
        keys, items = entries.flatten().flatten()
        keys, items = _changed(keys, (*path, "key"), change), _changed(items, (*path, "value"), change)
        return pa.MapArray.from_arrays(list_offsets(entries), keys, items, type=kind)
    if pa.types.is_list(kind):
        inner = _changed(array.flatten(), (*path, "element"), change)
        return pa.ListArray.from_arrays(list_offsets(array), inner, type=kind)
    return change(array, path)


def map_entries(maps: pa.Array) -> pa.Array:
    """Return maps as lists of structs of a key and a value."""
    key = pa.field("key", maps.type.key_type, nullable=False)
    return maps.cast(pa.list_(pa.struct([key, pa.field("value", maps.type.item_type)])))


def list_offsets(lists: pa.Array) -> pa.Array:
    """Return where each list begins in the flattened array, null for a null list."""
    lengths = np.asarray(pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    is_null = np.append(lists.is_null().to_numpy(zero_copy_only=False), False)
    return pa.array(ends.astype(np.int64), mask=is_null).cast(pa.int32())
