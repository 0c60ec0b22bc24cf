"""Aggregate files that behave alike for a query into patterns, the input of the choice of indexes.

The pattern of a file for a query is the family of index sets, each of which skips the file. Beside it only
the bytes of a file and the weight of a query matter, so equal patterns of all files and queries become one
term:

    saving(chosen) = sum over patterns p of bytes_p * [some set of p is a subset of chosen]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.advisor.families.file_indexes.alternatives import QuerySkips
from starskip.skipping.file_metadata import Mask

Pattern = frozenset[frozenset[str]]
"""Sets of indexes, none of which contains another one."""
_BITS = 32
_COUNTED_BITS = 12


@dataclass(frozen=True, slots=True)
class SkipPatterns:
    """Bytes (or rows) weighted by the number of runs of each query.

    ``total``: all bytes that the queries read without any index. ``weights``: by pattern, the bytes that it
    skips. ``reachable``: by index, the most that any metadata could skip for the queries that may use it,
    None if the files with matching rows are unknown.
    """

    total: float
    weights: Mapping[Pattern, float]
    reachable: Mapping[str, float | None]


def skip_patterns(queries: Iterable[QuerySkips], file_weights: npt.ArrayLike) -> SkipPatterns:
    """Return the patterns of a workload; the queries are read once and not kept.

    ``file_weights``: bytes or rows of each file. Raises ValueError for masks of another length, and for
    weights that are negative or not finite.
    """
    files = np.asarray(file_weights, np.float64)
    if not _are_weights(files):
        raise ValueError("file_weights: one number, 0 or more, for each file")
    total = 0.0
    weights: dict[Pattern, float] = {}
    reachable: dict[str, float | None] = {}
    for query in queries:
        _check(query, len(files))
        total += query.weight * float(files.sum())
        skipped = [~item.read for item in query.alternatives]
        for numbers, amount in _classes(skipped, files):
            pattern = _minimal(query.alternatives[number].indexes for number in numbers)
            if frozenset() in pattern:
                total -= query.weight * amount
            elif amount * query.weight > 0:
                weights[pattern] = weights.get(pattern, 0.0) + query.weight * amount
        # A file that is skipped without any index is no gain of an index.
        read = np.ones(len(files), np.bool_)
        for item in query.alternatives:
            if not item.indexes:
                read &= item.read
        ideal = None if query.relevant is None else query.weight * float(files[read & ~query.relevant].sum())
        for index in sorted(frozenset().union(*(item.indexes for item in query.alternatives))):
            known = reachable.get(index, 0.0)
            reachable[index] = None if known is None or ideal is None else known + ideal
    return SkipPatterns(total, weights, reachable)


def _are_weights(values: npt.NDArray[np.float64]) -> bool:
    return bool(values.ndim == 1 and np.all(np.isfinite(values) & (values >= 0)))


def _check(query: QuerySkips, files: int) -> None:
    masks = [item.read for item in query.alternatives]
    if query.relevant is not None:
        masks.append(query.relevant)
    if any(mask.shape != (files,) for mask in masks):
        raise ValueError(f"query {query.query}: a mask is of {files} files")
    if not _are_weights(np.array([query.weight])):
        raise ValueError(f"query {query.query}: its weight is a number, 0 or more, not {query.weight}")


def _classes(skipped: Sequence[Mask], files: npt.NDArray[np.float64]) -> Iterable[tuple[list[int], float]]:
    """Yield the masks that hold for a class of files, and its weight; the class of no mask is left out."""
    if len(skipped) <= _COUNTED_BITS:
        bits = np.zeros(len(files), np.int32)
        for number, mask in enumerate(skipped):
            bits |= mask.astype(np.int32) << number
        counted = np.bincount(bits, weights=files)
        for code in np.flatnonzero(counted).tolist():
            if code:
                yield [number for number in range(len(skipped)) if code >> number & 1], float(counted[code])
        return
    codes = np.zeros(len(files), np.int64)
    for number, mask in enumerate(skipped):
        if number % _BITS == _BITS - 1:
            codes = np.unique(codes, return_inverse=True)[1]
        codes = codes * 2 + mask
    _, first, classes = np.unique(codes, return_index=True, return_inverse=True)
    amounts = np.bincount(classes, weights=files)
    for example, amount in zip(first, amounts, strict=True):
        if numbers := [number for number, mask in enumerate(skipped) if mask[example]]:
            yield numbers, float(amount)


def _minimal(sets: Iterable[frozenset[str]]) -> Pattern:
    kept: list[frozenset[str]] = []
    for item in sorted(sets, key=len):
        if not any(part <= item for part in kept):
            kept.append(item)
    return frozenset(kept)
