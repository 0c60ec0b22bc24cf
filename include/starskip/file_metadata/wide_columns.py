"""Join columns of any size: texts of more than two gigabytes get 64-bit offsets."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

MOST_BYTES = (1 << 31) - 1
"""The most bytes, or values of lists, that 32-bit offsets of one array reach."""


def concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return arrays of one type, with 32-bit or 64-bit offsets, as one array."""
    if len(arrays) == 1:
        return arrays[0]
    kinds = {each.type for each in arrays}
    if len(kinds) == 1 and sum(each.nbytes for each in arrays) <= MOST_BYTES:
        return pa.concat_arrays(arrays)
    return pa.concat_arrays([each.cast(wide(each.type)) for each in arrays])


def wide(kind: pa.DataType) -> pa.DataType:
    """Return a type with 64-bit offsets where it has 32-bit ones."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(wide(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(wide(field.type)) for field in kind])
    return kind


def narrow(array: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return an array as chunks of ``kind``, its type before ``wide``."""
    if array.type == kind:
        return pa.chunked_array([array])
    pieces, waiting = [], [array]
    while waiting:
        piece = waiting.pop()
        if piece.nbytes > MOST_BYTES and len(piece) > 1:
            middle = len(piece) // 2
            waiting += [piece.slice(middle), piece.slice(0, middle)]
        else:
            pieces.append(piece.cast(kind))
    return pa.chunked_array(pieces, kind)
