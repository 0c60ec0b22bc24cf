"""Predicted beside measured entries: generated queries on a real Apache Pinot 0.11.0."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from pinot.filters.events_table import events_table
from pinot.filters.filter_truth import write_truth
from pinot.filters.generated_queries import generated_queries
from pinot.filters.measured_filters import measure_filters
from pinot.filters.orders_table import orders_table
from pinot.running_pinot import PinotFailed, RunningPinot, pinot_jars

CACHE = "~/.cache/starskip/pinot-0.11.0"


def main() -> None:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.monotonic()
    try:
        jars = pinot_jars(Path(arguments.pinot_dir).expanduser().resolve())
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            tables = [events_table(arguments.table_seed), orders_table(arguments.table_seed)]
            queries = [
                query for table in tables for query in generated_queries(table, arguments.queries, arguments.seed)
            ]
            print("starting Pinot", file=sys.stderr)
            with RunningPinot(jars, folder, arguments.heap) as pinot:
                truth = measure_filters(
                    pinot,
                    [(table, arguments.table_seed) for table in tables],
                    queries,
                    folder,
                    arguments.segments,
                )
        write_truth(truth, arguments.truth)
    except PinotFailed as error:
        sys.exit(str(error))
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table-seed", type=int, default=1)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--segments", type=Path, required=True)
    parser.add_argument("--pinot-dir", default=CACHE)
    parser.add_argument("--heap", default="2g")
    return parser.parse_args()


if __name__ == "__main__":
    main()
