"""Predicted beside measured entries: generated filters on a real Apache Pinot 0.11.0.

Starts Pinot (fetched with Maven, once), loads two generated tables, asks generated queries under some 18
sets of indexes each (none, inverted, range, both, another sort order), and prints how near the cost model
comes to the entries that Pinot scanned in the filter, by kind of set and of filter, with the worst filters.
Queries that may end early (rows, ordered rows, DISTINCT) are asked of two copies of the table, as what they
read depends on which segments come first (which is asked too), and thrice each, as it may depend on which
thread is faster; pairs whose runs differ in one copy are told apart. Measuring takes some ten minutes for 320
queries a table, predicting one or two.

    python benchmarks/pinot_filters.py                                   # measure and compare
    python benchmarks/pinot_filters.py --seed 2 --keep measured          # keep truth.json and the segments
    python benchmarks/pinot_filters.py --truth measured/truth.json       # compare anew, without Pinot
    python benchmarks/pinot_filters.py --measure-only --keep measured    # and leave the model alone
    python benchmarks/pinot_filters.py --truth measured/truth.json --sample truth.json.gz   # for tests
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pinot.benchmark_run import benchmark_folder
from pinot.filters.checked_segments import check_segments
from pinot.filters.comparison import compared
from pinot.filters.comparison_text import comparison_lines
from pinot.filters.events_table import events_table
from pinot.filters.filter_truth import FilterTruth, read_truth, write_truth
from pinot.filters.generated_queries import generated_queries
from pinot.filters.measured_filters import PROCESSORS, measure_filters
from pinot.filters.opened_segments import opened_segments
from pinot.filters.orders_table import orders_table
from pinot.filters.predicted_entries import Predictor
from pinot.filters.sampled_truth import sampled_truth
from pinot.running_pinot import CACHE, RunningPinot, pinot_jars

TRUTH = "truth.json"
SEGMENTS = "segments"


def main() -> None:
    """Measure or read, compare, print."""
    arguments = _arguments()
    with benchmark_folder() as scratch:
        if arguments.truth:
            truth, folder = read_truth(arguments.truth), arguments.truth.parent
        else:
            folder = arguments.keep or scratch / "kept"
            truth = _measured(arguments, scratch, folder)
        segments = arguments.segments or folder / SEGMENTS
        if not segments.is_dir():
            raise ValueError(f"{segments}: no such folder of segments; --segments tells where they are")
        if arguments.sample:
            # The test that asks the sample makes the rows itself: they must be those that were measured.
            check_segments(truth, segments)
            write_truth(sampled_truth(truth, arguments.sample_queries), arguments.sample)
        elif not arguments.measure_only:
            _compare(truth, segments, arguments)


def _measured(arguments: argparse.Namespace, scratch: Path, folder: Path) -> FilterTruth:
    start = time.monotonic()
    table_seed = arguments.seed if arguments.table_seed is None else arguments.table_seed
    jars = pinot_jars(arguments.pinot_dir)
    tables = [events_table(table_seed), orders_table(table_seed)]
    queries = [q for table in tables for q in generated_queries(table, arguments.queries, arguments.seed)]
    print("starting Pinot", file=sys.stderr)
    with RunningPinot(jars, scratch / "pinot", arguments.heap, PROCESSORS) as pinot:
        truth = measure_filters(
            pinot, [(table, table_seed) for table in tables], queries, scratch, folder / SEGMENTS
        )
    truth.document["seed"] = arguments.seed
    write_truth(truth, folder / TRUTH)
    print(f"measured in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return truth


def _compare(truth: FilterTruth, segments: Path, arguments: argparse.Namespace) -> None:
    start = time.monotonic()
    predictor = Predictor(lambda variant: opened_segments(segments, variant, truth.segments(variant)))
    pairs = compared(truth.pairs(), predictor.entries)
    print(f"predicted in {time.monotonic() - start:.0f} s", file=sys.stderr)
    queries = len(truth.document["queries"])
    print(
        f"Seed {truth.document['seed']}: {queries} queries, {len(truth.document['sets'])} sets of indexes.\n"
    )
    print(*comparison_lines(pairs, is_markdown=arguments.markdown, worst_count=arguments.worst), sep="\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=_positive, default=320, help="queries a table (320)")
    parser.add_argument("--seed", type=int, default=1, help="of the queries (1)")
    parser.add_argument("--table-seed", type=int, help="of the tables' rows (as --seed)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep truth.json and the segments there")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="compare with this one, without Pinot")
    parser.add_argument("--segments", type=Path, metavar="DIR", help="the truth's segments (beside it)")
    parser.add_argument("--measure-only", action="store_true", help="measure and do not compare; with --keep")
    parser.add_argument("--sample", type=Path, metavar="FILE", help="write a sample of the truth, for tests")
    parser.add_argument("--sample-queries", type=_positive, default=100, help="queries a table of it (100)")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument("--worst", type=int, default=15, help="how many of the worst filters to print (15)")
    parser.add_argument("--pinot-dir", default=CACHE, help=f"where Pinot's jars are kept ({CACHE})")
    parser.add_argument("--heap", default="2g", help="Pinot's heap (2g)")
    arguments = parser.parse_args()
    if arguments.measure_only and (arguments.truth or not arguments.keep):
        parser.error("--measure-only needs --keep DIR, and no --truth")
    return arguments


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return int(text)


if __name__ == "__main__":
    main()
