"""A day of queries in a real Pinot: its log on a quiet and a busy machine, and its time under sets."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinot.benchmark_run import told
from pinot.filters.generated_table import write_csv
from pinot.latency.large_tables import LargeTable
from pinot.latency.latency_day import BuiltSet
from pinot.running_pinot import PinotAnswer, PinotFailed, RunningPinot
from starskip.pinot.segments.segment_layout import parse_index_map

QUIET_LOG, BUSY_LOG, MEASURED = "quiet.log", "busy.log", "measured.json"
_SLOWEST_MS = 4_000
"""A text that takes longer when it is first asked is left out: a day of them would take hours."""


@dataclass(slots=True)
class MeasuredSets:
    """Times and entries of a day under sets of indexes.

    ``counts``: how often the day asks each text. ``passes``: by set and text, ms and entries of each.
    """

    table: str
    counts: Mapping[str, int]
    sets: Sequence[BuiltSet]
    passes: list[dict[str, list[tuple[float, int, int]]]]

    def least_ms(self, number: int) -> dict[str, float]:
        """Return each text's least time under a set."""
        return {sql: min(each[0] for each in runs) for sql, runs in self.passes[number].items()}

    def entries(self, number: int) -> dict[str, tuple[int, int]]:
        """Return each text's entries in filter and post filter under a set."""
        return {sql: (runs[-1][1], runs[-1][2]) for sql, runs in self.passes[number].items()}

    def write(self, file: Path) -> None:
        """Keep what was measured."""
        document = {
            "table": self.table,
            "counts": self.counts,
            "sets": [each.document for each in self.sets],
            "passes": self.passes,
        }
        file.write_text(json.dumps(document))

    @staticmethod
    def read(file: Path) -> MeasuredSets:
        """Return what was kept."""
        kept: dict[str, Any] = json.loads(file.read_text())
        sets = [BuiltSet(**{name: tuple(of) for name, of in each.items()}) for each in kept["sets"]]
        return MeasuredSets(kept["table"], kept["counts"], sets, kept["passes"])


def load_large_table(
    pinot: RunningPinot, table: LargeTable, rows: int, segments: int, scratch: Path, kept: Path
) -> None:
    """Load the table, and keep its tarred segments in ``kept``/TABLE."""
    small = table.small
    pinot.create_table(small.schema, small.config())
    (kept / small.name).mkdir(parents=True, exist_ok=True)
    for number, of_segment in enumerate(table.segments(rows, segments), 1):
        file = scratch / f"{small.name}.csv"
        write_csv(of_segment, file)
        name = pinot.ingest_csv(small.name, file)
        file.unlink()
        (kept / small.name / f"{name}.tar.gz").write_bytes(pinot.segment_tar(small.name, name))
        told(f"{small.name}: segment {number} of {segments}")
    pinot.wait_for_rows(small.name, rows * segments)


def accepted(pinot: RunningPinot, day: Sequence[str]) -> list[str]:
    """Return the day without texts that Pinot refuses or takes too long for; this warms it up, too."""
    fit = {}
    for sql in dict.fromkeys(day):
        answer = _asked(pinot, sql)
        fit[sql] = answer is not None and answer.time_ms <= _SLOWEST_MS
    told(f"{sum(not each for each in fit.values())} of {len(fit)} texts left out")
    return [sql for sql in day if fit[sql]]


def _asked(pinot: RunningPinot, sql: str) -> PinotAnswer | None:
    try:
        return pinot.ask(sql)
    except PinotFailed:
        return None


def log_day(pinot: RunningPinot, day: Sequence[str], clients: int, file: Path) -> None:
    """Ask the day's queries by that many clients at once, and keep what the broker logs."""
    start = len(pinot.query_log)
    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(pinot.ask, day))
    time.sleep(1)
    file.write_bytes(pinot.query_log[start:])
    told(f"{file.name}: {len(day)} queries by {clients} clients in {time.monotonic() - began:.0f} s")


def measure_sets(
    pinot: RunningPinot, table: LargeTable, day: Sequence[str], sets: Sequence[BuiltSet], passes: int
) -> MeasuredSets:
    """Ask each text once a pass and set; the sets take turns, and nothing is built at the end again."""
    texts = list(dict.fromkeys(day))
    found = MeasuredSets(table.small.name, Counter(day), sets, [{} for _ in sets])
    for number in range(passes):
        for position, built in enumerate((*sets, sets[0]) if number == passes - 1 else sets):
            began = time.monotonic()
            _build(pinot, table, built)
            reloaded = time.monotonic()
            of_set = found.passes[position % len(sets)]
            for sql in texts:
                answer = pinot.ask(sql)
                of_set.setdefault(sql, []).append(
                    (answer.time_ms, answer.entries_in_filter, answer.entries_post_filter)
                )
            told(
                f"pass {number + 1} of {passes}, set {position + 1}: {built.name}: built in "
                f"{reloaded - began:.0f} s, asked in {time.monotonic() - reloaded:.0f} s"
            )
    return found


def _build(pinot: RunningPinot, table: LargeTable, built: BuiltSet) -> None:
    config = table.small.config(built.inverted, built.ranges)
    trees = [dict(table.trees[each]) for each in built.trees]
    # With the flag on, a reload also takes trees away.
    config["tableIndexConfig"] |= {"starTreeIndexConfigs": trees, "enableDynamicStarTreeCreation": True}
    pinot.change_tables([config])
    for segment, content in pinot.index_maps(table.small.name).items():
        there = parse_index_map(content)
        for kind, columns in (("inverted_index", built.inverted), ("range_index", built.ranges)):
            found = {column for column, index in there if index == kind}
            if found - set(columns):
                raise PinotFailed(f"{segment}: {kind} on {sorted(found)} instead of {sorted(columns)}")
