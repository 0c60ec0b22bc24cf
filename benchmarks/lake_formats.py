"""Measure skipping beside Delta and Iceberg: the nine questions of data_skipping.py, and planning.

Each format has a Spark process of its own (local[2], driver 1 GiB, maxResultSize 16 MB), with a table over
the files of data_skipping.py and our indexes beside it. The format alone and with ours are asked in turn, run
by run, after all questions were asked once; times are medians. Files are those that Spark says it reads, and
bytes all that the processes read by Linux's count. A wrong answer, a file too many or 30 ms more than the
format alone is a failed benchmark.

Then planning over a table of many files, which is a log alone as in lake_listing.py: the time from a query's
text to the splits of its scan, by the format alone and with ours, where one file is left, where all are, and
where an OR needs the bounds that the format has in its log beside an index of ours.

    python benchmarks/lake_formats.py [--files 2000] [--rows 10000] [--planned 100000] [--runs 5]
        [--data DIR] [--formats delta,iceberg] [--only queries,planning] [--asked NAME]

Planning over a Delta table has a driver of 2 GiB: of 100,000 files Delta alone runs out of 1 GiB after some
queries.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skipping.log_files import LogFiles
from skipping.questions import Question, Truth, TruthTeller, questions
from skipping.running_peer import Engine, PeerFailed, ask, engines, linked

PARTS = ("queries", "planning")
MOST_MS_MORE = 30.0
"""Milliseconds that a question may take longer than by the format alone."""
MOST_PLANNING_MS_MORE = 50.0
_PROCESS = "lake_process.py"


def main() -> None:
    """Write the files, ask both formats, compare; exit code 1 if something is not as it must be."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)
    started = time.monotonic()
    problems: list[str] = []
    parts = arguments.only.split(",")
    if arguments.data is not None:
        Path(arguments.data).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="starskip-", dir=arguments.data) as made:
        scratch = Path(made)
        try:
            for engine in engines([*filter(None, arguments.formats.split(","))]):
                if "queries" in parts:
                    problems += _queries(engine, arguments, scratch)
                if "planning" in parts:
                    problems += _planning(engine, arguments, scratch)
        except PeerFailed as error:
            sys.exit(str(error))
    print(f"\n{time.monotonic() - started:.0f} s in all.")
    if problems:
        print(f"{len(problems)} things are not as they must be:", *problems, sep="\n  ")
        sys.exit(1)
    print("Every answer is right.")


def _queries(engine: Engine, arguments: argparse.Namespace, scratch: Path) -> list[str]:
    log = LogFiles(arguments.files, arguments.rows)
    files = log.write(Path(arguments.data or scratch))
    asked = [each for each in questions(log) if not arguments.asked or each.name in arguments.asked]
    teller = TruthTeller(files)
    truths = [teller.truth(each) for each in asked]
    teller.engine.close()
    order = {
        "part": "queries",
        "data": str(files),
        "copy": str(linked(files, scratch / f"{engine.name}-files")),
        "runs": arguments.runs,
        "questions": [{"name": each.name, "peer": each.sql("peer")} for each in asked],
    }
    told = ask(engine, order, scratch / "queries", _PROCESS)
    _print_queries(engine, log, told, asked, truths)
    return _wrong(engine, log, told, asked, truths)


def _print_queries(
    engine: Engine,
    log: LogFiles,
    told: Mapping[str, Any],
    asked: Sequence[Question],
    truths: Sequence[Truth],
) -> None:
    print(
        f"\n{engine.title} on Spark {told['spark']}: {log.files:,} files, {log.files * log.rows:,} rows; "
        f"table made in {told['prepared_s']:.1f} s, our indexes in {told['indexed_s']:.1f} s, "
        f"{told['metadata_bytes'] / 1e6:.1f} MB: {' '.join(told['indexes'])}"
    )
    title = engine.title.partition(" ")[0]
    print(
        f"{'query':<15} {'needed':>6} |{title + ': files':>14} {'MB':>8} {'ms':>7} |{'ours: files':>12} "
        f"{'MB':>8} {'ms':>7} {'ours':>6} {'ratio':>6}"
    )
    for found, question, truth in zip(told["questions"], asked, truths, strict=True):
        alone, ours = found["ways"]["format"], found["ways"]["ours"]
        print(
            f"{question.name:<15} {truth.files:>6,} |{_told(alone, 14)} |{_told(ours, 12)} "
            f"{ours['metadata_ms']:>6.1f} {alone['ms'] / ours['ms']:>5.1f}x"
        )


def _told(way: Mapping[str, Any], width: int) -> str:
    return f"{way['files']:>{width},} {way['read_bytes'] / 1e6:>8,.1f} {way['ms']:>7,.0f}"


def _wrong(
    engine: Engine,
    log: LogFiles,
    told: Mapping[str, Any],
    asked: Sequence[Question],
    truths: Sequence[Truth],
) -> list[str]:
    problems = []
    for found, question, truth in zip(told["questions"], asked, truths, strict=True):
        what = f"{engine.title}, {question.name}"
        ways = found["ways"]
        for name, way in ways.items():
            if way["answers"] != [[truth.rows, truth.total]]:
                problems.append(f"{what}, {name}: {way['answers']} instead of {[truth.rows, truth.total]}")
        false = round(2 * question.false_ratio * (log.files - truth.files)) + bool(question.false_ratio)
        read = ways["ours"]["files"]
        if not truth.files <= read <= truth.files + false:
            problems.append(f"{what}: {read} files read where {truth.files} hold matching rows")
        more = ways["ours"]["ms"] - ways["format"]["ms"]
        if more > MOST_MS_MORE:
            problems.append(f"{what}: {more:.0f} ms slower than by the format alone")
    return problems


def _planning(engine: Engine, arguments: argparse.Namespace, scratch: Path) -> list[str]:
    order = {"part": "planning", "files": arguments.planned, "runs": arguments.runs}
    told = ask(engine, order, scratch / "planning", _PROCESS)
    print(
        f"\n{engine.title}, planning over {arguments.planned:,} files: our metadata in "
        f"{told['indexed_s']:.1f} s, {told['metadata_bytes'] / 1e6:.1f} MB; the driver's Python had at most "
        f"{told['python_mib']:.0f} MiB"
    )
    print(
        f"{'query':<24} {'files: alone':>12} {'ours':>8} | {'ms: alone':>9} {'ours':>7} {'more':>7} "
        f"{'first':>8}"
    )
    problems = []
    for each in told["questions"]:
        more = each["ours_ms"] - each["format_ms"]
        print(
            f"{each['name']:<24} {each['format_files']:>12,} {each['ours_files']:>8,} | "
            f"{each['format_ms']:>9,.0f} {each['ours_ms']:>7,.0f} {more:>7,.0f} {each['first_ms']:>8,.0f}"
        )
        if more > MOST_PLANNING_MS_MORE:
            problems.append(
                f"{engine.title}, planning {each['name']}: {more:.0f} ms more than the format's own"
            )
        if each["ours_files"] != each["expected_files"]:
            problems.append(f"{engine.title}, planning {each['name']}: {each['ours_files']} files left")
    return problems


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2000, help="how many files are asked")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a file")
    parser.add_argument(
        "--planned", type=int, default=100_000, help="files of the table that is only planned"
    )
    parser.add_argument("--data", help="where files are kept; a temporary folder if left out")
    parser.add_argument("--runs", type=int, default=5, help="how often each answer is timed")
    parser.add_argument("--formats", default="delta,iceberg", help="of delta and iceberg, comma separated")
    parser.add_argument("--asked", action="append", help="only the question of this name; repeatable")
    parser.add_argument("--only", default=",".join(PARTS), help=f"only these parts: {', '.join(PARTS)}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
