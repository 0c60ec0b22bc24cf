"""Sizes of indexes from sampled rows of each table's segments, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

import pyarrow as pa

from starskip.advisor.cost.index_sizes import merge_index_sizes, window_sizes
from starskip.advisor.cost.planned_votes import TablePlan
from starskip.advisor.cost.sampled_segments import SampledSegment
from starskip.advisor.families.family import Family
from starskip.execution.engine import Engine
from starskip.pinot.index_sizes.index_format import IndexFormat, index_format
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.facts_table import facts_rows
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import read_segment_layout
from starskip.pinot.segments.segment_reader import read_row_window, segment_facts
from starskip.settings import Settings
from starskip.storage.schemas import INDEX_SIZES

_MAX_SIZES = 2_000_000
_MAX_BYTES = 256 * 1024 * 1024
_FEWEST_SEGMENTS = 8
_MAX_READ_ROWS = 1 << 20
"""Sixteen roaring containers: a larger segment repeats them."""
_COLUMNS_AT_ONCE = 64
"""Number of columns whose rows are read at once; they take 256 MiB at most."""


def sampled_index_sizes(
    engine: Engine, plans: Mapping[str, TablePlan], samples: Sequence[SampledSegment], settings: Settings
) -> pa.Table:
    """Return INDEX_SIZES of the columns that queries filter on, from sampled segments."""
    files = _few_where_large([sample.file for sample in samples])
    size = partial(_sizes, plans, index_format(settings.scoring.pinot_version))
    rows = engine.rows_of_items(files, size, INDEX_SIZES)
    return rows.merge(["table"], merge_index_sizes, INDEX_SIZES).gather("index sizes", _MAX_SIZES)


def _few_where_large(files: Sequence[SegmentFile]) -> list[SegmentFile]:
    """Return all files of tables with small segments, and evenly spread files of the other tables."""
    found: list[SegmentFile] = []
    for _, group in groupby(files, key=lambda file: file.table):
        of_table = list(group)
        mean_bytes = sum(file.size_bytes for file in of_table) / len(of_table)
        count = min(len(of_table), max(_FEWEST_SEGMENTS, int(_MAX_BYTES / max(mean_bytes, 1))))
        found.extend(of_table[position * len(of_table) // count] for position in range(count))
    return found


def _sizes(
    plans: Mapping[str, TablePlan], index_format: IndexFormat, files: Iterable[SegmentFile]
) -> Iterator[pa.RecordBatch]:
    columns: dict[str, list[str]] = {}
    for file in files:
        if file.table not in columns:
            columns[file.table] = _columns(plans[file.table])
        try:
            yield from _of_segment(file, columns[file.table], index_format, plans[file.table].rules.families)
        except DamagedSegment:
            # collect_segment_metadata reports the damaged segment; the other segments suffice.
            continue


def _of_segment(
    file: SegmentFile, columns: Sequence[str], index_format: IndexFormat, families: Sequence[Family]
) -> Iterator[pa.RecordBatch]:
    layout = read_segment_layout(file, TarLimits(), whole=False)
    facts = facts_rows(file, segment_facts(file, layout)).combine_chunks().to_batches()
    for first in range(0, len(columns), _COLUMNS_AT_ONCE):
        some = columns[first : first + _COLUMNS_AT_ONCE]
        window = read_row_window(file, some, max_rows=_MAX_READ_ROWS, layout=layout)
        for batch in facts:
            yield window_sizes(window, batch, index_format, families)


def _columns(plan: TablePlan) -> list[str]:
    """Return the columns that queries filter on; all candidate columns if no query is known."""
    shapes = plan.shapes()
    if not shapes:
        return sorted(plan.candidates.keys() & plan.columns)
    return plan.asked_columns(shapes)
