"""Keep a table's busiest shapes and fold the rest into one, so that no log can outgrow the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from starskip.advisor.workload.shape_workload import UNPARSED, ShapeWorkload, workload_shapes, workload_table

FOLDED = UNPARSED + "too_many_shapes"


def fold_shapes(batches: Iterable[pa.RecordBatch], *, max_shapes: int) -> Iterator[pa.RecordBatch]:
    """Return at most ``max_shapes`` WORKLOAD rows a table, and one with the sums of all others.

    The shapes that scan most are kept. A shape among the table's busiest is among the busiest of any part
    that it is in, so folding parts first and the whole after gives the same shapes.
    """
    tables: dict[str, list[ShapeWorkload]] = {}
    for batch in batches:
        for shape in workload_shapes(batch):
            tables.setdefault(shape.table, []).append(shape)
    for table, shapes in sorted(tables.items()):
        named = [shape for shape in shapes if shape.shape_id != FOLDED]
        named.sort(key=lambda shape: (-shape.estimated_entries, shape.shape_id))
        folded = ShapeWorkload(table, FOLDED, FOLDED, FOLDED)
        for shape in [s for s in shapes if s.shape_id == FOLDED] + named[max_shapes:]:
            shape.instances.clear()
            folded.merge(shape, cap=1)
        folded.skeleton, folded.text = FOLDED, FOLDED
        kept = named[:max_shapes] + ([folded] if folded.queries else [])
        yield from workload_table(kept).to_batches()
