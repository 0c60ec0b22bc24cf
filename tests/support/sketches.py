"""Sketches of the combinations in some batches."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from starskip.advisor.families.star_tree.recommend.combination_sketch import CombinationSketch


def sketch_of(
    batches: Iterable[pa.Table | pa.RecordBatch], dimensions: tuple[str, ...], size: int
) -> CombinationSketch:
    """Return the sketch of some batches."""
    sketch = CombinationSketch(dimensions, size)
    for batch in batches:
        sketch.add(batch)
    return sketch
