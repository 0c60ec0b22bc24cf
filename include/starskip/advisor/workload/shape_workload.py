"""The workload of one shape: its queries, their cost, and a sample of their literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from math import inf
from typing import Any

import pyarrow as pa

from starskip.storage.schemas import WORKLOAD

Literals = tuple[tuple[str, ...], ...]
_MAX_SUM = 1 << 62

UNPARSED = "unparsed:"
"""Prefix of the shape_id of queries without a shape; the reason code follows."""

WHOLLY_REDACTED = "redacted"
"""The reason code of queries for which the broker logged counters and no text."""


class _EstimatedSums:
    """Sums of the logged queries, and in ``unlogged_…`` of the queries that their records stand for."""

    __slots__ = ()
    queries: int
    entries_scanned_in_filter: int
    entries_scanned_in_filter_squared: float
    unlogged_queries: float
    unlogged_entries_scanned_in_filter: float
    unlogged_entries_scanned_in_filter_squared: float

    @property
    def estimated_queries(self) -> float:
        """Return the queries that ran, logged or not."""
        return self.queries + self.unlogged_queries

    @property
    def estimated_entries(self) -> float:
        """Return the entries that these queries scanned in filter."""
        return self.entries_scanned_in_filter + self.unlogged_entries_scanned_in_filter

    @property
    def estimated_entries_squared(self) -> float:
        """Return the sum over logged queries of (weight * entries)², for intervals."""
        return self.entries_scanned_in_filter_squared + self.unlogged_entries_scanned_in_filter_squared


@dataclass(slots=True)
class Instance(_EstimatedSums):
    """Successful queries of a shape with the same literals; sums over these queries.

    ``timed_queries``: the queries with a logged latency; ``latency_ms_sum``, the sum of its squares and
    ``least_latency_ms`` are of these.
    """

    queries: int = 0
    entries_scanned_in_filter: int = 0
    entries_scanned_in_filter_squared: float = 0.0
    rows_scanned: int = 0
    segments_matched: int = 0
    unlogged_queries: float = 0.0
    unlogged_entries_scanned_in_filter: float = 0.0
    unlogged_entries_scanned_in_filter_squared: float = 0.0
    entries_scanned_post_filter: int = 0
    timed_queries: int = 0
    latency_ms_sum: int = 0
    latency_ms_squared: float = 0.0
    least_latency_ms: float = inf

    @property
    def estimated_post_filter(self) -> float:
        """Return the entries post filter of the queries that ran, as many a query as logged ones read."""
        return self.entries_scanned_post_filter * self.estimated_queries / max(self.queries, 1)

    def add(self, other: Instance) -> None:
        """Add the sums of ``other``, and keep the least latency."""
        for name in _INSTANCE_SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.least_latency_ms = min(self.least_latency_ms, other.least_latency_ms)


_INSTANCE_SUMS = tuple(item.name for item in fields(Instance) if item.name != "least_latency_ms")


@dataclass(slots=True)
class ShapeWorkload(_EstimatedSums):
    """One shape of one table over one night.

    Sums cover all queries of the log; ``failed`` ones (with exceptions) are in them, but never in
    ``instances``. ``instances`` holds all literals seen, or, past the cap, the literals with the smallest
    hashes: a sample that does not depend on the order of the log and merges exactly, since a literal kept at
    the end was kept everywhere (bottom-k, KMV). ``kept_below``: literals of greater hash are not kept.

    A query of weight w stands for w - 1 others that the broker did not log; ``unlogged_…`` sums these, so
    that it is 0 and changes nothing if no line was dropped. A query counted w times has its variance w²
    times, so the squares sum w² - 1. Failed queries are always logged.

    ``segments_queried``: the segments that queries were sent to, ``segments_processed``: those that servers
    did not prune, ``segments_matched``: those with a matching row; 0 where the log does not say.

    ``weight``: the count of each query of the shape in advice (query_weights). It does not change counts and
    sums; only the ``weighted_…`` properties use it.
    """

    table: str
    shape_id: str
    text: str
    skeleton: str
    queries: int = 0
    failed: float = 0
    entries_scanned_in_filter: int = 0
    entries_scanned_in_filter_squared: float = 0.0
    entries_scanned_post_filter: int = 0
    failed_entries_scanned_in_filter: float = 0
    latency_ms_sum: int = 0
    unlogged_queries: float = 0.0
    unlogged_entries_scanned_in_filter: float = 0.0
    unlogged_entries_scanned_in_filter_squared: float = 0.0
    unlogged_latency_ms_sum: float = 0.0
    segments_queried: int = 0
    segments_processed: int = 0
    segments_matched: int = 0
    weight: float = 1.0
    kept_below: int = 1 << 62
    instances: dict[Literals, Instance] = field(default_factory=dict)

    @property
    def is_parsed(self) -> bool:
        """Return whether the shape's text was understood."""
        return not self.shape_id.startswith(UNPARSED)

    @property
    def entries_scanned(self) -> int:
        """Return the entries of the log's queries, in filter and post filter."""
        return self.entries_scanned_in_filter + self.entries_scanned_post_filter

    @property
    def weighted_queries(self) -> float:
        """Return the queries that ran, each counted ``weight`` times."""
        return self.weight * self.estimated_queries

    @property
    def weighted_entries(self) -> float:
        """Return their entries in filter, each query's counted ``weight`` times."""
        return self.weight * self.estimated_entries

    @property
    def weighted_entries_squared(self) -> float:
        """Return the weighted sum of their squares: a copy adds no knowledge, so the weight counts twice."""
        return self.weight**2 * self.estimated_entries_squared

    @property
    def latency_ms_mean(self) -> float | None:
        """Return the mean latency of the queries that ran; None if none ran."""
        if not self.queries:
            return None
        return (self.latency_ms_sum + self.unlogged_latency_ms_sum) / self.estimated_queries

    def add_instance(self, literals: Literals, instance: Instance, cap: int) -> None:
        """Add ``instance`` if its literals belong to the sample."""
        known = self.instances.get(literals)
        if known is not None:
            known.add(instance)
        elif literals_hash(literals) < self.kept_below:
            self.instances[literals] = instance
            # Pruned rarely: sorting at each addition would take quadratic time for a busy shape.
            if len(self.instances) > 2 * cap:
                self.prune(cap)

    def prune(self, cap: int) -> None:
        """Keep the ``cap`` literals with the smallest hashes."""
        if len(self.instances) <= cap:
            return
        ranked = sorted((literals_hash(literals), literals) for literals in self.instances)
        self.kept_below = ranked[cap][0]
        self.instances = {literals: self.instances[literals] for _, literals in ranked[:cap]}

    def merge(self, other: ShapeWorkload, cap: int) -> None:
        """Add ``other``, the same shape of other records."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        # The smaller text wins, so that the merged row does not depend on the order either.
        self.skeleton, self.text = min((self.skeleton, self.text), (other.skeleton, other.text))
        self.kept_below = min(self.kept_below, other.kept_below)
        self.instances = {k: v for k, v in self.instances.items() if literals_hash(k) < self.kept_below}
        for literals, instance in other.instances.items():
            self.add_instance(literals, instance, cap)


_SUMS = (
    "queries",
    "failed",
    "entries_scanned_in_filter",
    "entries_scanned_in_filter_squared",
    "entries_scanned_post_filter",
    "failed_entries_scanned_in_filter",
    "latency_ms_sum",
    "unlogged_queries",
    "unlogged_entries_scanned_in_filter",
    "unlogged_entries_scanned_in_filter_squared",
    "unlogged_latency_ms_sum",
    "segments_queried",
    "segments_processed",
    "segments_matched",
)


def literals_hash(literals: Literals) -> int:
    """Return a 62-bit hash that is the same in every process."""
    digest = blake2b(digest_size=8)
    for values in literals:
        digest.update(("\x1e".join(values) + "\x1f").encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "big") >> 2


def workload_table(shapes: Iterable[ShapeWorkload]) -> pa.Table:
    """Return the shapes as an Arrow table of schema WORKLOAD."""
    rows = []
    for shape in shapes:
        row: dict[str, Any] = {f.name: _bounded(getattr(shape, f.name)) for f in fields(shape)}
        row["instances"] = [
            {"literals": literals, **{f.name: _bounded(getattr(instance, f.name)) for f in fields(instance)}}
            for literals, instance in sorted(shape.instances.items())
        ]
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=WORKLOAD)


def _bounded(value: Any) -> Any:
    """Keep sums of counters that anyone can write into a log within 64 bits; the gates name such a table."""
    return min(value, _MAX_SUM) if isinstance(value, int) else value


def workload_shapes(table: pa.Table | pa.RecordBatch) -> Iterator[ShapeWorkload]:
    """Yield the shapes of an Arrow table of schema WORKLOAD."""
    for row in table.to_pylist():
        instances: dict[Literals, Instance] = {}
        for item in row.pop("instances"):
            literals = tuple(tuple(values) for values in item.pop("literals"))
            instances[literals] = Instance(**item)
        yield ShapeWorkload(**row, instances=instances)
