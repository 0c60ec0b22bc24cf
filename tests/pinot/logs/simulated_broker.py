"""A broker that limits its query log as Pinot's does, with a workload that is known in full.

Written after `BaseBrokerRequestHandler` of 0.11 and `QueryLogger` of 1.4 and 1.5, and Guava's RateLimiter,
which both of their limits use: up to one second of unused permits is kept.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

START_MS = 1_794_996_000_000  # 2026-11-18 10:00:00 UTC


@dataclass
class RateLimiter:
    per_second: float
    stored: float = 0.0
    free_at: float = 0.0

    def try_acquire(self, second: float) -> bool:
        if second < self.free_at:
            return False
        self.stored = min(self.stored + (second - self.free_at) * self.per_second, self.per_second)
        taken = min(self.stored, 1.0)
        self.stored -= taken
        self.free_at = second + (1.0 - taken) / self.per_second
        return True


@dataclass(frozen=True)
class Query:
    arrival: float  # seconds since the start
    latency_ms: int
    sql: str
    entries: int = 0
    table: str = "t"
    exceptions: int = 0
    group_limit: bool = False

    @property
    def is_always_logged(self) -> bool:
        return self.latency_ms > 1000 or self.exceptions > 0 or self.group_limit


@dataclass
class Broker:
    """``era``: "0.11", "1.4" (a line before each query, dropped ones counted with it) or "1.5"."""

    era: str = "0.11"
    max_per_second: float = 50.0
    dropped: int = 0
    said: int = 0
    lines: list[str] = field(default_factory=list)

    def run(self, queries: list[Query]) -> list[str]:
        limiter, saying = RateLimiter(self.max_per_second), RateLimiter(1.0)
        allowed: dict[int, bool] = {}
        for second, is_end, number in _events(queries):
            query = queries[number]
            if not is_end:
                if self.era == "0.11":
                    continue
                allowed[number] = limiter.try_acquire(second)
                if not allowed[number]:
                    self.dropped += 1
                else:
                    self._write(second, f"SQL query for request {number}: {query.sql}")
                    self._say(second, saying)
                continue
            if self.era == "1.5":
                is_logged = allowed[number] or query.is_always_logged
            else:
                is_logged = limiter.try_acquire(second) or query.is_always_logged
                self.dropped += not is_logged
            if is_logged:
                self._write(second, message(query, number, self.era))
                self._say(second, saying)
        return self.lines

    def _say(self, second: float, saying: RateLimiter) -> None:
        if saying.try_acquire(second) and self.dropped:
            text = f"{self.dropped} logs were dropped. (log max rate per second: {self.max_per_second})"
            self._write(second, text, "WARN")
            self.said, self.dropped = self.said + self.dropped, 0

    def _write(self, second: float, text: str, level: str = "INFO") -> None:
        time = datetime.fromtimestamp(START_MS / 1000 + second, UTC)
        stamp = time.strftime("%Y/%m/%d %H:%M:%S.") + f"{time.microsecond // 1000:03d}"
        self.lines.append(f"{stamp} {level} [QueryLogger] [t-1] {text}\n")


def message(query: Query, number: int, era: str) -> str:
    cpu = "(total/thread/sysActivity/resSer):0/0/0/0,"
    memory = "(total/thread/resSer):0/0/0,"
    new = (
        f"queryEngine=singleStage,offlineMemAllocatedBytes{memory}realtimeMemAllocatedBytes{memory}"
        "pools=[],rlsFiltersApplied=false,"
    )
    hashed = "queryHash=ab," if era == "1.5" else ""
    trimmed, warned = (
        ("", "") if era == "0.11" else ("groupsTrimmed=false,", "groupWarningLimitReached=false,")
    )
    return (
        f"requestId={number},table={query.table},{hashed}timeMs={query.latency_ms},docs=1/9,"
        f"entries={query.entries}/0,segments(queried/processed/matched/consumingQueried/consumingProcessed/"
        "consumingMatched/unavailable):1/1/1/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,"
        f"{trimmed}groupLimitReached={str(query.group_limit).lower()},{warned}brokerReduceTimeMs=0,"
        f"exceptions={query.exceptions},serverStats=x,offlineThreadCpuTimeNs{cpu}realtimeThreadCpuTimeNs{cpu}"
        f"clientIp=unknown,{'' if era == '0.11' else new}query={query.sql}"
    )


def poisson_queries(
    seed: int, seconds: float, rate: Callable[[float], float], draw: Callable[[random.Random, float], Query]
) -> list[Query]:
    """Queries at ``rate`` a second, which may change with time; ``draw`` makes one that arrives then."""
    randoms = random.Random(seed)
    found: list[Query] = []
    second = 0.0
    while True:
        second += randoms.expovariate(max(rate(second), 0.1))
        if second >= seconds:
            return found
        found.append(draw(randoms, second))


def _events(queries: list[Query]) -> Iterator[tuple[float, bool, int]]:
    starts = [(query.arrival, False, number) for number, query in enumerate(queries)]
    ends = sorted((q.arrival + q.latency_ms / 1000, True, number) for number, q in enumerate(queries))
    return heapq.merge(starts, ends)
