"""A generated table in a real Pinot, under several names: loaded, indexed anew, and its segments' order."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pinot.filters.generated_table import GeneratedTable, rows_of, write_csv
from pinot.filters.index_sets import IndexSet
from pinot.running_pinot import PinotFailed, RunningPinot
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_layout import parse_index_map
from starskip.pinot.segments.segment_reader import read_segment_facts

COPIES = 2
"""Number of times that each table is loaded. A query that may end early is asked of every copy.

Which segments it reaches follows from the segments' names (the broker keeps them hashed), and these differ.
"""

# Row 0 of each segment; a query without WHERE would be answered of the first segments alone.
_ORDER_SQL = "SELECT $segmentName FROM {table} WHERE $docId = 0 LIMIT 1000"


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """``copies``: the same table under several names, the first with its own; ``segments`` of each copy.

    ``sorted_columns``: by segment of all copies.
    """

    copies: tuple[GeneratedTable, ...]
    segments: tuple[tuple[str, ...], ...]
    sorted_columns: Mapping[str, frozenset[str]]

    @property
    def document(self) -> dict[str, Any]:
        """Return its description as the truth file keeps it."""
        return {
            "sorted_by": self.copies[0].sorted_column,
            "segments": self.segments[0],
            "segment_rows": [rows_of(rows) for rows in self.copies[0].segments],
        }


def load_table(
    pinot: RunningPinot, table: GeneratedTable, folder: Path, segments: Path, *, copies: int = COPIES
) -> LoadedTable:
    """Load ``copies`` of the table; the first one's tarred segments are kept in ``segments``/TABLE."""
    others = [replace(table, name=f"{table.name}_{number}") for number in range(2, copies + 1)]
    names = [_load_copy(pinot, table, folder, segments)]
    sorted_columns = dict(_sorted_columns(segments, table.name))
    for copy in others:
        names.append(_load_copy(pinot, copy, folder, folder / "copies"))
        sorted_columns |= _sorted_columns(folder / "copies", copy.name)
    return LoadedTable((table, *others), tuple(names), sorted_columns)


def _load_copy(pinot: RunningPinot, table: GeneratedTable, folder: Path, segments: Path) -> tuple[str, ...]:
    print(f"loading {table.name}: {table.rows:,} rows", file=sys.stderr)
    pinot.create_table(table.schema, table.config())
    kept = segments / table.name
    kept.mkdir(parents=True, exist_ok=True)
    names = []
    for number, rows in enumerate(table.segments):
        file = folder / f"{table.name}-{number}.csv"
        write_csv(rows, file)
        names.append(pinot.ingest_csv(table.name, file))
        file.unlink()
        (kept / f"{names[-1]}.tar.gz").write_bytes(pinot.segment_tar(table.name, names[-1]))
    pinot.wait_for_rows(table.name, table.rows)
    return tuple(names)


def apply_indexes(pinot: RunningPinot, loaded: LoadedTable, index_set: IndexSet) -> None:
    """Build the set's indexes and drop other ones; check on the server's disk that it is so."""
    pinot.change_tables([copy.config(index_set.inverted, index_set.ranges) for copy in loaded.copies])
    for copy, names in zip(loaded.copies, loaded.segments, strict=True):
        maps = pinot.index_maps(copy.name)
        if set(maps) != set(names):
            raise PinotFailed(f"{copy.name}: {len(maps)} segments on the server's disk")
        for segment, content in maps.items():
            found = parse_index_map(content)
            wanted = {
                "inverted_index": set(index_set.inverted) - loaded.sorted_columns[segment],
                "range_index": set(index_set.ranges) - loaded.sorted_columns[segment],
            }
            for kind, columns in wanted.items():
                built = {column for column, index in found if index == kind}
                if built != columns:
                    raise PinotFailed(f"{segment}: {kind} on {sorted(built)} instead of {sorted(columns)}")


def _sorted_columns(segments: Path, table: str) -> dict[str, frozenset[str]]:
    """Return each segment's sorted columns: Pinot builds neither index on them."""
    found = {}
    for file in list_segments(segments, [table]):
        facts = read_segment_facts(file)
        found[facts.segment] = frozenset(column.name for column in facts.columns if column.is_sorted)
    return found


def segment_orders(pinot: RunningPinot, loaded: LoadedTable) -> list[list[int]]:
    """Return for each copy the numbers of its segments in the order in which Pinot reads them."""
    found = []
    for copy, names in zip(loaded.copies, loaded.segments, strict=True):
        rows = pinot.ask(_ORDER_SQL.format(table=copy.name)).rows
        found.append([names.index(name) for (name,) in rows])
        if sorted(found[-1]) != list(range(len(names))):
            raise PinotFailed(f"{copy.name}: asked for one row of each segment, Pinot answers {rows}")
    return found
