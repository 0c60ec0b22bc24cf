"""What a real Pinot read for generated queries under sets of indexes, as a file keeps it.

JSON, gzipped if the name ends with .gz. ``tables``: by name, the generator's seed, rows and checksum, the
segments of each variant. ``queries``: ``table``, ``sql``, ``kinds``, ``ends_early``. ``sets``: ``table``,
``variant``, ``inverted``, ``ranges``, and by counter one item for each of the table's queries in their
order: a number, or all runs, in rising order, where they differ.
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

FORMAT = 1
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
    """Entries of one query under one set: the least and the greatest of all runs, and the mean."""

    query: GeneratedQuery
    index_set: IndexSet
    entries_least: int
    entries_greatest: int
    entries_mean: float

    @property
    def is_stable(self) -> bool:
        """Whether every run read as much."""
        return self.entries_least == self.entries_greatest


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

    def pairs(self) -> Iterator[Measured]:
        """Return each query under each set of its table."""
        queries = {table: self.queries(table) for table in self.document["tables"]}
        for each in self.document["sets"]:
            index_set = IndexSet(
                each["table"], each["variant"], tuple(each["inverted"]), tuple(each["ranges"])
            )
            for query, entries in zip(queries[each["table"]], each["entries_in_filter"], strict=True):
                runs = entries if isinstance(entries, list) else [entries]
                yield Measured(query, index_set, min(runs), max(runs), sum(runs) / len(runs))


def read_truth(file: Path) -> FilterTruth:
    """Read a file that ``write_truth`` wrote; raises ValueError for another one."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text:
        try:
            document = json.load(text)
        except ValueError as error:
            raise ValueError(f"{file}: no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{file}: no measured filters of format {FORMAT}")
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
