"""Load generated tables into a real Pinot, and ask every query under every set of indexes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pinot.filters.filter_truth import COUNTERS, FORMAT, FilterTruth
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.generated_table import GeneratedTable, rows_of, write_csv
from pinot.filters.index_sets import RESORTED_COLUMN, IndexSet, index_sets, resorted_name
from pinot.running_pinot import PinotFailed, RunningPinot
from starskip.pinot.segments.index_map import parse_index_map
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts

COPIES = 2
"""How often each table is loaded. A query that may end early is asked of every copy.

Which segments it reaches follows from the segments' names (the broker keeps them hashed), and these differ.
"""

RUNS = 3
"""How often a query that may end early is asked of a copy.

Where no segment alone has enough rows, how far Pinot goes depends on when its threads hear of each other.
"""

PROCESSORS = 2
"""Pinot 0.11 gives a query half of them, ten at most; one thread reads the segments one after another."""

# Row 0 of each segment; a query without WHERE would be answered of the first segments alone.
_ORDER_SQL = "SELECT $segmentName FROM {table} WHERE $docId = 0 LIMIT 1000"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """``copies``: the same table under several names, the first with its own; ``segments`` of each copy.

    ``sorted_columns``: by segment of all copies.
    """

    copies: tuple[GeneratedTable, ...]
    segments: tuple[tuple[str, ...], ...]
    sorted_columns: Mapping[str, frozenset[str]]

    @property
    def document(self) -> dict[str, Any]:
        """What the truth says of it."""
        return {
            "sorted_by": self.copies[0].sorted_column,
            "segments": self.segments[0],
            "segment_rows": [rows_of(rows) for rows in self.copies[0].segments],
        }


@dataclass(frozen=True, slots=True)
class _Asked:
    """``orders``: by copy; ``counters``: by name, query and copy, of each run."""

    orders: list[list[int]]
    counters: dict[str, list[list[list[int]]]]


def _load(pinot: RunningPinot, table: GeneratedTable, folder: Path, segments: Path) -> _Loaded:
    """Load all copies; the first one's tarred segments are kept in ``segments``/TABLE."""
    copies = [replace(table, name=f"{table.name}_{number}") for number in range(2, COPIES + 1)]
    names = [_load_copy(pinot, table, folder, segments)]
    sorted_columns = dict(_sorted_columns(segments, table.name))
    for copy in copies:
        names.append(_load_copy(pinot, copy, folder, folder / "copies"))
        sorted_columns |= _sorted_columns(folder / "copies", copy.name)
    return _Loaded((table, *copies), tuple(names), sorted_columns)


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


def measure_filters(
    pinot: RunningPinot,
    tables: Sequence[tuple[GeneratedTable, int]],
    queries: Sequence[GeneratedQuery],
    folder: Path,
    segments: Path,
) -> FilterTruth:
    """Measure all sets of ``tables`` (each with its generator's seed); without index twice, first and last.

    ``pinot`` must see PROCESSORS processors. Queries that it refuses are left out, and told.
    """
    described: dict[str, Any] = {}
    sets: list[dict[str, Any]] = []
    kept: list[GeneratedQuery] = []
    for table, seed in tables:
        resorted = table.sorted_by(RESORTED_COLUMN, resorted_name(table.name))
        variants = {each.name: _load(pinot, each, folder, segments) for each in (table, resorted)}
        asked = _accepted(pinot, [query for query in queries if query.table == table.name])
        described[table.name] = {
            "seed": seed,
            "rows": table.rows,
            "rows_sha256": table.checksum,
            "variants": {name: loaded.document for name, loaded in variants.items()},
        }
        kept += asked
        sets += _measured_sets(pinot, asked, index_sets(table), variants)
    return FilterTruth(
        {
            "format": FORMAT,
            "pinot": "0.11.0",
            "tables": described,
            "queries": [
                {"table": q.table, "sql": q.sql, "kinds": q.kinds, "ends_early": q.ends_early} for q in kept
            ],
            "sets": sets,
        }
    )


def _measured_sets(
    pinot: RunningPinot,
    queries: Sequence[GeneratedQuery],
    sets: Sequence[IndexSet],
    variants: Mapping[str, _Loaded],
) -> list[dict[str, Any]]:
    measured: list[_Asked] = []
    for number, index_set in enumerate((*sets, sets[0]), 1):
        print(f"{index_set.table}: set {number} of {len(sets) + 1}: {index_set.name}", file=sys.stderr)
        _apply(pinot, variants[index_set.variant], index_set)
        measured.append(_ask_all(pinot, queries, variants[index_set.variant]))
    again = measured.pop()
    for counter in COUNTERS:
        for copies, more in zip(measured[0].counters[counter], again.counters[counter], strict=True):
            for runs, later in zip(copies, more, strict=True):
                runs += later
    return [
        {
            "table": each.table,
            "variant": each.variant,
            "kind": each.kind,
            "inverted": each.inverted,
            "ranges": each.ranges,
            "orders": asked.orders,
            **{counter: [_item(copies) for copies in asked.counters[counter]] for counter in COUNTERS},
        }
        for each, asked in zip(sets, measured, strict=True)
    ]


def _accepted(pinot: RunningPinot, queries: Sequence[GeneratedQuery]) -> list[GeneratedQuery]:
    accepted = []
    for query in queries:
        try:
            pinot.ask(query.sql)
        except PinotFailed as error:
            print(f"left out: {str(error)[:400]}", file=sys.stderr)
        else:
            accepted.append(query)
    print(f"{len(queries) - len(accepted)} of {len(queries)} queries left out", file=sys.stderr)
    return accepted


def _apply(pinot: RunningPinot, loaded: _Loaded, index_set: IndexSet) -> None:
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


def _ask_all(pinot: RunningPinot, queries: Sequence[GeneratedQuery], loaded: _Loaded) -> _Asked:
    orders = _orders(pinot, loaded)
    found: dict[str, list[list[list[int]]]] = {counter: [] for counter in COUNTERS}
    for query in queries:
        copies, runs = (loaded.copies, RUNS) if query.ends_early else (loaded.copies[:1], 1)
        texts = [query.sql.replace(f" FROM {query.table} ", f" FROM {copy.name} ") for copy in copies]
        answers = [[pinot.ask(text) for _ in range(runs)] for text in texts]
        for counter in COUNTERS:
            found[counter].append([[getattr(answer, counter) for answer in each] for each in answers])
    if _orders(pinot, loaded) != orders:
        raise PinotFailed(f"{loaded.copies[0].name}: Pinot read the segments in another order later")
    return _Asked(orders, found)


def _orders(pinot: RunningPinot, loaded: _Loaded) -> list[list[int]]:
    """Return for each copy the numbers of its segments in the order in which Pinot reads them."""
    found = []
    for copy, names in zip(loaded.copies, loaded.segments, strict=True):
        rows = pinot.ask(_ORDER_SQL.format(table=copy.name)).rows
        found.append([names.index(name) for (name,) in rows])
        if sorted(found[-1]) != list(range(len(names))):
            raise PinotFailed(f"{copy.name}: asked for one row of each segment, Pinot answers {rows}")
    return found


def _item(copies: Sequence[Sequence[int]]) -> int | list[int | list[int]]:
    """Return what the truth keeps of the runs of each copy: as little as tells them."""
    kept = [runs[0] if len(set(runs)) == 1 else sorted(runs) for runs in copies]
    first = kept[0]
    return first if isinstance(first, int) and all(each == first for each in kept) else kept
