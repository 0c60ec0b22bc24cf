"""Bytes that an index would take in all segments of its table.

Every segment's metadata gives a size as if values were spread evenly; the rows of some segments give the true
size. Their ratio corrects the sum of the metadata's sizes: the ratio estimator of survey sampling, exact
where every segment is read whole. Nothing in it is fitted to anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.families.family import Family, StoredColumns, StoredSizes
from starskip.advisor.families.index import Index
from starskip.pinot.index_sizes.index_format import MAGIC_BYTES, IndexFormat
from starskip.storage.schemas import INDEX_SIZES
from starskip.tables.row_window import RowWindow

_KEYS = ["table", "kind", "column"]
_RAW_BITS = {"INT": 32, "LONG": 64, "FLOAT": 32, "DOUBLE": 64, "TIMESTAMP": 64}
_WHOLE_NUMBER = "^-?[0-9]{1,18}$"


def metadata_sizes(
    facts: pa.RecordBatch, index_format: IndexFormat, families: Sequence[Family] = BUILT_IN
) -> pa.RecordBatch:
    """Return INDEX_SIZES of TABLE_FACTS: a row for each segment, column and family that sizes its indexes.

    Columns without a dictionary are left out unless they hold one number a row, or the family prunes by them.
    """
    is_known = pc.fill_null(pc.greater(facts.column("cardinality"), 0), False)
    is_coded = pc.and_(facts.column("has_dictionary"), pc.greater(facts.column("cardinality"), 0))
    is_number = pc.is_in(facts.column("data_type"), value_set=pa.array(list(_RAW_BITS)))
    is_raw = pc.and_(
        pc.invert(facts.column("has_dictionary")), pc.and_(is_number, facts.column("is_single_value"))
    )
    kept = facts.filter(pc.or_(pc.fill_null(is_coded, False), is_raw))
    pruned_by = facts.filter(pc.and_(pc.invert(facts.column("has_dictionary")), is_known))
    batches = []
    for family in families:
        if family.path is not None and family.path.sizes is not None:
            of_family = kept if family.path.prunes is None else pruned_by
            sizes = family.path.sizes(_stored_columns(of_family), index_format)
            batches.append(_rows(of_family, family.name, sizes))
    return pa.concat_batches(batches)


def _stored_columns(facts: pa.RecordBatch) -> StoredColumns:
    is_coded = _flags(facts, "has_dictionary")
    rows = np.maximum(_numbers(facts, "rows"), 1)
    is_v3 = pc.equal(facts.column("version"), "v3").to_numpy(zero_copy_only=False)
    is_text = ~np.isin(facts.column("data_type").to_pylist(), list(_RAW_BITS))
    return StoredColumns(
        cardinality=np.where(is_coded | is_text, _numbers(facts, "cardinality"), _raw_values(facts)),
        entries=np.maximum(_numbers(facts, "entries"), rows),
        rows=rows,
        has_dictionary=is_coded,
        is_sorted=_flags(facts, "is_sorted"),
        is_single_value=_flags(facts, "is_single_value"),
        magic_bytes=np.where(is_v3, MAGIC_BYTES, 0),
        index_bytes=partial(_index_bytes, facts),
    )


def window_sizes(
    window: RowWindow,
    facts: pa.RecordBatch,
    index_format: IndexFormat,
    families: Sequence[Family] = BUILT_IN,
) -> pa.RecordBatch:
    """Return INDEX_SIZES rows of the window's columns; ``facts``: TABLE_FACTS rows of its segment.

    Only the sums over sampled segments are filled in.
    """
    uniform = metadata_sizes(facts, index_format, families)
    sizers = {family.name: family.path.window_bytes for family in families if family.path is not None}
    magic = MAGIC_BYTES if facts.num_rows and facts.column("version")[0].as_py() == "v3" else 0
    rows = []
    for row in uniform.to_pylist():
        column = window.columns.get(row["column"])
        sizer = sizers[row["kind"]]
        if column is None or sizer is None or not row["uniform_bytes"]:
            continue
        size = sizer(column, window.rows, window.segment_rows, index_format)
        if size is None:
            continue
        rows.append(
            {
                **{key: row[key] for key in _KEYS},
                **{"segments": 0, "known_bytes": 0.0, "uniform_bytes": 0.0, "sampled_segments": 1},
                "sampled_uniform_bytes": row["uniform_bytes"],
                "sampled_bytes": size + magic,
            }
        )
    return pa.RecordBatch.from_pylist(rows, INDEX_SIZES)


def merge_index_sizes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield INDEX_SIZES with one row for each index; associative."""
    rows = pa.Table.from_batches(batches, INDEX_SIZES)
    sums = [name for name in INDEX_SIZES.names if name not in _KEYS]
    # Threads would add floats in the order in which they come.
    grouped = rows.group_by(_KEYS, use_threads=False).aggregate([(name, "sum") for name in sums])
    merged = grouped.rename_columns([name.removesuffix("_sum") for name in grouped.column_names])
    ordered = merged.select(INDEX_SIZES.names).cast(INDEX_SIZES).sort_by([(n, "ascending") for n in _KEYS])
    yield from ordered.to_batches()


def sizes_of(rows: pa.Table) -> dict[Index, int]:
    """Return the bytes of every index in the merged INDEX_SIZES of one table.

    For a sort order: the bytes that it adds to the column it sorts, 0 where it saves bytes. Its effect on the
    indexes of other columns is not known.
    """
    return {
        Index(row["kind"], row["column"]): max(round(_size(row)), 0)
        for row in rows.to_pylist()
        if row["segments"]
    }


def _size(row: dict[str, float]) -> float:
    sampled = row["sampled_uniform_bytes"]
    return row["known_bytes"] + row["uniform_bytes"] * (row["sampled_bytes"] / sampled if sampled else 1.0)


def _rows(facts: pa.RecordBatch, family: str, sizes: StoredSizes) -> pa.RecordBatch:
    nothing = np.zeros(facts.num_rows)
    columns = {
        "table": facts.column("table"),
        "kind": pa.array([family] * facts.num_rows, pa.string()),
        "column": facts.column("column"),
        "segments": pa.array(sizes.applies.astype(np.int64)),
        "known_bytes": pa.array(sizes.known_bytes.astype(np.float64)),
        "uniform_bytes": pa.array(sizes.uniform_bytes.astype(np.float64)),
        "sampled_segments": pa.array(nothing.astype(np.int64)),
        "sampled_uniform_bytes": pa.array(nothing),
        "sampled_bytes": pa.array(nothing),
    }
    return pa.record_batch(columns, schema=INDEX_SIZES)


def _numbers(facts: pa.RecordBatch, name: str) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = facts.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _flags(facts: pa.RecordBatch, name: str) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = facts.column(name).to_numpy(zero_copy_only=False)
    return flags


def _raw_values(facts: pa.RecordBatch) -> npt.NDArray[np.float64]:
    """Return how many values lie between the least and the greatest; if unknown, how many the type has."""
    bits = np.array([_RAW_BITS.get(name, 0) for name in facts.column("data_type").to_pylist()], dtype=float)
    bounds = []
    for name in ("min_value", "max_value"):
        texts = facts.column(name)
        is_whole = pc.fill_null(pc.match_substring_regex(texts, _WHOLE_NUMBER), False)
        numbers = pc.if_else(is_whole, texts, None).cast(pa.int64()).cast(pa.float64())
        bounds.append(numbers.to_numpy(zero_copy_only=False))
    span = bounds[1] - bounds[0] + 1
    is_float = pc.is_in(facts.column("data_type"), value_set=pa.array(["FLOAT", "DOUBLE"]))
    is_known = (span >= 1) & ~is_float.to_numpy(zero_copy_only=False)
    return np.where(is_known, np.minimum(span, 2.0**bits), 2.0**bits)


def _index_bytes(facts: pa.RecordBatch, index_id: str) -> npt.NDArray[np.float64]:
    sizes = pc.fill_null(pc.map_lookup(facts.column("index_bytes"), index_id, "first"), 0)
    numbers: npt.NDArray[np.float64] = sizes.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers
