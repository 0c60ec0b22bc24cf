"""One pass over a table that keeps what Cuboids needs: the distinct combinations, or samples of them.

A sample keeps the ``size`` combinations of the smallest hashes (KMV, bottom-k): with ``kept`` of them below
the ratio t of the hash space there are about kept / t, with a relative standard error of 1 / sqrt(size). As
long as a set of dimensions has no more than ``size`` combinations it is exact, and so are all its subsets,
which need no sketch of their own; past that, each subset with one dimension less starts one, from what
the larger held at that moment. Sketches of parts of a table merge to those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.star_tree.recommend.combinations import Combinations, Keys, Positions, value_codes
from starskip.star_tree.recommend.cuboids import Cuboids, Dimensions
from starskip.star_tree.recommend.value_hash import Hashes, mixed, value_hashes

_SPACE = float(1 << 64)
_BATCH_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class _Sample:
    """Combinations by ascending hash with their values; ``below``: greater hashes were dropped, if any."""

    hashes: Hashes
    values: pa.Table
    rows: Keys
    below: int | None = None

    @property
    def kept_ratio(self) -> float:
        return 1.0 if self.below is None else (self.below + 1) / _SPACE


class CombinationSketch:
    """The sketch of some dimensions."""

    def __init__(self, dimensions: tuple[str, ...], size: int) -> None:
        """Start with no row."""
        self.dimensions = dimensions
        self._size = size
        self._samples: dict[Dimensions, _Sample] = {}

    def add(self, batch: pa.Table | pa.RecordBatch) -> None:
        """Add rows that have the dimensions as columns."""
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            self._add(_plain(batch.slice(start, _BATCH_ROWS).select(list(self.dimensions))))

    def merge(self, other: CombinationSketch) -> None:
        """Add the rows of ``other``, a sketch of the same dimensions and size."""
        before = dict(self._samples)
        # Larger sets come first: one that overflows here starts the sketches of its subsets.
        for of in sorted({*before, *other._samples}, key=lambda item: (-len(item), sorted(item))):
            found = [self._sample(samples, of) for samples in (before, other._samples) if samples]
            self._keep(of, found)

    def cuboids(self) -> Cuboids:
        """Return what was seen as cuboids; values are numbered in their order, nulls last."""
        values = {name: self._values(name) for name in self.dimensions}
        samples = {
            of: Combinations(
                {
                    name: value_codes(sample.values[name], values[name])
                    for name in self.dimensions
                    if name in of
                },
                sample.rows,
                sample.kept_ratio,
            )
            for of, sample in self._samples.items()
        }
        if not samples:
            whole = frozenset(self.dimensions)
            nothing = {name: np.empty(0, np.int32) for name in self.dimensions}
            samples[whole] = Combinations(nothing, np.empty(0, np.int64))
        return Cuboids(samples, values)

    def _add(self, rows: pa.Table) -> None:
        hashes = {
            name: value_hashes(rows[name].combine_chunks(), position)
            for position, name in enumerate(self.dimensions)
        }
        whole = frozenset(self.dimensions)
        # Of equal rows one is enough for every set.
        combined = _combined(hashes, whole)
        _, firsts, counts = np.unique(combined, return_index=True, return_counts=True)
        distinct = rows.take(pa.array(firsts))
        hashes = {name: column[firsts] for name, column in hashes.items()}
        for of in [whole, *(item for item in list(self._samples) if item != whole)]:
            known = self._samples.get(of)
            if known is None:
                self._keep(of, [self._new(distinct, counts, hashes, of, None)])
                continue
            known, unknown = _counted(known, _combined(hashes, of), counts)
            self._samples[of] = known
            if len(unknown):
                those = {name: column[unknown] for name, column in hashes.items()}
                new = self._new(distinct.take(pa.array(unknown)), counts[unknown], those, of, known.below)
                self._keep(of, [known, new])

    def _new(
        self,
        values: pa.Table,
        rows: Keys,
        hashes: Mapping[str, Hashes],
        of: Dimensions,
        below: int | None,
    ) -> _Sample:
        combined = _combined(hashes, of)
        kept = np.arange(len(combined)) if below is None else np.flatnonzero(combined <= np.uint64(below))
        found, firsts, groups = np.unique(combined[kept], return_index=True, return_inverse=True)
        sums = np.bincount(groups, rows[kept], len(found)).astype(np.int64)
        names = [name for name in self.dimensions if name in of]
        return _Sample(found, values.select(names).take(pa.array(kept[firsts])), sums, below)

    def _sample(self, samples: Mapping[Dimensions, _Sample], of: Dimensions) -> _Sample:
        """Return the sample of ``of``, projected from an exact one where it has none of its own."""
        if of in samples:
            return samples[of]
        exact = [sample for larger, sample in samples.items() if of < larger and sample.below is None]
        return self._projected(min(exact, key=lambda sample: len(sample.hashes)), of)

    def _projected(self, sample: _Sample, of: Dimensions) -> _Sample:
        hashes = {
            name: value_hashes(sample.values[name].combine_chunks(), position)
            for position, name in enumerate(self.dimensions)
            if name in of
        }
        return self._new(sample.values, sample.rows, hashes, of, None)

    def _keep(self, of: Dimensions, parts: list[_Sample]) -> None:
        """Make ``parts`` the sample of ``of``; where it overflows first, its subsets get samples."""
        merged = reduce(_united, parts)
        if len(merged.hashes) > self._size:
            for name in sorted(of) if merged.below is None and len(of) > 1 else ():
                smaller = of - {name}
                if smaller not in self._samples:
                    # Exact until now, so that all that the smaller set has had is here.
                    self._keep(smaller, [self._projected(merged, smaller)])
            below = int(merged.hashes[self._size - 1])
            kept = slice(self._size)
            merged = _Sample(
                merged.hashes[kept], merged.values.slice(0, self._size), merged.rows[kept], below
            )
        self._samples[of] = merged

    def _values(self, name: str) -> pa.Array:
        columns = [item.values[name] for of, item in self._samples.items() if name in of]
        if not columns:
            return pa.nulls(0)
        distinct = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
        found = pc.drop_null(distinct.unique())
        return found.take(pc.array_sort_indices(found))


def sketch_of(
    batches: Iterable[pa.Table | pa.RecordBatch], dimensions: tuple[str, ...], size: int
) -> CombinationSketch:
    """Return the sketch of some batches."""
    sketch = CombinationSketch(dimensions, size)
    for batch in batches:
        sketch.add(batch)
    return sketch


def _plain(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    """Return the columns in types that every kernel takes: without dictionaries and string views."""
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if column.type == pa.string_view():
            column = column.cast(pa.string())
        columns[name] = column
    return pa.table(columns)


def _combined(hashes: Mapping[str, Hashes], of: Dimensions) -> Hashes:
    columns = [column for name, column in hashes.items() if name in of]
    return mixed(np.sum(columns, axis=0, dtype=np.uint64))


def _counted(known: _Sample, combined: Hashes, rows: Keys) -> tuple[_Sample, Positions]:
    """Return the sample with the rows that have its combinations, and where others are that it may keep."""
    kept = np.arange(len(combined))
    if known.below is not None:
        kept = np.flatnonzero(combined <= np.uint64(known.below))
        combined, rows = combined[kept], rows[kept]
    if not len(known.hashes):
        return known, kept
    at = np.searchsorted(known.hashes, combined).clip(max=len(known.hashes) - 1)
    is_known = known.hashes[at] == combined
    added = np.bincount(at[is_known], rows[is_known], len(known.hashes)).astype(np.int64)
    return replace(known, rows=known.rows + added), kept[~is_known]


def _united(first: _Sample, second: _Sample) -> _Sample:
    limits = [item.below for item in (first, second) if item.below is not None]
    below = min(limits) if limits else None
    hashes = np.concatenate([first.hashes, second.hashes])
    found, positions, groups = np.unique(hashes, return_index=True, return_inverse=True)
    rows = np.bincount(groups, np.concatenate([first.rows, second.rows]), len(found)).astype(np.int64)
    if below is not None:
        kept = np.searchsorted(found, np.uint64(below), side="right")
        found, positions, rows = found[:kept], positions[:kept], rows[:kept]
    values = first.values
    if len(positions) != first.values.num_rows or (positions >= first.values.num_rows).any():
        values = pa.concat_tables([first.values, second.values]).take(pa.array(positions)).combine_chunks()
    return _Sample(found, values, rows, below)
