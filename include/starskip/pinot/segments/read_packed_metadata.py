"""Read the JSON file of Pinot's metadata collector, or of ours, into COLUMN_SUMS.

The format of Pinot's JsonFileMetaManagerImpl: advice needs the sums in ``col_meta``. Missing figures count as
in the original: no cardinality means no selectivity, no sort order means not sorted, fewer entries than docs
mean one entry a doc. From ``segment_meta`` only the bytes of inverted indexes are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from starskip.errors import SourceError, printable
from starskip.storage.files.open_file import read_small_file
from starskip.storage.files.path_text import path_text
from starskip.storage.schemas import COLUMN_SUMS

LARGEST_FILE_BYTES = 512 << 20
_LARGEST_NUMBER = 1 << 62
_LARGEST_PRODUCT = _LARGEST_NUMBER**2
"""Largest cardinality and number of docs; no float overflows at it."""


def read_packed_metadata(path: str | Path) -> pa.Table:
    """Return COLUMN_SUMS of every table and column in the file.

    Data types, dictionaries and other indexes are not in such a file: every column counts as having a
    dictionary. Raises SourceError naming the file, and the table, column and key that are wrong.
    """
    reader = _Reader(str(path))
    document = reader.document()
    col_meta = reader.mapping(document.get("col_meta"), "col_meta")
    segment_meta = document.get("segment_meta")
    segments = {} if segment_meta is None else reader.mapping(segment_meta, "segment_meta")
    rows: list[dict[str, Any]] = []
    for table, columns in reader.named(col_meta):
        of_table = reader.mapping(segments.get(table, {}), f"segment_meta of {table}")
        for column, sums in reader.named(reader.mapping(columns, f"col_meta of {table}")):
            where = f"col_meta of {table}.{column}"
            figures = reader.mapping(of_table.get(column, {}), f"segment_meta of {table}.{column}")
            rows.extend(_column_rows(reader, table, column, reader.mapping(sums, where), figures))
    return pa.Table.from_pylist([_ZERO | row for row in rows], schema=COLUMN_SUMS)


def _column_rows(
    reader: _Reader, table: str, column: str, sums: Mapping[str, Any], figures: Mapping[str, Any]
) -> list[dict[str, Any]]:
    def number(key: str) -> int | None:
        return reader.number(sums.get(key), f"{key} of {table}.{column}")

    docs, weighted = number("n_totalDocs") or 0, number("w_cardinality")
    segments = max(number("n_segmentCount") or 0, 1)
    entries = max(number("n_totalNumberOfEntries") or 0, docs)
    named = {"table": table, "column": column}
    row = {
        "index": "",
        "segments": segments,
        "rows": docs,
        "entries": entries,
        "rows_of_known_cardinality": docs if weighted is not None else 0,
        "cardinality_times_rows": float(weighted or 0),
        "sorted_segments": min(number("n_isSorted") or 0, segments),
        "dictionary_segments": segments,
        "multi_value_segments": segments if entries > docs else 0,
    }
    found = [named | row]
    if number("n_hasInvertedIndex"):
        sizes = (
            reader.number(
                reader.mapping(figure, f"segment_meta of {table}.{column}").get("invertedIndexSize"),
                f"invertedIndexSize of {table}.{column} in {segment}",
            )
            for segment, figure in figures.items()
        )
        # One byte stands for a size that the file does not hold: there is an index.
        size = max(sum(size or 0 for size in sizes), 1)
        found.append(named | {"index": "inverted_index", "index_bytes": size})
    return found


_ZERO: dict[str, Any] = {
    field.name: "" if pa.types.is_string(field.type) else 0.0 if pa.types.is_floating(field.type) else 0
    for field in COLUMN_SUMS
}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Typed look-ups whose errors name the file."""

    path: str

    def document(self) -> Mapping[str, Any]:
        try:
            document = json.loads(read_small_file(self.path, LARGEST_FILE_BYTES))
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise self.error(f"is no JSON: {printable(str(error), 200)}") from error
        if not isinstance(document, dict) or "col_meta" not in document:
            raise self.error("is no packed metadata: it has no col_meta (make one with collect-metadata)")
        return document

    def mapping(self, value: Any, what: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"{what} is no object")
        return value

    def named(self, items: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the items of tables or columns; a lone surrogate, which JSON can hold, is no name."""
        for name, value in items.items():
            if path_text(name) != name:
                raise self.error(f"{printable(name, 80)} is no name of a table or column")
            yield name, value

    def number(self, value: Any, what: str) -> int | None:
        """Return a whole number, which the original writes as a number or as a text; None if it is absent."""
        if value is None:
            return None
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise self.error(f"{what} is no whole number: {printable(repr(value), 40)}")
        if number <= (_LARGEST_PRODUCT if what.startswith("w_") else _LARGEST_NUMBER):
            return number
        raise self.error(f"{what} is larger than any segment: {printable(str(number), 40)}")

    def error(self, problem: str) -> SourceError:
        return SourceError(f"{self.path}: {problem}", source=self.path)
