"""Count query records by shape: the map and the merge of stage score_votes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.cut_texts import CUT
from starskip.advisor.workload.fold_shapes import FOLDED
from starskip.advisor.workload.key_sums import BusyKeys, keys_of
from starskip.advisor.workload.known_names import NO_NAMES, KnownNames
from starskip.advisor.workload.shape_workload import (
    UNPARSED,
    WHOLLY_REDACTED,
    Instance,
    ShapeWorkload,
    workload_shapes,
    workload_table,
)
from starskip.advisor.workload.sql_text import sql_text
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import NormalizedSql, normalize_sql
from starskip.sql.parsed_query import MAX_SKELETON_CHARACTERS
from starskip.sql.query_shape import QueryShape, parsed_shape
from starskip.sql.redacted_text import is_wholly_redacted, mark_redacted
from starskip.sql.resolved_skeleton import QueryNames, resolved_skeleton

QUERY_COLUMNS = (
    "table",
    "query_text",
    "latency_ms",
    "rows_scanned",
    "segments_queried",
    "segments_processed",
    "segments_matched",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "exceptions",
    "weight",
    "query_text_length",
    "line_format",
)
_FOLDED: tuple[NormalizedSql, QueryShape | str] = NormalizedSql(FOLDED, ()), FOLDED
_CUT: tuple[NormalizedSql, QueryShape | str] = NormalizedSql(CUT, ()), UNPARSED + CUT
_MAX_LITERAL_CHARACTERS = 100_000
"""Literals beyond this stay out of the sample: one IN list must not outgrow all other shapes."""

Workload = dict[tuple[str, str], ShapeWorkload]


def count_shapes(
    batches: Iterable[pa.RecordBatch],
    *,
    instances_per_shape: int,
    busy: Mapping[str, BusyKeys] | None = None,
    cut_lengths: Collection[int] = (),
    names: KnownNames = NO_NAMES,
) -> Iterator[pa.RecordBatch]:
    """Count query records (schema QUERIES) by table and shape; one WORKLOAD row each at the end.

    Holds one entry a distinct shape, so memory does not grow with the number of records. ``busy``: for its
    tables, only texts of these keys are parsed; all other texts count as one shape, FOLDED. Texts of one of
    ``cut_lengths`` are not understood. ``names``: what the names in texts mean; the skeletons have the
    tables' own.
    """
    workload: Workload = {}
    names_of = cache(names.of)
    for batch in batches:
        is_parsed_row = _parsed_rows(batch, busy or {})
        records = zip(*(batch.column(name).to_pylist() for name in QUERY_COLUMNS), strict=True)
        for number, record in enumerate(records):
            if record[-2] in cut_lengths:
                recognised = _CUT
            elif is_parsed_row is not None and not is_parsed_row[number]:
                recognised = _FOLDED
            else:
                recognised = _recognised(record[1] or "", record[-1], names_of(record[0], record[-1]))
            _count(workload, record, recognised, instances_per_shape)
    yield from _batches(workload, instances_per_shape)


def merge_shapes(batches: Iterable[pa.RecordBatch], *, instances_per_shape: int) -> Iterator[pa.RecordBatch]:
    """Merge WORKLOAD rows of the same table and shape; associative, and blind to order."""
    merged: Workload = {}
    for batch in batches:
        for shape in workload_shapes(batch):
            known = merged.setdefault((shape.table, shape.shape_id), shape)
            if known is not shape:
                known.merge(shape, instances_per_shape)
    yield from _batches(merged, instances_per_shape)


def _batches(workload: Workload, instances_per_shape: int) -> Iterator[pa.RecordBatch]:
    for shape in workload.values():
        shape.prune(instances_per_shape)
    ordered = [workload[key] for key in sorted(workload)]
    yield from workload_table(ordered).to_batches()


def _parsed_rows(batch: pa.RecordBatch, busy: Mapping[str, BusyKeys]) -> npt.NDArray[np.bool_] | None:
    """Return for each record whether its text is to be parsed; None if all are."""
    tables = batch.column("table")
    is_asked = pc.is_in(tables, value_set=pa.array(sorted(busy), pa.string())).to_numpy(zero_copy_only=False)
    if not is_asked.any():
        return None
    keys = keys_of(batch)
    parsed: npt.NDArray[np.bool_] = ~is_asked
    for table in pc.unique(tables.filter(pa.array(is_asked))).to_pylist():
        parsed |= pc.equal(tables, table).to_numpy(zero_copy_only=False) & busy[table].includes(keys)
    return parsed


def _count(
    workload: Workload, record: tuple[Any, ...], recognised: tuple[NormalizedSql, QueryShape | str], cap: int
) -> None:
    table, _, latency_ms, rows_scanned, *segments, entries, post, exceptions, weight, _, _ = record
    queried, processed, matched = (each or 0 for each in segments)
    cut, shape = recognised
    shape_id = shape if isinstance(shape, str) else shape.shape_id
    counts = workload.get((table, shape_id))
    if counts is None:
        named = (shape_id, shape_id) if isinstance(shape, str) else (shape.text, cut.skeleton)
        counts = workload[table, shape_id] = ShapeWorkload(table, shape_id, *named)
    elif not isinstance(shape, str) and cut.skeleton < counts.skeleton:
        # As in ShapeWorkload.merge: of two texts of one shape the smaller one stays, whichever came first.
        counts.skeleton, counts.text = cut.skeleton, shape.text
    entries = entries or 0
    counts.queries += 1
    counts.entries_scanned_in_filter += entries
    counts.entries_scanned_in_filter_squared += float(entries) * entries
    counts.entries_scanned_post_filter += post or 0
    counts.latency_ms_sum += latency_ms or 0
    counts.segments_queried += queried
    counts.segments_processed += processed
    counts.segments_matched += matched
    unlogged = _unlogged(weight, entries)
    if any(unlogged):
        counts.unlogged_queries += unlogged[0]
        counts.unlogged_entries_scanned_in_filter += unlogged[1]
        counts.unlogged_entries_scanned_in_filter_squared += unlogged[2]
        counts.unlogged_latency_ms_sum += unlogged[0] * (latency_ms or 0)
    if exceptions:
        counts.failed += 1
        counts.failed_entries_scanned_in_filter += entries
    elif (
        not isinstance(shape, str)
        and sum(len(v) for vs in cut.literals for v in vs) < _MAX_LITERAL_CHARACTERS
    ):
        squared = float(entries) * entries
        instance = Instance(1, entries, squared, rows_scanned or 0, matched, *unlogged)
        instance.entries_scanned_post_filter = post or 0
        if latency_ms is not None:
            instance.timed_queries, instance.latency_ms_sum = 1, latency_ms
            instance.latency_ms_squared = float(latency_ms) ** 2
            instance.least_latency_ms = float(latency_ms)
        literals = mark_redacted(cut.literals, f"{rows_scanned or 0}/{entries}/{matched}")
        counts.add_instance(literals, instance, cap)


def _unlogged(weight: float, entries: int) -> tuple[float, float, float]:
    """Return queries, entries and entries squared that a record of ``weight`` stands for beside itself."""
    if weight == 1.0:
        return 0.0, 0.0, 0.0
    return weight - 1.0, (weight - 1.0) * entries, (weight * weight - 1.0) * entries * entries


def _recognised(
    text: str, line_format: str | None, names: QueryNames
) -> tuple[NormalizedSql, QueryShape | str]:
    if is_wholly_redacted(text):
        return NormalizedSql(text.strip(), ()), UNPARSED + WHOLLY_REDACTED
    cut = normalize_sql(sql_text(text, line_format))
    if len(cut.skeleton) > MAX_SKELETON_CHARACTERS:
        # Refused before it is kept: thousands of such texts in the cache would fill the memory.
        return cut, UNPARSED + "too_long"
    skeleton, slots, shape = _resolved(cut.skeleton, names)
    literals = cut.literals if slots is None else tuple(cut.literals[slot] for slot in slots)
    return NormalizedSql(skeleton, literals), shape


@lru_cache(maxsize=20_000)
def _resolved(skeleton: str, names: QueryNames) -> tuple[str, tuple[int, ...] | None, QueryShape | str]:
    """Resolve and parse each distinct skeleton once; return the unparsed shape_id if that fails."""
    try:
        resolved, slots = resolved_skeleton(skeleton, names)
        return resolved, slots, parsed_shape(resolved)
    except UnsupportedQuery as error:
        return skeleton, None, UNPARSED + error.reason
