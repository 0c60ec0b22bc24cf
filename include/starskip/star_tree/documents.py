"""The documents of a star-tree: codes of dimensions, and intermediate results of aggregations.

The code of a value is its position among the sorted values of its dimension; null's code is the number of
values and the star's code one more. So sorting by codes sorts documents as published: values, then null, then
star.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.measure_array import MeasureArray, Positions

Codes = npt.NDArray[np.int32]
_WORD_BITS = 63


@dataclass(frozen=True, slots=True)
class Documents:
    """``codes``: an array for each dimension, in split order; all arrays have one value for each document."""

    codes: tuple[Codes, ...]
    measures: Mapping[Measure, Any]

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.codes[0])

    def take(self, positions: Positions) -> Documents:
        """Return the documents at ``positions``, in that order."""
        return Documents(
            tuple(codes[positions] for codes in self.codes),
            {measure: array.take(positions) for measure, array in self.measures.items()},
        )

    def merged(self, starts: Positions) -> Documents:
        """Return one document for each run, with the codes of its first document."""
        return Documents(
            tuple(codes[starts] for codes in self.codes),
            {measure: array.merged(starts) for measure, array in self.measures.items()},
        )

    def with_codes(self, dimension: int, code: int) -> Documents:
        """Return the documents with one code everywhere in that dimension."""
        codes = list(self.codes)
        codes[dimension] = np.full(len(self), code, np.int32)
        return Documents(tuple(codes), self.measures)


def appended(parts: Sequence[Documents]) -> Documents:
    """Return the documents of all parts, one after the other; there must be one part at least."""
    first, *others = parts
    if not others:
        return first
    measures: dict[Measure, MeasureArray] = {
        measure: array.appended([other.measures[measure] for other in others])
        for measure, array in first.measures.items()
    }
    codes = tuple(np.concatenate(arrays) for arrays in zip(*(part.codes for part in parts), strict=True))
    return Documents(codes, measures)


def aggregated(documents: Documents, star_codes: Sequence[int]) -> Documents:
    """Return the documents sorted, one for each combination of codes."""
    order, starts = sorted_runs(documents.codes, [star + 1 for star in star_codes])
    if order is not None:
        documents = documents.take(order)
    return documents.merged(starts)


def sorted_runs(keys: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> tuple[Positions | None, Positions]:
    """Return the order that sorts by ``keys``, the first key first, and the starts of runs of equal keys.

    ``sizes``: each key is a whole number from 0 to below its size. The order is None if the keys are sorted.
    """
    rows = len(keys[0])
    words = _packed(keys, sizes)
    if len(words) == 1:
        (word,) = words
        if rows < 2 or bool((word[1:] >= word[:-1]).all()):
            return None, _starts([word], rows)
        order = np.argsort(word, kind="stable")
        return order, _starts([word[order]], rows)
    order = np.lexsort(words[::-1])
    return order, _starts([word[order] for word in words], rows)


def _packed(keys: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """Pack as many keys as fit into one word of 63 bits: one sort is quicker than several."""
    words: list[npt.NDArray[np.int64]] = []
    free_bits = 0
    for key, size in zip(keys, sizes, strict=True):
        bits = max(int(size - 1).bit_length(), 1)
        if not words or bits > free_bits:
            words.append(key.astype(np.int64))
            free_bits = _WORD_BITS - bits
        else:
            words[-1] = (words[-1] << np.int64(bits)) | key.astype(np.int64)
            free_bits -= bits
    return words


def _starts(words: Sequence[npt.NDArray[np.int64]], rows: int) -> Positions:
    if rows == 0:
        return np.zeros(0, np.int64)
    changes = np.zeros(rows, np.bool_)
    changes[0] = True
    for word in words:
        changes[1:] |= word[1:] != word[:-1]
    return np.flatnonzero(changes)
