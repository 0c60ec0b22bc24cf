"""Levenshtein distances of many texts to one, in characters as Spark counts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_CELLS_AT_ONCE = 1 << 20
_SHORT = 8


def edit_distances(texts: pa.Array, other: str, *, most_cells: int | None = None) -> pa.Array:
    """Return the distance of each text to ``other``, null for null; each distinct text is compared once.

    All are null where the texts' tables, each as large as the longest text's table, have more than
    ``most_cells``.
    """
    codes = texts.dictionary_encode()
    distinct = codes.dictionary
    lengths = np.asarray(pc.utf8_length(distinct).to_numpy(zero_copy_only=False), np.int64)
    cells = len(distinct) * (int(lengths.max(initial=0)) + 1) * (len(other) + 1)
    if most_cells is not None and cells > most_cells:
        return pa.nulls(len(texts), pa.int32())
    found = np.zeros(len(distinct), np.int32)
    # Texts of about the same length share a table.
    sizes = (1 << np.ceil(np.log2(np.maximum(lengths, _SHORT))).astype(np.int64)) if len(lengths) else lengths
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        at_once = max(1, _CELLS_AT_ONCE // size)
        for start in range(0, len(at), at_once):
            piece = at[start : start + at_once]
            found[piece] = _distances(distinct.take(pa.array(piece)), lengths[piece], other)
    return pa.array(found, pa.int32()).take(codes.indices)


def _distances(texts: pa.Array, lengths: npt.NDArray[np.int64], other: str) -> npt.NDArray[np.int32]:
    """Compare texts by the table of Wagner and Fischer (1974), one row of all texts at a time."""
    longest = int(lengths.max())
    characters = np.zeros((len(texts), longest), np.uint32)
    content = np.frombuffer("".join(texts.to_pylist()).encode("utf-32-le"), np.uint32)
    places = np.arange(longest, dtype=np.int32)
    characters[places < lengths[:, None]] = content
    # Each cell without its place, so that steps to the right cost nothing.
    row = np.zeros((len(texts), longest + 1), np.int32)
    for place, letter in enumerate(other, 1):
        # A letter's step down costs 1; a step down and right 1 where characters differ, less its place.
        from_above = row + np.int32(1)
        across = row[:, :-1] - (characters == ord(letter))
        np.minimum(from_above[:, 1:], across, out=from_above[:, 1:])
        from_above[:, 0] = place
        row = np.minimum.accumulate(from_above, axis=1)
    return np.asarray(row[np.arange(len(texts)), lengths] + lengths, np.int32)
