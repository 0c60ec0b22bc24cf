"""Estimate how many queries each logged query stands for, where the broker dropped lines of its query log.

Source: `BaseBrokerRequestHandler` since commit d684d5eb26e (March 2019), `QueryLogger` from 0.12 on. A broker
writes at most ``pinot.broker.query.log.maxRatePerSecond`` query lines a second (10,000 unless set). Further
lines are dropped, except partial results (exceptions, group limit reached) and queries of more than 1,000 ms,
which are always logged: a busy broker's log overstates them. After a line that it writes, and at most once a
second, the broker adds ``n logs were dropped``: the number since the last such line.

So n belongs to the second before that line, or, where lines are further apart, to the time since the line
before it. The sampled queries of that window share n; queries that are always logged keep weight 1. The
meaning of n:

- up to 1.4, queries that left no line. From March 2025 on the line before a query (``SQL query for request``)
  takes part in the rate as well: where such lines are logged, n counts both kinds, and the queries among them
  are (n + lines before queries - query lines) / 2.
- from 1.5 (f01e2c80e92, January 2026), queries refused when they arrived, also queries that were logged in
  the end because they were slow or failed. The share d of refused queries solves d = n / (sampled / (1 - d) +
  always logged).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.pinot.logs.log_summary import OWN_REPLAY

ALWAYS_LOGGED_ABOVE_MS = 1_000
_LOOK_MS = 1_000
_MAX_HELD_BYTES = 128 << 20
"""A second of log is held back only up to this size, whatever its times say."""
_MAX_DROPPED = 10**9
"""No broker drops more between two looks: a greater number is not believed."""
_COUNTS_ON_ARRIVAL = ("1.5.0", "2026-05", "1.6.0", "later")
_NO_TIME = np.iinfo(np.int64).min

_DROPPED = re.compile(r"(\d{1,18}) logs were dropped")
_SERVER = re.compile(r"QueryScheduler|ServerQueryLogger")
"""Servers drop lines of their own, with the same message."""

_NO_QUERY, _SAMPLED, _ALWAYS, _BEFORE = range(4)


def with_sampling_weights(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the LOG_RECORDS of one broker's log, in their order, with the column ``weight`` filled in.

    Without dropped lines every batch is passed on as it is. Holds back about one second of the log.
    """
    held: list[_Held] = []
    window = _Window()
    for batch in batches:
        newest = _held(batch)
        held.append(newest)
        if newest.dropped:
            _weigh(held, window)
        while len(held) > 1 and _is_out_of_reach(held, newest):
            gone = held.pop(0)
            window.start = max(window.start - len(gone.times), 0)
            yield _weighted(gone)
    yield from map(_weighted, held)


def dropped_lines(text: str | None) -> int:
    """Return how many lines of the query log a broker says it dropped; 0 for the line of a server."""
    found = _DROPPED.search(text or "")
    if found is None or _SERVER.search(found.string, 0, found.start()):
        return 0
    count = int(found[1])
    return count if count <= _MAX_DROPPED else 0


def sampled_weight(sampled: int, always: int, before: int, dropped: int, *, on_arrival: bool) -> float:
    """Return how many queries each of the ``sampled`` logged queries stands for (module docstring)."""
    if on_arrival:
        both = sampled + always + dropped
        refused = 2 * dropped / (both + sqrt(max(both * both - 4.0 * always * dropped, 0.0)))
        return 1.0 / (1.0 - refused)
    lost = float(dropped)
    if before:
        lost = min(max((dropped + before - sampled - always) / 2, 0.0), lost)
    return (sampled + lost) / sampled


@dataclass(slots=True)
class _Held:
    """A batch that later lines may still weigh; ``dropped``: row -> number dropped before it."""

    batch: pa.RecordBatch
    times: npt.NDArray[np.int64]
    dropped: dict[int, int]
    weights: npt.NDArray[np.float64] | None = None


@dataclass(slots=True)
class _Window:
    """The first held row of the next window, and counts that wait for a sampled query to carry them."""

    start: int = 0
    waiting: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    waiting_dropped: int = 0


def _held(batch: pa.RecordBatch) -> _Held:
    texts = batch.column("query_text")
    rows = np.flatnonzero(_mask(pc.equal(batch.column("reason"), "logs_dropped"))).tolist()
    counts = {row: dropped_lines(texts[row].as_py()) for row in rows}
    times = batch.column("logged_at").cast(pa.int64()).fill_null(_NO_TIME)
    return _Held(
        batch, times.to_numpy(zero_copy_only=False), {row: count for row, count in counts.items() if count}
    )


def _roles(batch: pa.RecordBatch) -> npt.NDArray[np.int8]:
    reason = batch.column("reason")
    # The broker counts our own replays like any query.
    is_query = pc.or_(
        pc.equal(batch.column("kind"), "query"), pc.fill_null(pc.equal(reason, OWN_REPLAY), False)
    )
    always = pc.or_(
        pc.or_(
            pc.fill_null(pc.greater(batch.column("latency_ms"), ALWAYS_LOGGED_ABOVE_MS), False),
            pc.fill_null(pc.greater(batch.column("exceptions"), 0), False),
        ),
        pc.fill_null(batch.column("group_limit_reached"), False),
    )
    roles = np.full(batch.num_rows, _NO_QUERY, np.int8)
    roles[_mask(is_query)] = _SAMPLED
    roles[_mask(pc.equal(reason, "multi_stage"))] = _SAMPLED
    roles[_mask(pc.and_(is_query, always))] = _ALWAYS
    roles[_mask(pc.equal(reason, "sql_before_query"))] = _BEFORE
    return roles


def _on_arrival(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    counting = pa.array(_COUNTS_ON_ARRIVAL, pa.string())
    return _mask(pc.is_in(batch.column("line_format"), value_set=counting))


def _mask(values: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return mask


def _weigh(held: list[_Held], window: _Window) -> None:
    """Give the rows before each "dropped" line of the newest batch their weights."""
    times = np.concatenate([each.times for each in held])
    roles = np.concatenate([_roles(each.batch) for each in held])
    on_arrival = np.concatenate([_on_arrival(each.batch) for each in held])
    weights = np.concatenate([_weights_of(each) for each in held])
    first = len(times) - len(held[-1].times)
    for row, dropped in sorted(held[-1].dropped.items()):
        end = first + row
        members = np.flatnonzero(_is_inside(times[window.start : end], roles[window.start : end], times[end]))
        members += window.start
        window.waiting += np.bincount(roles[members], minlength=4)
        window.waiting_dropped += dropped
        window.start = end + 1
        sampled = members[roles[members] == _SAMPLED]
        if not len(sampled):
            continue  # only slow queries were logged: the next window carries both counts
        _, _, always, before = window.waiting.tolist()
        weights[sampled] = sampled_weight(
            len(sampled),
            always,
            before,
            window.waiting_dropped,
            on_arrival=bool(on_arrival[members].any()),
        )
        window.waiting[:] = 0
        window.waiting_dropped = 0
    position = 0
    for each in held:
        each.weights = weights[position : position + len(each.times)]
        position += len(each.times)


def _is_inside(
    times: npt.NDArray[np.int64], roles: npt.NDArray[np.int8], said_at: np.int64
) -> npt.NDArray[np.bool_]:
    """Return which of the rows before a "dropped" line lie in its window."""
    untimed: npt.NDArray[np.bool_] = times == _NO_TIME
    if said_at == _NO_TIME:
        return np.ones(len(times), dtype=bool)
    after = int(said_at) - _LOOK_MS
    lines = np.flatnonzero(roles != _NO_QUERY)
    if len(lines) > 1 and not untimed[lines[-2]]:
        after = min(after, int(times[lines[-2]]))
    # A clock may be set back: a row whose time is later than this line's was written long before it.
    return untimed | ((times > after) & (times <= said_at + _LOOK_MS))


def _is_out_of_reach(held: list[_Held], newest: _Held) -> bool:
    """Return whether no later "dropped" line can weigh the oldest batch any more."""
    latest, oldest = (int(each.times.max(initial=_NO_TIME)) for each in (newest, held[0]))
    if _NO_TIME in (latest, oldest) or oldest < latest - 2 * _LOOK_MS:
        return True
    return sum(int(each.batch.nbytes) for each in held) > _MAX_HELD_BYTES


def _weights_of(held: _Held) -> npt.NDArray[np.float64]:
    return np.ones(len(held.times)) if held.weights is None else held.weights


def _weighted(held: _Held) -> pa.RecordBatch:
    if held.weights is None:
        return held.batch
    position = held.batch.schema.get_field_index("weight")
    return held.batch.set_column(position, held.batch.schema.field(position), pa.array(held.weights))


@dataclass(frozen=True, slots=True)
class SamplingSummary:
    """Counts of a log whose broker dropped lines.

    ``dropped_lines``: as the broker counts them; ``sampled_queries``: logged queries that stand for others;
    ``unlogged_queries``: the estimated number of others, which differs from the dropped lines where not all
    of these are of queries (module docstring).
    """

    dropped_lines: int = 0
    sampled_queries: int = 0
    unlogged_queries: float = 0.0

    @property
    def mean_weight(self) -> float:
        """Return how many queries a sampled one stands for, itself included."""
        return 1.0 + self.unlogged_queries / self.sampled_queries if self.sampled_queries else 1.0

    @property
    def words(self) -> str:
        """Return the summary as a sentence for a person."""
        return (
            f"the broker dropped {self.dropped_lines:,} log lines: {self.sampled_queries:,} queries of"
            f" at most 1 s count {self.mean_weight:.1f} times each"
        )

    def __add__(self, more: SamplingSummary) -> SamplingSummary:
        """Return the summary of both logs together."""
        return SamplingSummary(
            self.dropped_lines + more.dropped_lines,
            self.sampled_queries + more.sampled_queries,
            self.unlogged_queries + more.unlogged_queries,
        )


def sampling_summary(batch: pa.RecordBatch) -> SamplingSummary:
    """Return the summary of a batch of weighted LOG_RECORDS."""
    dropped = batch.filter(pc.equal(batch.column("reason"), "logs_dropped")).column("query_text").to_pylist()
    weights = batch.filter(pc.equal(batch.column("kind"), "query")).column("weight")
    above = weights.filter(pc.greater(weights, 1.0))
    unlogged = (pc.sum(above).as_py() or 0.0) - len(above)
    return SamplingSummary(sum(map(dropped_lines, dropped)), len(above), unlogged)
