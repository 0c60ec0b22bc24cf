"""Entries that a real Pinot read for generated queries under sets of indexes, kept in a file.

JSON, gzipped if the name ends with .gz. ``tables``: by name, the generator's seed, rows and checksum, the
segments of each variant. ``queries``: ``table``, ``sql``, ``kinds``, ``ends_early``. ``sets``: ``table``,
``variant``, ``inverted``, ``ranges``, ``orders`` (for each loaded copy of the variant the numbers of its
segments in the order in which Pinot read them), and by counter one item for each of the table's queries in
their order: a number, or where runs differ an item for each copy: a number, or all runs, in rising order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.index_sets import IndexSet

FORMAT = 2
COUNTERS = (
    "entries_in_filter",
    "entries_post_filter",
    "documents_scanned",
    "segments_queried",
    "segments_processed",
    "segments_matched",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Entries of one query under one set.

    ``runs``: of each copy of the table that was asked. ``orders``: for each, the segments' numbers in the
    order in which Pinot read them; empty for a query that always reads all of them.
    """

    query: GeneratedQuery
    index_set: IndexSet
    runs: tuple[tuple[int, ...], ...]
    orders: tuple[tuple[int, ...], ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the copies' means."""
        return sum(sum(each) / len(each) for each in self.runs) / len(self.runs)

    @property
    def is_stable(self) -> bool:
        """Return whether every run of a copy read as much; copies may differ, as their orders do."""
        return all(len(set(each)) == 1 for each in self.runs)


@dataclass(frozen=True, slots=True)
class FilterTruth:
    """``document``: the whole file; ``queries`` and ``sets`` of it by table."""

    document: dict[str, Any]

    def queries(self, table: str) -> list[GeneratedQuery]:
        """Return the queries on a table, in the order of the counters."""
        return [
            GeneratedQuery(each["table"], each["sql"], tuple(each["kinds"]))
            for each in self.document["queries"]
            if each["table"] == table
        ]

    def segments(self, variant: str) -> list[str]:
        """Return the names of a variant's segments, by number."""
        tables = self.document["tables"].values()
        (found,) = (each["variants"][variant]["segments"] for each in tables if variant in each["variants"])
        return list(found)

    def pairs(self) -> Iterator[Measured]:
        """Return each query under each set of its table."""
        queries = {table: self.queries(table) for table in self.document["tables"]}
        for each in self.document["sets"]:
            index_set = IndexSet(
                each["table"], each["variant"], tuple(each["inverted"]), tuple(each["ranges"])
            )
            orders = tuple(tuple(order) for order in each["orders"])
            for query, entries in zip(queries[each["table"]], each["entries_in_filter"], strict=True):
                copies = len(orders) if query.ends_early else 1
                by_copy = entries if isinstance(entries, list) else [entries] * copies
                runs = tuple(tuple(item) if isinstance(item, list) else (item,) for item in by_copy)
                yield Measured(query, index_set, runs, orders if query.ends_early else ())


def read_truth(file: Path) -> FilterTruth:
    """Read a file that ``write_truth`` wrote; raises ValueError for another one."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text:
        try:
            document = json.load(text)
        except ValueError as error:
            raise ValueError(f"{file}: no JSON: {error}") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        older = f"; those of format {found} do not tell what this one does: measure them anew"
        raise ValueError(f"{file}: no measured filters of format {FORMAT}{older if found else ''}")
    return FilterTruth(document)


def write_truth(truth: FilterTruth, file: Path) -> None:
    """Write it, one line a query and a set."""
    document = dict(truth.document)
    parts = [
        f'"{key}": {json.dumps(value)}' for key, value in document.items() if key not in ("queries", "sets")
    ]
    for key in ("queries", "sets"):
        lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in document[key])
        parts.append(f'"{key}": [\n{lines}\n]')
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    data = gzip.compress(text.encode(), mtime=0) if file.suffix == ".gz" else text.encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
