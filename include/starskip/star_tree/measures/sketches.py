"""Sketches of Apache DataSketches: distinct values (HLL), quantiles (KLL, t-digest).

They are kept serialised, in the form that all of the library's languages read (Spark's ``hll_union_agg``
too). Nulls are left out. Values that a sketch of quantiles cannot hold are counted beside it (values_apart).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.extras import needing_extra
from starskip.star_tree.measure import MeasureKind
from starskip.star_tree.measures.arrow_buffers import floats_of, valid_mask
from starskip.star_tree.measures.measure_array import Positions, run_lengths
from starskip.star_tree.measures.values_apart import ValuesApart, is_apart, parted, values_apart
from starskip.tables.distinct_numbers import distinct_numbers

HLL_LG_K = 12
"""log2 of the registers: a relative standard error of 1.6 %, at most 2.5 KiB."""
KLL_K = 200
"""A rank error of 1.33 % in 99 of 100 sketches; about 2.5 KiB of retained values."""
T_DIGEST_K = 200
"""The library's own default; at most about 5 KiB."""
QUANTILE_SKETCHES: dict[MeasureKind, int] = {MeasureKind.KLL: KLL_K, MeasureKind.T_DIGEST: T_DIGEST_K}
"""Sketches of quantiles, and the size of each."""
_EMPTY_TEXT = "\0the empty text"
"""Stands for the empty text, which SQL counts and the library leaves out."""


@dataclass(frozen=True, slots=True)
class SketchedRows:
    """Values of rows that are not sketched yet: the first merge sketches them, group by group."""

    values: pa.Array
    kind: MeasureKind

    def __len__(self) -> int:
        """See MeasureArray."""
        return len(self.values)

    def take(self, positions: Positions) -> SketchedRows:
        """See MeasureArray.take."""
        return SketchedRows(self.values.take(pa.array(positions)), self.kind)

    def merged(self, starts: Positions) -> Sketches:
        """See MeasureArray.merged."""
        sketch = _distinct_sketches if self.kind is MeasureKind.HLL else _quantile_sketches
        return Sketches(sketch(self.values, starts, self.kind), self.kind)

    def appended(self, others: Sequence[SketchedRows]) -> SketchedRows:
        """See MeasureArray.appended."""
        return SketchedRows(pa.concat_arrays([self.values, *(each.values for each in others)]), self.kind)

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow: a sketch a row."""
        return self.merged(np.arange(len(self))).to_arrow()

    def results(self) -> pa.Array:
        """See MeasureArray.results."""
        return self.to_arrow()


@dataclass(frozen=True, slots=True)
class Sketches:
    """Serialised sketches of one kind, as bytes objects."""

    serialized: npt.NDArray[np.object_]
    kind: MeasureKind

    @classmethod
    def from_arrow(cls, array: pa.Array, kind: MeasureKind) -> Sketches:
        """Return the sketches of a stored column."""
        return cls(np.asarray(array.to_numpy(zero_copy_only=False), dtype=object), kind)

    def __len__(self) -> int:
        """See MeasureArray."""
        return len(self.serialized)

    def take(self, positions: Positions) -> Sketches:
        """See MeasureArray.take."""
        return Sketches(self.serialized[positions], self.kind)

    def merged(self, starts: Positions) -> Sketches:
        """See MeasureArray.merged; a run of one value stays as it is."""
        merge = _merged_hll if self.kind is MeasureKind.HLL else _merged_quantiles
        ends = np.append(starts, len(self))[1:]
        merged = np.empty(len(starts), object)
        for position, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            run = self.serialized[start:end]
            merged[position] = run[0] if end == start + 1 else merge(run, self.kind)
        return Sketches(merged, self.kind)

    def appended(self, others: Sequence[Sketches]) -> Sketches:
        """See MeasureArray.appended."""
        return Sketches(np.concatenate([self.serialized, *(each.serialized for each in others)]), self.kind)

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow."""
        return pa.array(self.serialized, pa.binary())

    def results(self) -> pa.Array:
        """See MeasureArray.results; ``sketch_answers`` computes numbers from them."""
        return self.to_arrow()


def sketch_library() -> Any:
    """Return the module datasketches. Raises MissingExtra where it is not installed."""
    with needing_extra("star-trees"):
        import datasketches  # noqa: PLC0415

        return datasketches


def quantile_class(kind: MeasureKind) -> Any:
    """Return the class of the sketches of quantiles of that kind. Raises MissingExtra."""
    library = sketch_library()
    return library.kll_doubles_sketch if kind is MeasureKind.KLL else library.tdigest_double


def _distinct_sketches(values: pa.Array, starts: Positions, _: MeasureKind) -> npt.NDArray[np.object_]:
    encoded = values.dictionary_encode()
    items = _hashable(encoded.dictionary)
    group = np.repeat(np.arange(len(starts)), run_lengths(starts, len(values)))
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    # Each distinct value of a group is added once: every update costs a call from Python.
    pairs = distinct_numbers(group * (len(items) + 1) + code + 1)
    group, code = np.divmod(pairs, len(items) + 1)
    ends = np.searchsorted(group, np.arange(len(starts)), side="right")
    found = np.empty(len(starts), object)
    library = sketch_library()
    first = 0
    for position, end in enumerate(ends.tolist()):
        sketch = library.hll_sketch(HLL_LG_K, library.tgt_hll_type.HLL_4)
        for item in code[first:end].tolist():
            if item:
                sketch.update(items[item - 1])
        found[position] = sketch.serialize_compact()
        first = end
    return found


def _hashable(values: pa.Array) -> list[Any]:
    """Return the values in the form that sketches hash, the same in all languages: int, float or text."""
    kind = values.type
    if pa.types.is_floating(kind):
        # -0.0 and 0.0 are one value, and so are all NaN.
        return list((pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False) + 0.0).tolist())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return [_signed(int(value)) for value in values.to_pylist()]
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return list(values.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind) or pa.types.is_time64(kind):
        return list(values.view(pa.int64()).to_pylist())
    texts = (value.hex() if isinstance(value, bytes) else str(value) for value in values.to_pylist())
    return [text or _EMPTY_TEXT for text in texts]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _quantile_sketches(values: pa.Array, starts: Positions, kind: MeasureKind) -> npt.NDArray[np.object_]:
    sketch_class, size = quantile_class(kind), QUANTILE_SKETCHES[kind]
    numbers = floats_of(values)
    valid = valid_mask(values)
    apart = is_apart(numbers, kind)
    if valid is not None:
        apart &= valid
    usable = ~apart if valid is None else valid & ~apart
    beside = values_apart(numbers, apart, starts)
    kept = np.concatenate([[0], np.cumsum(usable)])
    numbers = numbers[usable]
    firsts, ends = kept[starts], kept[np.append(starts, len(values))[1:]]
    found = np.empty(len(starts), object)
    for position, (first, end) in enumerate(zip(firsts.tolist(), ends.tolist(), strict=True)):
        sketch = sketch_class(size)
        if end > first:
            sketch.update(numbers[first:end])
        found[position] = sketch.serialize()
    for position, counts in beside.items():
        found[position] = counts.stored(found[position])
    return found


def _merged_hll(run: npt.NDArray[np.object_], _: MeasureKind) -> bytes:
    library = sketch_library()
    union = library.hll_union(HLL_LG_K)
    for each in run:
        union.update(library.hll_sketch.deserialize(each))
    serialized: bytes = union.get_result(library.tgt_hll_type.HLL_4).serialize_compact()
    return serialized


def _merged_quantiles(run: npt.NDArray[np.object_], kind: MeasureKind) -> bytes:
    sketch_class = quantile_class(kind)
    merged, apart = None, ValuesApart()
    for each in run:
        serialized, beside = parted(each)
        apart += beside
        sketch = sketch_class.deserialize(serialized)
        if merged is None:
            merged = sketch
        else:
            merged.merge(sketch)
    assert merged is not None
    return apart.stored(merged.serialize())
