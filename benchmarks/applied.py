"""Advice for the sample's tables applied to a real Apache Pinot 0.11.0, beside Pinot's own recommender.

Starts Pinot (fetched with Maven, once) with the sample's segments. A day of the sample's log is asked again
of each table as it is, with what ``starskip tune`` advises by entries and by time, and with the indexes of
Pinot's recommender; least of interleaved passes. Printed are the entries and the time that each saves, beside
what was promised, the bytes that its indexes take, and how long the reload took.

    python benchmarks/applied.py
    python benchmarks/applied.py --day 2026-11-20 --tables lineitem --passes 9
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinot.benchmark_run import benchmark_folder, told
from pinot.running_pinot import CACHE, PinotFailed, RunningPinot, pinot_jars
from pinot_headline import SAMPLE, SEGMENTS, TABLES, advised, load_sample, of_table, records_of
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts

AS_IT_IS, BY_ENTRIES, BY_TIME, RECOMMENDER = "as it is", "by entries", "by time", "Pinot's recommender"


@dataclass(slots=True)
class Applied:
    """One config, and what it did.

    ``size_bytes``: of the table on the server. ``reload_seconds``: of the slowest reload. ``entries``: by
    text, in filter and post filter.
    """

    config: Mapping[str, Any]
    size_bytes: int = 0
    reload_seconds: float = 0.0
    least_ms: dict[str, float] = field(default_factory=dict)
    entries: dict[str, int] = field(default_factory=dict)


def main() -> None:
    """Advise, apply in turns, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--day", default="2026-11-18", help="of the sample's log")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--passes", type=int, default=5, help="over all configs (5)")
    parser.add_argument("--pinot-dir", default=CACHE, help="where Pinot's jars are kept")
    arguments = parser.parse_args()
    tables = tuple(arguments.tables.split(","))
    with benchmark_folder() as folder:
        jars = pinot_jars(arguments.pinot_dir)
        log = SAMPLE / "logs" / f"broker-{arguments.day}.log.gz"
        by_entries = advised(log, tables, folder, "entries")
        by_time = advised(log, tables, folder, "ms")
        records = records_of(log)
        with RunningPinot(jars, folder / "pinot", "2g") as pinot:
            for table in tables:
                day = Counter(of_table(records, table).column("query_text").to_pylist())
                config = load_sample(pinot, table)
                configs = {
                    AS_IT_IS: Applied(config),
                    BY_ENTRIES: Applied(by_entries[1][table]),
                    BY_TIME: Applied(by_time[1][table]),
                }
                if recommended := _recommended(pinot, table, config, day):
                    configs[RECOMMENDER] = Applied(recommended)
                _measure(pinot, table, configs, day, arguments.passes)
                advice = {BY_ENTRIES: by_entries[0][table], BY_TIME: by_time[0][table]}
                print(*_lines(table, configs, day, advice), sep="\n", flush=True)


def _measure(
    pinot: RunningPinot, table: str, configs: Mapping[str, Applied], day: Counter[str], passes: int
) -> None:
    for number in range(passes):
        for name, applied in configs.items():
            began = time.monotonic()
            # With the flag on, a reload also takes star-trees away.
            index = {**applied.config["tableIndexConfig"], "enableDynamicStarTreeCreation": True}
            pinot.change_tables([{**applied.config, "tableIndexConfig": index}])
            applied.reload_seconds = max(applied.reload_seconds, time.monotonic() - began)
            applied.size_bytes = int(pinot.cluster.controller.sizes(table)["reportedSizeInBytes"])
            for sql in day:
                try:
                    answer = pinot.ask(sql)
                except PinotFailed:
                    continue  # refused before and after
                applied.entries[sql] = answer.entries_in_filter + answer.entries_post_filter
                applied.least_ms[sql] = min(applied.least_ms.get(sql, float("inf")), answer.time_ms)
            told(f"{table}: pass {number + 1} of {passes}, {name}: {time.monotonic() - began:.0f} s")


def _recommended(
    pinot: RunningPinot, table: str, config: Mapping[str, Any], day: Counter[str]
) -> dict[str, Any] | None:
    """Return the config with the indexes of Pinot's recommender; None, told, where it fails."""
    schema = json.loads((SAMPLE / "config" / f"{table}_schema.json").read_text())
    facts = [read_segment_facts(file) for file in list_segments(SEGMENTS, [table])]
    distinct: dict[str, int] = {}
    for segment in facts:
        for column in segment.columns:
            distinct[column.name] = max(distinct.get(column.name, 1), column.cardinality or 1)
    for specs in ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs"):
        for spec in schema.get(specs, ()):
            spec |= {
                "cardinality": distinct.get(spec["name"], 1),
                "averageLength": 12,
                "numValuesPerEntry": 1,
            }
    total = sum(day.values())
    asked = {
        "schema": schema,
        "queriesWithWeights": {" ".join(sql.split()): count / total for sql, count in day.items()},
        "tableType": "OFFLINE",
        "numRecordsPerPush": sum(segment.rows for segment in facts),
        "qps": 10,
        "latencySLA": 500,
        "rulesToExecute": {"recommendRealtimeProvisioning": False},
    }
    try:
        indexes = pinot.recommend(asked)["indexConfig"]
    except PinotFailed as error:
        told(f"{table}: {str(error)[:300]}")
        return None
    inverted, ranges = sorted(indexes["invertedIndexColumns"]), sorted(indexes["rangeIndexColumns"])
    told(f"{table}: Pinot's recommender: inverted {', '.join(inverted)}; range {', '.join(ranges)}")
    index = {**config["tableIndexConfig"], "invertedIndexColumns": inverted, "rangeIndexColumns": ranges}
    return {**config, "tableIndexConfig": index}


def _lines(
    table: str, configs: Mapping[str, Applied], day: Counter[str], advice: Mapping[str, Mapping[str, Any]]
) -> Sequence[str]:
    base = configs[AS_IT_IS]
    texts = [sql for sql in day if all(sql in each.least_ms for each in configs.values())]
    asked = sum(day[sql] for sql in texts)
    lines = ["", f"{table}: {asked} queries, {len(texts)} texts"]
    header = f"{'':<20} {'entries':>8} {'promised':>9} {'ms a query':>11} {'saved':>7} {'promised':>9}"
    lines.append(f"{header} {'interval':>16} {'bytes':>11} {'reload s':>8}")
    before_ms = sum(day[sql] * base.least_ms[sql] for sql in texts) / asked
    before = sum(day[sql] * base.entries[sql] for sql in texts)
    for name, applied in configs.items():
        ms = sum(day[sql] * applied.least_ms[sql] for sql in texts) / asked
        entries = 1 - sum(day[sql] * applied.entries[sql] for sql in texts) / max(before, 1)
        promised = of_time = interval = ""
        if name in advice:
            found = advice[name]
            promised = f"{found['combined']['saving_ratio']:.1%}"
            logged = found["latency"]["ms_per_query"]
            of_time = "nothing"  # where the latency model is not trusted
            if found["latency"]["trusted"]:
                of_time = f"{found['predicted_saving_ms'] / logged:.1%}"
                interval = " to ".join(f"{each / logged:.1%}" for each in found["predicted_interval_ms"])
        lines.append(
            f"{name:<20} {entries:>8.1%} {promised:>9} {ms:>11.2f} {1 - ms / before_ms:>7.1%} {of_time:>9}"
            f" {interval:>16} {applied.size_bytes - base.size_bytes:>11,} {applied.reload_seconds:>8.1f}"
        )
    return lines


if __name__ == "__main__":
    main()
