"""Levenshtein distances of many texts to one, in characters as Spark counts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_TEXTS_AT_ONCE = 1 << 16


def edit_distances(texts: pa.Array, other: str, *, most_cells: int | None = None) -> pa.Array:
    """Return the distance of each text to ``other``, null for null; each distinct text is compared once.

    All are null where the tables of the texts, each as large as the longest one's, have more than
    ``most_cells``.
    """
    codes = texts.dictionary_encode()
    distinct = codes.dictionary
    lengths = np.asarray(pc.utf8_length(distinct).to_numpy(zero_copy_only=False), np.int64)
    cells = len(distinct) * (int(lengths.max(initial=0)) + 1) * (len(other) + 1)
    if most_cells is not None and cells > most_cells:
        return pa.nulls(len(texts), pa.int32())
    found = np.zeros(len(distinct), np.int32)
    for length in np.unique(lengths).tolist():
        at = np.flatnonzero(lengths == length)
        for start in range(0, len(at), _TEXTS_AT_ONCE):
            piece = at[start : start + _TEXTS_AT_ONCE]
            found[piece] = _distances(distinct.take(pa.array(piece)), length, other)
    return pa.array(found, pa.int32()).take(codes.indices)


def _distances(texts: pa.Array, length: int, other: str) -> npt.NDArray[np.int32]:
    """Compare texts of one length by the table of Wagner and Fischer (1974), one array a cell."""
    content = "".join(texts.to_pylist()).encode("utf-32-le")
    characters = np.frombuffer(content, np.uint32).reshape(len(texts), length)
    row = [np.full(len(texts), place, np.int32) for place in range(length + 1)]
    for place, letter in enumerate(other, 1):
        above, row = row, [np.full(len(texts), place, np.int32)]
        differs = (characters != ord(letter)).astype(np.int32)
        for at in range(length):
            cheapest = np.minimum(above[at + 1], row[at]) + 1
            row.append(np.minimum(cheapest, above[at] + differs[:, at]))
    return row[-1]
