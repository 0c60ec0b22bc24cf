"""Broker logs of a made-up cluster, in the format of Pinot 0.11, with counters that fit tables and literals.

Entries in filters are counted as Pinot counts them without indexes: the first predicate reads each row, a
further one the rows that the ones before it left, and the sorted time column none.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time
from itertools import accumulate
from math import ceil
from pathlib import Path

import numpy as np
from made_up_tables import END_MS, SPAN_MS, TIME_COLUMN, ClusterSize, Shape, Table, made_up_tables, zipf

_LINE = (
    "%s %02d:%02d:%02d.%03d INFO [BaseBrokerRequestHandler] [jersey-server-managed-async-executor-3] "
    "requestId=%d,table=%s,timeMs=%d,docs=%d/%d,entries=%d/%d,"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "%d/%d/%d/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,"
    "exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,DeserializationTimeMs,"
    "RequestSentDelayMs);192.0.2.2_O=1,1,275,0,1,offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,query=%s\n"
)
_CHUNK = 100_000
_DAY_SECONDS = 86_400
_HOUR_MS = 3_600_000


def write_log(path: Path, size: ClusterSize, day: date, records: int, broker: int) -> None:
    """Write the log of one broker on one day, in the order of time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tables, seed = made_up_tables(size), [size.seed, day.toordinal(), broker]
    asked = [(table, shape) for table in tables for shape in table.shapes]
    weights = [table.asked * share for table in tables for share in zipf(len(table.shapes))]
    up_to = np.array(list(accumulate(weights)))
    numbers, draw = np.random.default_rng(seed), random.Random(str(seed))
    date_text = day.strftime("%Y/%m/%d")
    midnight_ms = int(datetime.combine(day, time(), UTC).timestamp()) * 1000
    with path.open("w", encoding="utf-8") as log:
        for first in range(0, records, _CHUNK):
            count = min(_CHUNK, records - first)
            chosen = np.searchsorted(up_to[:-1], numbers.random(count) * up_to[-1], side="right")
            lines = []
            for number, place in enumerate(chosen.tolist(), start=first):
                ms = number * _DAY_SECONDS * 1000 // records
                second = ms // 1000
                clock = (second // 3600, second // 60 % 60, second % 60, ms % 1000)
                counted = _counted(*asked[place], day, midnight_ms + ms, draw)
                lines.append(_LINE % (date_text, *clock, number, *counted))
            log.writelines(lines)


def _counted(
    table: Table, shape: Shape, day: date, now_ms: int, draw: random.Random
) -> tuple[str | int, ...]:
    """Return the fields of a record from its table to its query."""
    segments, covered = table.segments_on(day), 1.0
    all_rows = segments * table.segment_rows
    filters = []
    if shape.hours is not None:
        from_ms = now_ms - shape.hours * _HOUR_MS
        end_ms = END_MS - SPAN_MS + segments * table.width_ms
        covered = min(max((end_ms - from_ms) / (segments * table.width_ms), 0.0), 1.0)
        filters.append(f"{TIME_COLUMN} >= {from_ms}")
    share, scans = 1.0, 0.0
    unmatched = 1.0
    for predicate in shape.predicates:
        text, matches = predicate.asked(draw)
        filters.append(text)
        scans += share if shape.joint == " AND " else 1.0
        share *= matches
        unmatched *= 1 - matches
    if shape.joint == " OR ":
        share = 1 - unmatched
    rows = all_rows * covered
    entries, docs = round(rows * scans), round(rows * share)
    read = docs * shape.read
    processed = ceil(segments * covered)
    latency_ms = 1 + round((1 + entries / 40_000 + read / 20_000) * draw.uniform(0.8, 1.2))
    query = f"{shape.before} WHERE {shape.joint.join(filters)}{shape.behind}"
    matched = min(processed, docs)
    return (
        table.name, latency_ms, docs, all_rows, entries, read, segments, processed, matched, query
    )  # fmt: skip
