"""Count the distinct combinations of each subset of the dimensions, and how subsets nest.

A cuboid is the set of distinct combinations of some dimensions (data cube; star-cubing of Xin et al. 2003).
The documents and the nodes of a star-tree are combinations of cuboids. So the size of a tree depends only on
how many combinations of one cuboid share a combination of a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.families.star_tree.recommend.combinations import (
    Codes,
    Combinations,
    combination_keys,
    distinct_combinations,
    seen_combinations_ratio,
    value_codes,
)

Dimensions = frozenset[str]
Positions = npt.NDArray[np.int32]
Counts = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_CACHED = 256
_MAX_TABLE = 1 << 22
"""Entries of a look-up table: beyond it a search takes less memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Predicates:
    """Masks of codes by dimension, in the order in which they are applied; known by its identity."""

    masks: tuple[tuple[str, Flags], ...]


class Cuboids:
    """Cuboids of some dimensions of one table or segment; each is computed once, when it is asked for.

    ``samples``: the combinations of all dimensions, exact, or if they are a sample, also the samples of the
    subsets. ``values``: the distinct values of each dimension, in the order of the codes. ``row_ratio``: the
    share of the rows from which the combinations are; the others may have more.
    """

    def __init__(
        self,
        samples: Mapping[Dimensions, Combinations],
        values: Mapping[str, pa.Array],
        row_ratio: float = 1.0,
    ) -> None:
        """Keep the samples and values; nothing is computed yet."""
        self._samples = dict(samples)
        self._row_ratio = row_ratio
        self._largest = [item for item in samples if not any(item < other for other in samples)]
        self.values = values
        # The caches belong to this object and go with it. Layouts of the same dimensions share their entries.
        self.combinations = lru_cache(None)(self._combinations)
        self.projection = lru_cache(_CACHED)(self._projection)
        self.documents = lru_cache(_CACHED)(self._documents)
        self.is_single = lru_cache(_CACHED)(self._is_single)
        self.passing = lru_cache(_CACHED)(self._passing)

    def joined(self, other: Cuboids) -> Cuboids:
        """Return the subsets that this or ``other`` knows; both are of the same rows."""
        values = {
            name: _together(self.values.get(name), other.values.get(name))
            for name in {**self.values, **other.values}
        }
        return Cuboids(other._recoded(values) | self._recoded(values), values, self._row_ratio)

    def knows(self, of: Dimensions) -> bool:
        """Return whether the combinations of ``of`` are known or can be computed."""
        return any(of <= item for item in self._largest)

    def _combinations(self, of: Dimensions) -> Combinations:
        """Return the cuboid of ``of``."""
        found = self._seen(of)
        seen_ratio = seen_combinations_ratio(found.rows, self._row_ratio)
        return found if seen_ratio == 1 else replace(found, kept_ratio=found.kept_ratio * seen_ratio)

    def _seen(self, of: Dimensions) -> Combinations:
        found = self._samples.get(of)
        if found is None:
            whole = min(
                (item for item in self._samples if of < item and self._samples[item].kept_ratio == 1),
                key=lambda item: self._samples[item].kept,
            )
            larger = self._samples[whole]
            codes = {name: column for name, column in larger.codes.items() if name in of}
            found = self._samples[of] = distinct_combinations(codes, larger.rows)
        return found

    def _recoded(self, values: Mapping[str, pa.Array]) -> dict[Dimensions, Combinations]:
        translated = {
            name: np.append(value_codes(each, values[name]), np.int32(len(values[name])))
            for name, each in self.values.items()
        }
        return {
            of: replace(item, codes={name: translated[name][codes] for name, codes in item.codes.items()})
            for of, item in self._samples.items()
        }

    def _projection(self, larger: Dimensions, smaller: Dimensions) -> Positions:
        """Return the position in ``smaller`` of each combination of ``larger``; -1 if it was not kept."""
        many, few = self.combinations(larger), self.combinations(smaller)
        if not few.codes:
            return np.zeros(many.kept, np.int32)
        if larger == smaller:
            return np.arange(many.kept, dtype=np.int32)
        columns = [np.concatenate([few.codes[name], many.codes[name]]) for name in few.codes]
        keys = combination_keys(columns)
        known, sought = keys[: few.kept], keys[few.kept :]
        most = int(keys.max(initial=0))
        if most < _MAX_TABLE:
            positions = np.full(most + 1, -1, np.int32)
            positions[known] = np.arange(few.kept)
            return positions[sought]
        order = np.argsort(known, kind="stable")
        found = np.searchsorted(known[order], sought).clip(max=few.kept - 1)
        return np.where(known[order][found] == sought, order[found], -1).astype(np.int32)

    def _documents(self, larger: Dimensions, smaller: Dimensions) -> Counts:
        """Return for each combination of ``smaller`` how many of ``larger`` contain it."""
        few = self.combinations(smaller).kept
        if larger == smaller:
            return np.ones(few)
        many = self.combinations(larger)
        positions = self.projection(larger, smaller)
        counted = np.bincount(
            positions[positions >= 0] if (positions < 0).any() else positions, minlength=few
        )
        return counted / many.kept_ratio

    def _passing(self, larger: Dimensions, smaller: Dimensions, predicates: Predicates, count: int) -> Counts:
        """Return ``_documents`` over the combinations that meet the first ``count`` predicates."""
        many, positions = self.combinations(larger), self.projection(larger, smaller)
        passes = positions >= 0
        for name, mask in predicates.masks[:count]:
            if name in many.codes:
                passes &= mask[many.codes[name]]
        counted = np.bincount(positions[passes], minlength=self.combinations(smaller).kept)
        return counted / many.kept_ratio

    def _is_single(self, larger: Dimensions, smaller: Dimensions, dimension: str) -> npt.NDArray[np.bool_]:
        """Return for each combination of ``smaller`` whether it has only one value of ``dimension``."""
        positions = self.projection(larger, smaller)
        column: Codes = self.combinations(larger).codes[dimension]
        if (positions < 0).any():
            positions, column = positions[positions >= 0], column[positions >= 0]
        some = np.full(self.combinations(smaller).kept, -1, np.int32)
        some[positions] = column
        is_single = np.ones(len(some), np.bool_)
        is_single[positions[column != some[positions]]] = False
        return is_single


def _together(first: pa.Array | None, second: pa.Array | None) -> pa.Array:
    if first is None or second is None:
        return second if first is None else first
    found = pa.concat_arrays([first, second]).unique()
    return found.take(pc.array_sort_indices(found))
