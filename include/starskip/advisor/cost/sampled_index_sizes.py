"""Sizes of indexes from sampled rows of each table's segments, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

import pyarrow as pa

from starskip.advisor.cost.decoded_segments import DecodedSource
from starskip.advisor.cost.index_sizes import merge_index_sizes
from starskip.advisor.cost.planned_votes import TablePlan
from starskip.advisor.cost.sampled_segments import SampledSegment
from starskip.execution.engine import Engine
from starskip.storage.schemas import INDEX_SIZES

_MAX_SIZES = 2_000_000


def sampled_index_sizes(
    engine: Engine,
    plans: Mapping[str, TablePlan],
    samples: Sequence[SampledSegment],
    decoded: DecodedSource,
) -> pa.Table:
    """Return INDEX_SIZES of the columns that queries filter on, from sampled segments."""
    rows = engine.rows_of_items(samples, partial(_sizes, plans, decoded), INDEX_SIZES)
    return rows.merge(["table"], merge_index_sizes, INDEX_SIZES).gather("index sizes", _MAX_SIZES)


def _sizes(
    plans: Mapping[str, TablePlan], decoded: DecodedSource, samples: Iterable[SampledSegment]
) -> Iterator[pa.RecordBatch]:
    for table, of_table in groupby(samples, key=lambda sample: sample.file.table):
        for _, segment in decoded(of_table, plans[table].decoded_columns()):
            yield segment.sizes
