"""Store the samples of a sketch as columns, values and counts end to end, and read them back.

Hashes are not stored, since they follow from the values: computed anew, they show that nothing was changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from starskip.indexes.star_tree.recommend.combination_sketch import (
    CombinationSample,
    CombinationSketch,
    combination_hashes,
)
from starskip.indexes.star_tree.recommend.cuboids import Dimensions
from starskip.indexes.star_tree.recommend.value_hash import value_hashes


def sketch_columns(sketch: CombinationSketch) -> dict[str, pa.Array]:
    """Return the columns of a sketch.

    One value a sample: ``sets`` (bit i: the i-th dimension is in it), ``lengths`` and ``below``. One a
    combination, sample by sample: ``rows``, and ``value(d)`` for samples with dimension d.
    """
    samples = sketch.samples
    columns = {
        "sets": pa.array([_bits(of, sketch.dimensions) for of in samples], pa.int64()),
        "lengths": pa.array([len(sample.hashes) for sample in samples.values()], pa.int64()),
        "below": pa.array([sample.below for sample in samples.values()], pa.uint64()),
        "rows": pa.array(np.concatenate([np.empty(0, np.int64), *(item.rows for item in samples.values())])),
    }
    for name in sketch.dimensions:
        chunks = [c for of, sample in samples.items() if name in of for c in sample.values[name].chunks]
        columns[f"value({name})"] = pa.concat_arrays(chunks) if chunks else pa.nulls(0)
    return columns


def sketch_of_columns(
    columns: Mapping[str, pa.Array], dimensions: tuple[str, ...], size: int
) -> CombinationSketch:
    """Return the sketch of those dimensions and that size; ValueError if these are not columns of one."""
    sets = [_set(bits, dimensions) for bits in columns["sets"].to_pylist()]
    below = columns["below"].to_pylist()
    lengths, rows = (columns[name].cast(pa.int64()).to_numpy() for name in ("lengths", "rows"))
    if not (
        len(set(sets)) == len(sets) == len(lengths) == len(below)
        and (not sets or frozenset(dimensions) in sets)
        and (lengths > 0).all()
        and (lengths <= size).all()
        and lengths.sum() == len(rows)
    ):
        raise ValueError("not the samples of a sketch")
    values = {name: columns[f"value({name})"] for name in dimensions}
    for name, column in values.items():
        if len(column) != sum(n for of, n in zip(sets, lengths.tolist(), strict=True) if name in of):
            raise ValueError("combinations without a value")
    hashes = {name: value_hashes(values[name], place) for place, name in enumerate(dimensions)}
    taken = dict.fromkeys(dimensions, 0)
    samples: dict[Dimensions, CombinationSample] = {}
    ends = np.cumsum(lengths)
    for of, length, end, limit in zip(sets, lengths.tolist(), ends.tolist(), below, strict=True):
        names = [name for name in dimensions if name in of]
        cut = {name: slice(taken[name], taken[name] + length) for name in names}
        taken.update({name: taken[name] + length for name in names})
        combined = combination_hashes({name: hashes[name][cut[name]] for name in names}, of)
        if (combined[1:] <= combined[:-1]).any() or (limit is not None and int(combined[-1]) > limit):
            raise ValueError("combinations that are not in the order of their hashes")
        own = pa.table({name: values[name].slice(taken[name] - length, length) for name in names})
        samples[of] = CombinationSample(combined, own, rows[end - length : end], limit)
    return CombinationSketch(dimensions, size, samples)


def _bits(of: Dimensions, dimensions: Sequence[str]) -> int:
    return sum(1 << place for place, name in enumerate(dimensions) if name in of)


def _set(bits: int, dimensions: Sequence[str]) -> Dimensions:
    return frozenset(name for place, name in enumerate(dimensions) if bits >> place & 1)
