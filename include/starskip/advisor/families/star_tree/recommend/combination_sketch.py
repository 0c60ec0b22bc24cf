"""Sketch the distinct combinations of dimensions in one pass: all of them, or a KMV sample of them.

A sample keeps the ``size`` combinations of the smallest hashes (KMV, bottom-k). If ``kept`` of them lie below
the ratio t of the hash space, there are about kept / t combinations, with a relative standard error of 1 /
sqrt(size). A set of dimensions with no more than ``size`` combinations is exact, and so are all its subsets,
which need no sample of their own. A larger set is sampled, and each of its subsets with one dimension less
has a sample, unless another exact set contains it. Which sets have a sample, and its contents, depend on the
rows alone: sketches of parts of a table merge to the sketch of the whole, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.families.star_tree.recommend.combinations import (
    Combinations,
    Keys,
    Positions,
    value_codes,
)
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids, Dimensions
from starskip.skipping.splitmix64 import Hashes
from starskip.skipping.value_hash import spread, value_hashes

_SPACE = float(1 << 64)
_BATCH_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class CombinationSample:
    """Combinations by ascending hash with their values; ``below``: if some were dropped, their least hash."""

    hashes: Hashes
    values: pa.Table
    rows: Keys
    below: int | None = None

    @property
    def kept_ratio(self) -> float:
        """Return the share of all combinations that the sample keeps."""
        return 1.0 if self.below is None else (self.below + 1) / _SPACE


class CombinationSketch:
    """The sketch of some dimensions."""

    def __init__(
        self,
        dimensions: tuple[str, ...],
        size: int,
        samples: Mapping[Dimensions, CombinationSample] | None = None,
    ) -> None:
        """Start with no row, or with the samples of a sketch of the same dimensions and size."""
        self.dimensions = dimensions
        self.size = size
        self.samples: Mapping[Dimensions, CombinationSample] = samples or {}

    def add(self, batch: pa.Table | pa.RecordBatch) -> None:
        """Add rows that have the dimensions as columns."""
        start = 0
        while start < batch.num_rows:
            whole = self.samples.get(frozenset(self.dimensions))
            # Until many hashes are known to be too great, most rows would be sorted only to be dropped.
            most = int(2 * self.size / (whole.kept_ratio if whole else 1.0))
            rows = batch.slice(start, min(most, _BATCH_ROWS))
            self._add(_plain(rows.select(list(self.dimensions))))
            start += rows.num_rows

    def merge(self, other: CombinationSketch) -> None:
        """Add the rows of ``other``, a sketch of the same dimensions and size."""
        parts = [samples for samples in (self.samples, other.samples) if samples]
        if parts:
            self._keep(lambda of: [self._sample(samples, of) for samples in parts])

    def cuboids(self) -> Cuboids:
        """Return the cuboids of the combinations seen; values are numbered in their order, nulls last."""
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
            for of, sample in self.samples.items()
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
        # One of several equal rows is enough for every set.
        combined = combination_hashes(hashes, whole)
        _, firsts, counts = np.unique(combined, return_index=True, return_counts=True)
        distinct = rows.take(pa.array(firsts))
        hashes = {name: column[firsts] for name, column in hashes.items()}
        before = self.samples

        def parts(of: Dimensions) -> list[CombinationSample]:
            if not before:
                return [self._new(distinct, counts, hashes, of, None)]
            known, unknown = _counted(self._sample(before, of), combination_hashes(hashes, of), counts)
            if not len(unknown):
                return [known]
            those = {name: column[unknown] for name, column in hashes.items()}
            taken = distinct.take(pa.array(unknown))
            return [known, self._new(taken, counts[unknown], those, of, known.below)]

        self._keep(parts)

    def _keep(self, parts: Callable[[Dimensions], list[CombinationSample]]) -> None:
        """Set the sample of each set of dimensions that needs one, from the result of ``parts``."""
        found: dict[Dimensions, CombinationSample] = {}
        level = [frozenset(self.dimensions)]
        while level:
            # All larger sets have been looked at.
            needed = [
                of
                for of in level
                if not any(of < larger and sample.below is None for larger, sample in found.items())
            ]
            for of in needed:
                found[of] = self._limited(reduce(_united, parts(of)))
            smaller = {
                of - {name} for of in needed if found[of].below is not None and len(of) > 1 for name in of
            }
            level = sorted(smaller, key=sorted)
        self.samples = found

    def _new(
        self,
        values: pa.Table,
        rows: Keys,
        hashes: Mapping[str, Hashes],
        of: Dimensions,
        below: int | None,
    ) -> CombinationSample:
        combined = combination_hashes(hashes, of)
        kept = np.arange(len(combined)) if below is None else np.flatnonzero(combined <= np.uint64(below))
        found, firsts, groups = np.unique(combined[kept], return_index=True, return_inverse=True)
        sums = np.bincount(groups, rows[kept], len(found)).astype(np.int64)
        # One more than the sample keeps shows that there are more.
        few = slice(self.size + 1)
        own = values.select([name for name in self.dimensions if name in of])
        return CombinationSample(found[few], own.take(pa.array(kept[firsts[few]])), sums[few], below)

    def _sample(self, samples: Mapping[Dimensions, CombinationSample], of: Dimensions) -> CombinationSample:
        """Return the sample of ``of``; if it has none of its own, it is projected from an exact one."""
        if of in samples:
            return samples[of]
        exact = [sample for larger, sample in samples.items() if of < larger and sample.below is None]
        return self._projected(min(exact, key=lambda sample: len(sample.hashes)), of)

    def _projected(self, sample: CombinationSample, of: Dimensions) -> CombinationSample:
        hashes = {
            name: value_hashes(sample.values[name].combine_chunks(), position)
            for position, name in enumerate(self.dimensions)
            if name in of
        }
        return self._new(sample.values, sample.rows, hashes, of, None)

    def _limited(self, sample: CombinationSample) -> CombinationSample:
        """Return the ``size`` combinations of the smallest hashes."""
        if len(sample.hashes) <= self.size:
            return sample
        hashes, rows = sample.hashes[: self.size], sample.rows[: self.size]
        return CombinationSample(hashes, sample.values.slice(0, self.size), rows, int(hashes[-1]))

    def _values(self, name: str) -> pa.Array:
        columns = [item.values[name] for of, item in self.samples.items() if name in of]
        if not columns:
            return pa.nulls(0)
        distinct = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
        found = pc.drop_null(distinct.unique())
        return found.take(pc.array_sort_indices(found))


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


def combination_hashes(hashes: Mapping[str, Hashes], of: Dimensions) -> Hashes:
    """Return the hash of each combination of ``of`` from the hashes of its values."""
    columns = [column for name, column in hashes.items() if name in of]
    return spread(np.sum(columns, axis=0, dtype=np.uint64))


def _counted(known: CombinationSample, combined: Hashes, rows: Keys) -> tuple[CombinationSample, Positions]:
    """Return the sample with the rows of its combinations, and positions of other rows that it may keep."""
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


def _united(first: CombinationSample, second: CombinationSample) -> CombinationSample:
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
    return CombinationSample(found, values, rows, below)
