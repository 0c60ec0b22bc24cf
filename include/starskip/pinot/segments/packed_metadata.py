"""Write facts of segments as the JSON of Pinot's metadata collector: sums by column, figures by segment.

The format of Pinot's CollectMetadataForIndexTuning (tools.tuner, commit 4fea0d4b0af): ``{"col_meta": {table:
{column: sums}}, "segment_meta": {table: {column: {segment file: figures}}}}``, sums as numbers, figures as
texts. The original packs DIMENSION and TIME columns alone and mistakes the inverted index of ``user_id`` for
an index of ``id``; here every column is packed, with its own index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import PurePath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PACKED_COLUMNS = (
    "table",
    "column",
    "source_file",
    "rows",
    "cardinality",
    "entries",
    "is_sorted",
    "index_bytes",
)
"""The columns of TABLE_FACTS that are packed."""

SUM_KEYS = (
    "w_cardinality",
    "n_totalDocs",
    "n_totalNumberOfEntries",
    "n_isSorted",
    "n_hasInvertedIndex",
    "n_segmentCount",
)
"""Sums over segments: cardinality times docs, docs, entries, and counts of segments."""

FIGURE_KEYS = ("cardinality", "totalDocs", "totalNumberOfEntries", "isSorted", "invertedIndexSize")

_UNKNOWN_CARDINALITY = 1
"""The original's value for a cardinality that the segment lacks: a column without selectivity."""


def packed_metadata(facts: pa.Table) -> Iterator[str]:
    """Yield the JSON text of TABLE_FACTS rows (at least PACKED_COLUMNS), in pieces.

    The same facts in any order give the same text.
    """
    ordered = facts.sort_by([(name, "ascending") for name in ("table", "column", "source_file")])
    yield '{"col_meta":{'
    yield from _tables(ordered, _sums(ordered))
    yield '},\n"segment_meta":{'
    yield from _tables(ordered, _figures(ordered))
    yield "}}\n"


def _tables(ordered: pa.Table, bodies: Sequence[str]) -> Iterator[str]:
    """Yield ``table: {column: body, …}`` for the columns of ``ordered``, one body each."""
    tables, columns = ordered["table"].to_pylist(), ordered["column"].to_pylist()
    starts = _column_starts(ordered)[:-1].tolist()
    keyed = [(tables[start], columns[start], body) for start, body in zip(starts, bodies, strict=True)]
    for number, (table, of_table) in enumerate(groupby(keyed, key=lambda item: item[0])):
        yield ("," if number else "") + f"\n{json.dumps(table)}:{{"
        yield ",".join(f"\n{json.dumps(column)}:{{{body}}}" for _, column, body in of_table)
        yield "}"


def _sums(ordered: pa.Table) -> list[str]:
    starts = _column_starts(ordered)
    rows = ordered["rows"].to_numpy().astype(object)
    cardinality = _cardinality(ordered).to_numpy().astype(object)
    has_inverted = (_inverted_bytes(ordered) > 0).astype(np.int64)
    # Objects are Python's whole numbers: cardinality times docs may pass 64 bits.
    by_key = (
        cardinality * rows,
        rows,
        ordered["entries"].to_numpy().astype(object),
        ordered["is_sorted"].to_numpy().astype(np.int64),
        has_inverted,
        np.ones(len(ordered), dtype=np.int64),
    )
    summed = [[int(values[start:end].sum()) for start, end in pairwise(starts)] for values in by_key]
    return [
        ",".join(f'"{key}":{value}' for key, value in zip(SUM_KEYS, values, strict=True))
        for values in zip(*summed, strict=True)
    ]


def _figures(ordered: pa.Table) -> list[str]:
    names = [json.dumps(PurePath(path).name) for path in ordered["source_file"].to_pylist()]
    by_key = (
        _cardinality(ordered),
        ordered["rows"],
        ordered["entries"],
        ordered["is_sorted"],
        pa.array(_inverted_bytes(ordered)),
    )
    pieces: list[object] = [pa.array(names, pa.string())]
    for number, (key, values) in enumerate(zip(FIGURE_KEYS, by_key, strict=True)):
        pieces += [(":{" if number == 0 else ",") + f'"{key}":"', pc.cast(values, pa.string()), '"']
    entries = pc.binary_join_element_wise(*pieces, "}", "").to_pylist()
    starts = _column_starts(ordered).tolist()
    return [",".join(entries[start:end]) for start, end in pairwise(starts)]


def _cardinality(ordered: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(ordered["cardinality"], _UNKNOWN_CARDINALITY)


def _inverted_bytes(ordered: pa.Table) -> np.ndarray:
    sizes = (dict(items).get("inverted_index", 0) for items in ordered["index_bytes"].to_pylist())
    return np.fromiter(sizes, dtype=np.int64, count=len(ordered))


def _column_starts(ordered: pa.Table) -> np.ndarray:
    """Return where each column's rows start in the sorted facts, with the number of rows as the last item."""
    changed = np.zeros(len(ordered), dtype=bool)
    for name in ("table", "column"):
        codes = pc.rank(ordered[name], tiebreaker="dense").to_numpy()
        changed |= np.append(True, codes[1:] != codes[:-1])[: len(ordered)]
    return np.append(np.flatnonzero(changed), len(ordered))
