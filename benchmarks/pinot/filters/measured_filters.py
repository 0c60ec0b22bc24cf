"""Load generated tables into a real Pinot, and ask every query under every set of indexes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinot.filters.filter_truth import COUNTERS, FORMAT, FilterTruth
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.generated_table import GeneratedTable
from pinot.filters.index_sets import RESORTED_COLUMN, IndexSet, index_sets, resorted_name
from pinot.filters.loaded_table import LoadedTable, apply_indexes, load_table, segment_orders
from pinot.running_pinot import PinotFailed, RunningPinot

RUNS = 3
"""Number of times that a query that may end early is asked of a copy.

Where no segment alone has enough rows, how far Pinot goes depends on when its threads hear of each other.
"""

PROCESSORS = 2
"""Pinot 0.11 gives a query half of them, ten at most; one thread reads the segments one after another."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """``orders``: by copy; ``counters``: by name, query and copy, of each run."""

    orders: list[list[int]]
    counters: dict[str, list[list[list[int]]]]


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
        variants = {each.name: load_table(pinot, each, folder, segments) for each in (table, resorted)}
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
    variants: Mapping[str, LoadedTable],
) -> list[dict[str, Any]]:
    measured: list[_Asked] = []
    for number, index_set in enumerate((*sets, sets[0]), 1):
        print(f"{index_set.table}: set {number} of {len(sets) + 1}: {index_set.name}", file=sys.stderr)
        apply_indexes(pinot, variants[index_set.variant], index_set)
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


def _ask_all(pinot: RunningPinot, queries: Sequence[GeneratedQuery], loaded: LoadedTable) -> _Asked:
    orders = segment_orders(pinot, loaded)
    found: dict[str, list[list[list[int]]]] = {counter: [] for counter in COUNTERS}
    for query in queries:
        copies, runs = (loaded.copies, RUNS) if query.ends_early else (loaded.copies[:1], 1)
        texts = [query.sql.replace(f" FROM {query.table} ", f" FROM {copy.name} ") for copy in copies]
        answers = [[pinot.ask(text) for _ in range(runs)] for text in texts]
        for counter in COUNTERS:
            found[counter].append([[getattr(answer, counter) for answer in each] for each in answers])
    if segment_orders(pinot, loaded) != orders:
        raise PinotFailed(f"{loaded.copies[0].name}: Pinot read the segments in another order later")
    return _Asked(orders, found)


def _item(copies: Sequence[Sequence[int]]) -> int | list[int | list[int]]:
    """Return what the truth keeps of the runs of each copy: as little as tells them."""
    kept = [runs[0] if len(set(runs)) == 1 else sorted(runs) for runs in copies]
    first = kept[0]
    return first if isinstance(first, int) and all(each == first for each in kept) else kept
