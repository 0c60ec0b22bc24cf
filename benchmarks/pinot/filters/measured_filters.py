"""Load generated tables into a real Pinot, and ask every query under every set of indexes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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

RUNS = 3
"""How often queries are asked that may end early."""


def load_table(pinot: RunningPinot, table: GeneratedTable, folder: Path, segments: Path) -> list[str]:
    """Load ``table`` and keep its tarred segments in ``segments``/TABLE; return the segments' names.

    ``folder`` is where the CSV files go.
    """
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
    return names


def measure_filters(
    pinot: RunningPinot,
    tables: Sequence[tuple[GeneratedTable, int]],
    queries: Sequence[GeneratedQuery],
    folder: Path,
    segments: Path,
) -> FilterTruth:
    """Measure all sets of ``tables`` (each with its generator's seed); without index twice, first and last.

    Queries that Pinot refuses are left out, and told.
    """
    described: dict[str, Any] = {}
    sets: list[dict[str, Any]] = []
    kept: list[GeneratedQuery] = []
    for table, seed in tables:
        resorted = table.sorted_by(RESORTED_COLUMN, resorted_name(table.name))
        variants = {each.name: each for each in (table, resorted)}
        described[table.name] = {
            "seed": seed,
            "rows": table.rows,
            "rows_sha256": table.checksum,
            "variants": {
                name: {
                    "sorted_by": each.sorted_column,
                    "segments": load_table(pinot, each, folder, segments),
                    "segment_rows": [rows_of(rows) for rows in each.segments],
                }
                for name, each in variants.items()
            },
        }
        sorted_columns = _sorted_columns(segments, table.name) | _sorted_columns(segments, resorted.name)
        asked = _accepted(pinot, [query for query in queries if query.table == table.name])
        kept += asked
        known = index_sets(table)
        measured: list[dict[str, list[list[int]]]] = []
        for number, index_set in enumerate((*known, known[0])):
            print(f"{table.name}: set {number + 1} of {len(known) + 1}: {index_set.name}", file=sys.stderr)
            _apply(pinot, variants[index_set.variant], index_set, sorted_columns)
            measured.append(_ask_all(pinot, asked, index_set))
        again = measured.pop()
        for counter in COUNTERS:
            for runs, more in zip(measured[0][counter], again[counter], strict=True):
                runs += more
        sets += [
            {
                "table": each.table,
                "variant": each.variant,
                "kind": each.kind,
                "inverted": each.inverted,
                "ranges": each.ranges,
                **{counter: [_ends(runs) for runs in counters[counter]] for counter in COUNTERS},
            }
            for each, counters in zip(known, measured, strict=True)
        ]
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


def _apply(
    pinot: RunningPinot,
    table: GeneratedTable,
    index_set: IndexSet,
    sorted_columns: Mapping[str, frozenset[str]],
) -> None:
    """Build the set's indexes and drop other ones; check on the server's disk that it is so."""
    pinot.change_table(table.config(index_set.inverted, index_set.ranges))
    maps = pinot.index_maps(table.name)
    if len(maps) != len(table.segments):
        raise PinotFailed(f"{table.name}: {len(maps)} segments on the server's disk")
    for segment, content in maps.items():
        found = parse_index_map(content)
        wanted = {
            "inverted_index": set(index_set.inverted) - sorted_columns[segment],
            "range_index": set(index_set.ranges),
        }
        for kind, columns in wanted.items():
            built = {column for column, index in found if index == kind}
            if built != columns:
                raise PinotFailed(f"{segment}: {kind} on {sorted(built)} instead of {sorted(columns)}")


def _sorted_columns(segments: Path, table: str) -> dict[str, frozenset[str]]:
    """Return each segment's sorted columns: Pinot builds no inverted index on them."""
    found = {}
    for file in list_segments(segments, [table]):
        facts = read_segment_facts(file)
        found[facts.segment] = frozenset(column.name for column in facts.columns if column.is_sorted)
    return found


def _ask_all(
    pinot: RunningPinot, queries: Sequence[GeneratedQuery], index_set: IndexSet
) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {counter: [] for counter in COUNTERS}
    for query in queries:
        sql = query.sql.replace(f" FROM {query.table} ", f" FROM {index_set.variant} ")
        answers = [pinot.ask(sql) for _ in range(RUNS if query.ends_early else 1)]
        for counter in COUNTERS:
            found[counter].append([getattr(answer, counter) for answer in answers])
    return found


def _ends(runs: Sequence[int]) -> int | list[int]:
    return runs[0] if len(set(runs)) == 1 else [min(runs), max(runs)]
