"""Milliseconds promised, beside milliseconds measured, of sets of indexes in a real Apache Pinot 0.11.0.

Starts Pinot (fetched with Maven, once) with a generated table of several million rows, asks a day of queries
of it, once on a quiet and once on a busy machine, and then under each of a number of index sets, least of
interleaved passes.

    python benchmarks/latency.py --keep DIR
    python benchmarks/latency.py --measured DIR
    python benchmarks/latency.py --table orders --seed 2 --segments 12
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinot.benchmark_run import benchmark_folder, told
from pinot.filters.measured_filters import PROCESSORS
from pinot.latency.large_tables import LARGE_TABLES
from pinot.latency.latency_day import built_sets, latency_day
from pinot.latency.measured_sets import (
    BUSY_LOG,
    MEASURED,
    QUIET_LOG,
    MeasuredSets,
    accepted,
    load_large_table,
    log_day,
    measure_sets,
)
from pinot.latency.predicted_sets import comparison, predicted_sets
from pinot.running_pinot import CACHE, RunningPinot, pinot_jars

BUSY_CLIENTS = 8


def main() -> None:
    """Measure, predict, print."""
    arguments = _arguments()
    with benchmark_folder() as scratch:
        kept = arguments.measured or arguments.keep or scratch / "kept"
        if not arguments.measured:
            _measure(scratch, kept, arguments)
        measured = MeasuredSets.read(kept / MEASURED)
        plain = [each for each in measured.sets if not each.trees]
        for log in (QUIET_LOG, BUSY_LOG):
            promised = predicted_sets(kept / log, kept / "segments", measured.table, plain)
            print(*comparison(measured, promised, log), sep="\n", flush=True)


def _measure(scratch: Path, kept: Path, arguments: argparse.Namespace) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    table = LARGE_TABLES[arguments.table](arguments.seed)
    jars = pinot_jars(arguments.pinot_dir)
    told("starting Pinot")
    with RunningPinot(jars, scratch / "pinot", arguments.heap, PROCESSORS) as pinot:
        load_large_table(pinot, table, arguments.rows, arguments.segments, scratch, kept / "segments")
        day = accepted(pinot, latency_day(table, arguments.queries, arguments.seed))
        log_day(pinot, day, 1, kept / QUIET_LOG)
        log_day(pinot, day, BUSY_CLIENTS, kept / BUSY_LOG)
        sets = built_sets(table, day, arguments.sets, arguments.seed)
        measure_sets(pinot, table, day, sets, arguments.passes).write(kept / MEASURED)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=LARGE_TABLES, default="events", help="generated table (events)")
    parser.add_argument("--seed", type=int, default=1, help="of rows, queries and sets (1)")
    parser.add_argument("--segments", type=int, default=8, help="of the table (8)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of a segment (1,000,000)")
    parser.add_argument("--queries", type=int, default=700, help="of the day (700)")
    parser.add_argument("--sets", type=int, default=20, help="of indexes (20)")
    parser.add_argument("--passes", type=int, default=3, help="over all sets (3)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep log, segments and measurements there")
    parser.add_argument("--measured", type=Path, metavar="DIR", help="what --keep kept: nothing is measured")
    parser.add_argument("--pinot-dir", default=CACHE, help=f"where Pinot's jars are kept ({CACHE})")
    parser.add_argument("--heap", default="3g", help="Pinot's heap (3g)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
