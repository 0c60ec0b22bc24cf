"""Estimate the bytes of documents in Parquet: write a sample of simulated documents and weigh it.

The documents have the codes of the simulated tree. An intermediate result is made of as many rows as its
document stands for, taken from a sample of the table's rows that is sorted like the documents: each row lends
its values about once, to a document near its own place. Nothing is fitted to trees that were built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from starskip.advisor.families.star_tree.recommend.combinations import Codes, Keys, combination_keys
from starskip.advisor.families.star_tree.recommend.document_codes import DocumentCodes
from starskip.star_tree.build.document_files import DOCUMENTS_PER_ROW_GROUP, parquet_bytes
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.measures.initial_measure import initial_measure

_BLOCKS = 4
_RUN_DOCUMENTS = 2 * DOCUMENTS_PER_ROW_GROUP
_MOST_DOCUMENTS = 8_192
_SKETCHED_DOCUMENTS = (256, 1_024)
_SKETCHED_ROWS = 250_000
_PAGE_BYTES = 60
"""Bytes of a column chunk beside its values: the header of a page."""


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Rows evenly spread over the table: their codes in the dimensions, and the columns to aggregate."""

    codes: Mapping[str, Codes]
    columns: pa.Table


def documents_bytes(
    documents: DocumentCodes,
    total: float,
    measures: Sequence[Measure],
    rows: SampledRows,
    values: Mapping[str, pa.Array],
    rows_of_base: float,
) -> float:
    """Return the bytes of files with ``total`` documents like ``documents``.

    ``values``: the values of the codes. ``rows_of_base``: rows of the mean base document; the sketch of a
    document with stars is merged from sketches of this many rows.
    """
    if not len(documents) or total <= 0:
        return 0.0
    codes = documents.take(_blocks(len(documents), _RUN_DOCUMENTS))
    columns = {f"code({number})": pa.array(column) for number, column in enumerate(codes.codes)}
    found, of_footer = _weighed(pa.table(columns), list(columns), total)
    for asked, few, most_rows in _groups(documents, measures, rows):
        of_results, of_these_footers = _weighed(
            _results(few, asked, rows, values, most_rows, rows_of_base), [], total
        )
        found += of_results
        of_footer += of_these_footers
    return found + of_footer * ceil(total / DOCUMENTS_PER_ROW_GROUP)


def _groups(
    documents: DocumentCodes, measures: Sequence[Measure], rows: SampledRows
) -> Iterator[tuple[list[Measure], DocumentCodes, int]]:
    """Yield measures, documents whose results are made up, and how many rows the results are made of."""
    mean, available = documents.rows.mean(), rows.columns.num_rows
    of_dimensions = [item for item in measures if item.column in rows.codes]
    if of_dimensions:
        # Neighbours often have the same result.
        is_dear = any(item.kind.is_sketch for item in of_dimensions)
        most = _SKETCHED_DOCUMENTS[1] if is_dear else _RUN_DOCUMENTS
        yield of_dimensions, documents.take(_blocks(len(documents), most)), _SKETCHED_ROWS
    exact = [item for item in measures if item not in of_dimensions and not item.kind.is_sketch]
    if exact:
        count = int(np.clip(available / mean, 512, _MOST_DOCUMENTS))
        yield exact, documents.take(_spread(len(documents), count)), available
    sketches = [item for item in measures if item not in of_dimensions and item.kind.is_sketch]
    if sketches:
        count = int(np.clip(_SKETCHED_ROWS / mean, *_SKETCHED_DOCUMENTS))
        # The same row may lend its values to several documents: the size of a sketch does not show it.
        yield sketches, documents.take(_spread(len(documents), count)), _SKETCHED_ROWS


def _results(
    few: DocumentCodes,
    measures: Sequence[Measure],
    rows: SampledRows,
    values: Mapping[str, pa.Array],
    most_rows: int,
    rows_of_base: float,
) -> pa.Table:
    """Return made up intermediate results of documents."""
    drawn = np.minimum(few.rows, _most_each(few.rows, most_rows))
    ends = np.cumsum(drawn)
    lent = np.empty(int(ends[-1]), np.int64)
    # Documents with the same stars are neighbours of the rows in order of the other dimensions.
    for positions, order in _alike(few, rows):
        counts = drawn[positions]
        before = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(before, counts)
        # Neighbours do not share rows: compression would remove equal values.
        first = before * max(len(order) // counts.sum(), 1)
        places = np.repeat(ends[positions] - counts, counts) + within
        lent[places] = order[(np.repeat(first, counts) + within) % len(order)]
    found = {}
    for item in measures:
        if item.column == "*" or (
            item.kind is MeasureKind.COUNT and not rows.columns[item.column].null_count
        ):
            found[item.name] = pa.array(few.rows)
            continue
        column = rows.columns[item.column].combine_chunks().take(pa.array(lent))
        if item.column in rows.codes:
            column = _own_values(list(rows.codes).index(item.column), few, drawn, lent, rows, values)
        pieces = (
            np.ceil(drawn / rows_of_base).astype(np.int64) if item.kind.is_sketch else np.ones_like(drawn)
        )
        results = initial_measure(item, column, len(column)).merged(_piece_starts(drawn, pieces))
        found[item.name] = results.merged(np.cumsum(pieces) - pieces).to_arrow()
    return pa.table(found)


def _piece_starts(counts: Keys, pieces: Keys) -> Keys:
    """Return where runs of ``counts`` start, each cut into as many even ``pieces``."""
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(np.cumsum(counts) - counts, pieces)
    starts += within * np.repeat(counts, pieces) // np.repeat(pieces, pieces)
    return starts


def _own_values(
    dimension: int,
    documents: DocumentCodes,
    drawn: Keys,
    lent: Keys,
    rows: SampledRows,
    values: Mapping[str, pa.Array],
) -> pa.Array:
    """Return the values of a measure's column that is a dimension too: the document's own, if any."""
    name = list(rows.codes)[dimension]
    own = np.repeat(documents.codes[dimension], drawn)
    codes = np.where(own <= len(values[name]), own, rows.codes[name][lent])
    return pc.take(values[name], pa.array(codes, mask=codes == len(values[name])))


def _alike(documents: DocumentCodes, rows: SampledRows) -> Iterator[tuple[Keys, Keys]]:
    """Yield positions of documents with stars in the same dimensions, and the rows in their order."""
    columns = list(rows.codes.values())
    # The star's code is beyond every value's, null's included.
    stars = np.array(
        [codes > column.max(initial=0) for codes, column in zip(documents.codes, columns, strict=True)]
    )
    weights = 1 << np.arange(len(columns))
    patterns = weights @ stars
    for pattern in np.unique(patterns):
        concrete = [column for number, column in enumerate(columns) if not pattern >> number & 1]
        order = (
            np.argsort(combination_keys(concrete), kind="stable") if concrete else np.arange(len(columns[0]))
        )
        yield np.flatnonzero(patterns == pattern), order


def _most_each(rows_of_documents: Keys, most_rows: int) -> int:
    """Return how many rows a document may have for all together to have no more than ``most_rows``."""
    ordered = np.sort(rows_of_documents)
    with_limit = np.cumsum(ordered) + ordered * np.arange(len(ordered) - 1, -1, -1)
    if with_limit[-1] <= most_rows:
        return int(ordered[-1])
    position = int(np.searchsorted(with_limit, most_rows))
    before = int(ordered[:position].sum())
    return max((most_rows - before) // (len(ordered) - position), 1)


def _blocks(length: int, most: int) -> Keys:
    """Return positions of runs at even distances: neighbours decide how well a file is compressed."""
    if length <= most:
        return np.arange(length)
    size = most // _BLOCKS
    starts = np.linspace(0, length - size, _BLOCKS).astype(np.int64)
    return np.unique(starts[:, None] + np.arange(size))


def _spread(length: int, count: int) -> Keys:
    """Return ``count`` positions at even distances, or all."""
    return np.linspace(0, length - 1, min(count, length)).astype(np.int64)


def _weighed(sample: pa.Table, with_dictionary: Sequence[str], total: float) -> tuple[float, float]:
    """Return the bytes of ``total`` values of each column like the sample's, and of a group's footer."""
    written = parquet_bytes(sample, with_dictionary)
    metadata = pq.ParquetFile(pa.BufferReader(written)).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = sum(group.column(c).total_compressed_size for group in groups for c in range(group.num_columns))
    of_pages = _PAGE_BYTES * sample.num_columns
    of_values = (stored - of_pages * len(groups)) / sample.num_rows * total
    of_footer = (written.size - stored) / len(groups)
    return of_values + of_pages * ceil(total / DOCUMENTS_PER_ROW_GROUP), of_footer
