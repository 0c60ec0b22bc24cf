"""Aggregate the scans of logged queries of lake tables by the shape of their predicates.

``lake_queries`` is the map over one log, ``merged_lake_queries`` the merge. A shape keeps its predicates with
the smallest hashes: an even sample that is independent of order and grouping of the logs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from starskip.advisor.workload.filter_text import filter_expression
from starskip.advisor.workload.spark_events.sql_execution import SqlExecution, TableScan
from starskip.predicates.data_types import column_types
from starskip.predicates.expression import Expression
from starskip.predicates.expression_json import UNKNOWN, expression_json, expression_of
from starskip.predicates.predicate_shape import predicate_skeleton, shape_id
from starskip.storage.lake_schemas import LAKE_QUERIES

MAX_INSTANCES = 100
"""Distinct predicates of a shape that are kept."""
MAX_SHAPES = 5_000
"""Shapes of a table; the rest, which reads least, becomes one shape without predicates."""
FOLDED = "(other shapes)"
_MAX_INT64 = (1 << 63) - 1
_SUMS = ("duration_ms", "files_read", "bytes_read", "rows_read")


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/*")
_SAME = {"s3a": "s3", "s3n": "s3", "wasbs": "az", "abfss": "az"}


@dataclass(frozen=True, slots=True)
class LakeQuery:
    """A predicate of a table's workload; ``weight``: the number of queries it stands for, as a sample.

    ``times``: the number of queries with exactly this predicate.
    """

    shape_id: str
    predicate: Expression
    weight: float
    description: str
    times: int = 1


def lake_queries(
    executions: Iterable[SqlExecution],
    locations: TableLocations,
    schemas: Mapping[str, str] = MappingProxyType({}),
) -> pa.Table:
    """Return LAKE_QUERIES of the scans of the given tables; other scans are dropped.

    ``schemas``: columns of tables, as ``ReadSchema`` has them, for scans without types.
    """
    shapes: dict[tuple[str, str], _Shape] = {}
    for execution in executions:
        for scan in execution.scans:
            table = locations.table_at(scan.location)
            if table is not None:
                predicate = _predicate(scan, scan.read_schema or schemas.get(table, ""))
                skeleton = predicate_skeleton(predicate)
                shape = shapes.setdefault((table, skeleton), _Shape(table, skeleton))
                shape.add_scan(execution, scan, predicate)
    return _table(shapes.values())


def merged_lake_queries(parts: Iterable[pa.Table]) -> pa.Table:
    """Merge LAKE_QUERIES."""
    shapes: dict[tuple[str, str], _Shape] = {}
    for part in parts:
        for row in part.to_pylist():
            shape = shapes.setdefault((row["table"], row["skeleton"]), _Shape(row["table"], row["skeleton"]))
            shape.add_row(row)
    return _table(shapes.values())


def weighted_queries(row: Mapping[str, Any], most: int) -> Iterator[LakeQuery]:
    """Yield the ``most`` frequent predicates of a shape, with the weight of all its queries.

    ``row``: one of LAKE_QUERIES. Failed queries do not count.
    """
    kept = sorted(row["instances"], key=lambda each: (-each["queries"], each["predicate"]))[:most]
    stand_for = sum(each["queries"] for each in kept)
    for each in kept:
        weight = each["queries"] * row["queries"] / stand_for
        predicate = expression_of(each["predicate"])
        yield LakeQuery(row["shape_id"], predicate, weight, each["description"], each["queries"])


@dataclass(slots=True)
class _Instance:
    description: str
    queries: int = 0
    sums: list[int] = field(default_factory=lambda: [0] * len(_SUMS))

    def add(self, queries: int, sums: Sequence[int], description: str) -> None:
        self.queries += queries
        self.sums = [ours + theirs for ours, theirs in zip(self.sums, sums, strict=True)]
        # The first in order, so that the order of merging does not show.
        self.description = min(filter(None, (self.description, description)), default="")


@dataclass(slots=True)
class _Shape:
    table: str
    skeleton: str
    queries: int = 0
    failed: int = 0
    sums: list[int] = field(default_factory=lambda: [0] * len(_SUMS))
    first_ms: int | None = None
    last_ms: int | None = None
    instances: dict[str, _Instance] = field(default_factory=dict)

    def add_scan(self, execution: SqlExecution, scan: TableScan, predicate: Expression) -> None:
        self._seen(execution.started_ms, execution.started_ms)
        if execution.error:
            self.failed += 1
            return
        found = (execution.duration_ms, scan.files_read or 0, scan.bytes_read or 0, scan.rows_read or 0)
        self._add(1, found)
        self._add_instance(expression_json(predicate), 1, found, execution.description)

    def add_row(self, row: dict[str, Any]) -> None:
        self._seen(row["first_started_ms"], row["last_started_ms"])
        self.failed += row["failed"]
        self._add(row["queries"], [row[name] for name in _SUMS])
        for each in row["instances"]:
            sums = [each[name] for name in _SUMS]
            self._add_instance(each["predicate"], each["queries"], sums, each["description"])

    def fold(self, other: _Shape) -> None:
        self._seen(other.first_ms, other.last_ms)
        self.failed += other.failed
        self._add(other.queries, other.sums)

    def _seen(self, first_ms: int | None, last_ms: int | None) -> None:
        self.first_ms = min((each for each in (self.first_ms, first_ms) if each is not None), default=None)
        self.last_ms = max((each for each in (self.last_ms, last_ms) if each is not None), default=None)

    def _add(self, queries: int, sums: Sequence[int]) -> None:
        self.queries += queries
        self.sums = [ours + theirs for ours, theirs in zip(self.sums, sums, strict=True)]

    def _add_instance(self, predicate: str, queries: int, sums: Sequence[int], description: str) -> None:
        self.instances.setdefault(predicate, _Instance("")).add(queries, sums, description)
        if len(self.instances) > 2 * MAX_INSTANCES:
            self.instances = dict(self.kept())

    def kept(self) -> list[tuple[str, _Instance]]:
        return sorted(self.instances.items(), key=lambda item: predicate_hash(item[0]))[:MAX_INSTANCES]

    def row(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "shape_id": shape_id(self.table, self.skeleton),
            "skeleton": self.skeleton,
            "queries": self.queries,
            "failed": self.failed,
            **_named(self.sums),
            "first_started_ms": self.first_ms,
            "last_started_ms": self.last_ms,
            "instances": [
                {
                    "predicate": predicate,
                    "description": each.description,
                    "queries": each.queries,
                    **_named(each.sums),
                }
                for predicate, each in self.kept()
            ],
        }


def _predicate(scan: TableScan, schema: str) -> Expression:
    if scan.predicate is None:
        return filter_expression(scan.filters, column_types(schema))
    try:
        return expression_of(scan.predicate)
    except ValueError:
        return UNKNOWN


def _named(sums: Sequence[int]) -> dict[str, int]:
    # A log may contain any numbers; their sums must fit the column.
    return {name: min(each, _MAX_INT64) for name, each in zip(_SUMS, sums, strict=True)}


def predicate_hash(predicate: str) -> bytes:
    """Return the hash by which predicates, as JSON, are sampled."""
    return hashlib.blake2b(predicate.encode("utf-8", "replace"), digest_size=16).digest()


def _table(shapes: Iterable[_Shape]) -> pa.Table:
    """Return the rows, sorted by table and descending bytes read."""
    tables: dict[str, list[_Shape]] = {}
    for shape in shapes:
        tables.setdefault(shape.table, []).append(shape)
    rows = []
    for table, found in sorted(tables.items()):
        named = [shape for shape in found if shape.skeleton != FOLDED]
        named.sort(key=lambda shape: (-shape.sums[_SUMS.index("bytes_read")], -shape.queries, shape.skeleton))
        rest = [shape for shape in found if shape.skeleton == FOLDED] + named[MAX_SHAPES:]
        rows += [shape.row() for shape in named[:MAX_SHAPES]]
        if rest:
            folded = _Shape(table, FOLDED)
            for shape in rest:
                folded.fold(shape)
            rows.append(folded.row())
    return pa.Table.from_pylist(rows, LAKE_QUERIES)


def plain_location(location: str) -> str:
    """Normalise a path or URL: ``/lake/t`` for ``file:///lake/t/``, ``s3://b/t`` for ``s3a://b/t``.

    A name of a catalog's table, ``lake.sales.orders``, stays as it is.
    """
    if "/" not in location:
        return location
    found = _SCHEME.match(location)
    if found is None:
        return Path(location).absolute().as_posix() if location else ""
    scheme = found[1].lower()
    rest = location[found.end() :].rstrip("/")
    return f"/{rest}" if scheme == "file" else f"{_SAME.get(scheme, scheme)}://{rest}"


class TableLocations:
    """The tables by normalised location."""

    __slots__ = ("_tables",)

    def __init__(self, tables: Mapping[str, str]) -> None:
        """Take the table of each location; a table may have several, such as its location in a log."""
        self._tables = {plain_location(location): table for location, table in tables.items()}

    def table_at(self, location: str) -> str | None:
        """Return the table at a location or the nearest one above it, None if there is none."""
        place = plain_location(location)
        while place:
            if place in self._tables:
                return self._tables[place]
            place = place.rpartition("/")[0]
        return None
