"""Savings of data skipping: beside plain Spark, Delta and Iceberg, and as the paper's figures show them.

First writes 2,000 Parquet files of 10,000 rows (1.3 GB; the same ones each time), builds the indexes, and
asks nine questions of each engine in a Spark process of its own (local[2], driver 3 GiB). In each one plain
Spark over the same files is asked too, in turn, run by run; a time is a median of warm runs, after all
questions were asked once, and a ratio one within a process. Files are Spark's own metrics; bytes are all
that the processes read. DuckDB is shown, and says what is true: a missing or an additional row is a failed
benchmark, and so is a file too many for an exact index.

Then prints table II and figures 7 to 12 of "Extensible Data Skipping", over two tables that are written
first and read (docs/skipping-figures.md): a log of requests to databases (0.2 GB) and five years of weather
by month and grid cell (0.1 GB).

    python benchmarks/data_skipping.py [--files 2000] [--rows 10000] [--data DIR] [--runs 3]
        [--peers delta,iceberg] [--only queries,table2,figure7,figure8,figure9,figure11,figure12]
        [--days 10] [--months 60] [--cells 32] [--cell-rows 500]
    python benchmarks/data_skipping.py --files 200 --peers ""      # a quick look, a few minutes
    python benchmarks/data_skipping.py --only figure9 --days 2     # figures 9 and 10 alone
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skipping.database_logs import DatabaseLogs
from skipping.indexing_figures import print_figure_7, print_table_2
from skipping.log_files import LogFiles
from skipping.metadata_time import print_figure_8
from skipping.paper_tables import PaperTables
from skipping.questions import GEOSPATIAL, INDEXES, Question, Truth, TruthTeller, questions
from skipping.running_peer import Engine, PeerFailed, ask, engines, linked
from skipping.spark_process import session
from skipping.time_windows import print_figures_9_and_10
from skipping.weather_files import WeatherFiles
from skipping.workload_indicators import print_figure_11, print_figure_12
from starskip.spark import skipping

FIGURES = {
    "table2": ("logs", "weather"),
    "figure7": ("logs", "weather"),
    "figure8": ("logs",),
    "figure9": ("weather",),
    "figure11": ("logs",),
    "figure12": ("logs",),
}
"""Figures by name, and the tables that they need; figure 10 comes with figure 9."""
PARTS = ("queries", *FIGURES)
HYPERSPACE = ("minmax:ts", "minmax:lat", "minmax:lng", "minmax:db_name", "bloom:uuid:0.01")
HYPERSPACE_SECONDS = 26.0
"""Seconds that Hyperspace took for min/max and bloom of 20 million rows on a machine like this one."""


def main() -> None:
    """Write, build, ask, compare; exit code 1 if an answer is wrong or an index reads what it need not."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)
    started = time.monotonic()
    problems: list[str] = []
    parts = arguments.only.split(",") if arguments.only else PARTS
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"--only: {', '.join(sorted(unknown))}: write some of {', '.join(PARTS)}")
    if arguments.data is not None:
        Path(arguments.data).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="starskip-", dir=arguments.data) as made:
        scratch = Path(made)
        if "queries" in parts:
            try:
                problems += _queries(arguments, scratch)
            except PeerFailed as error:
                sys.exit(str(error))
        problems += _figures([each for each in parts if each in FIGURES], arguments, scratch)
    print(f"\n{time.monotonic() - started:.0f} s in all.")
    if problems:
        print(f"{len(problems)} things are not as they must be:", *problems, sep="\n  ")
        sys.exit(1)
    print("Every answer is right.")


def _queries(arguments: argparse.Namespace, scratch: Path) -> list[str]:
    log = LogFiles(arguments.files, arguments.rows)
    files = log.write(Path(arguments.data or scratch))
    size = sum(file.stat().st_size for file in log.paths(files))
    print(f"{log.files:,} files, {log.files * log.rows:,} rows, {size / 1e6:,.0f} MB of Parquet")
    _build(files, scratch)
    found = engines(["starskip", *filter(None, arguments.peers.split(","))])
    return _print_queries(log, files, found, scratch, arguments.runs)


def _figures(names: Sequence[str], arguments: argparse.Namespace, scratch: Path) -> list[str]:
    if not names:
        return []
    spark = session("starskip", [], str(scratch))
    (scratch / "figures").mkdir()
    tables = PaperTables(
        spark,
        scratch / "figures",
        DatabaseLogs(arguments.days, 20, 16_000),
        WeatherFiles(arguments.months, arguments.cells, arguments.cell_rows),
    )
    tables.write(Path(arguments.data or scratch), (table for name in names for table in FIGURES[name]))
    printers: dict[str, Callable[[], list[str]]] = {
        "table2": lambda: print_table_2(tables),
        "figure7": lambda: print_figure_7(tables),
        "figure8": lambda: print_figure_8(tables, arguments.runs),
        "figure9": lambda: print_figures_9_and_10(tables, arguments.runs),
        "figure11": lambda: print_figure_11(tables),
        "figure12": lambda: print_figure_12(tables),
    }
    problems = [problem for name in names for problem in printers[name]()]
    spark.stop()
    return problems


def _build(files: Path, scratch: Path) -> None:
    spark = session("starskip", [], str(scratch))
    for name, indexes in (("metadata", INDEXES), ("hyperspace", HYPERSPACE)):
        root = str(scratch / name)
        start = time.perf_counter()
        skipping.create(spark, str(files), list(indexes), metadata_root=root)
        seconds = time.perf_counter() - start
        size = skipping.describe(spark, str(files), metadata_root=root)["metadata_bytes"]
        print(f"{len(indexes)} indexes together: {seconds:.1f} s, {size / 1e6:.1f} MB: {' '.join(indexes)}")
    print(f"  (Hyperspace needs {HYPERSPACE_SECONDS:.0f} s for what the last line has, of 20 million rows)")
    spark.stop()


def _print_queries(
    log: LogFiles, files: Path, found: Sequence[Engine], scratch: Path, runs: int
) -> list[str]:
    asked = questions(log)
    teller = TruthTeller(files)
    truths = [teller.truth(each) for each in asked]
    duck = [_duckdb_ms(teller, each, truth, runs) for each, truth in zip(asked, truths, strict=True)]
    teller.engine.close()
    answers: dict[str, dict[str, Any]] = {}
    for engine in found:
        own = engine.name == "starskip"
        order = {
            "data": str(files),
            "copy": "" if own else str(linked(files, scratch / f"{engine.name}-files")),
            "metadata_root": str(scratch / "metadata"),
            "modules": [GEOSPATIAL],
            "runs": runs,
            "questions": [_order(each) for each in asked],
        }
        answers[engine.name] = ask(engine, order, scratch)
    _print_table(found, answers, asked, truths, duck)
    return _wrong(log, found, answers, asked, truths)


def _order(question: Question) -> dict[str, Any]:
    rewritten = question.rewritten
    return {
        "name": question.name,
        "plain": question.sql("plain"),
        "rewritten": question.sql("plain", rewritten) if rewritten else None,
        "peer": question.sql("peer"),
        "peer_rewritten": question.sql("peer", rewritten) if rewritten else None,
    }


def _duckdb_ms(teller: TruthTeller, question: Question, truth: Truth, runs: int) -> float | None:
    if question.is_function:
        return None
    times = []
    for _ in range(1 + runs):
        start = time.perf_counter()
        ((rows, total),) = teller.answer(question)
        times.append((time.perf_counter() - start) * 1000)
        assert (rows, int(total or 0)) == (truth.rows, truth.total)
    return statistics.median(times[1:])


def _print_table(
    found: Sequence[Engine],
    answers: Mapping[str, Mapping[str, Any]],
    asked: Sequence[Question],
    truths: Sequence[Truth],
    duck: Sequence[float | None],
) -> None:
    for engine in found:
        told = answers[engine.name]
        made = "" if engine.name == "starskip" else f"; table made in {told['prepared_s']:.1f} s"
        by = "plain Spark" if engine.name == "starskip" else engine.title
        print(
            f"\n{engine.title} on Spark {told['spark']}{made}. needed: files with a matching row; "
            f"rewritten: the query with min/max predicates, by {by}"
        )
        measures = f"{'MB':>8} {'ms':>8}"
        print(
            f"{'query':<15} {'needed':>6} |{'plain: files':>13} {measures} |{'rewritten: files':>17} "
            f"{measures} {'x':>6} |{engine.title.partition(' ')[0] + ': files':>16} {measures} {'x':>6}"
            + (f" |{'DuckDB ms':>10}" if engine.name == "starskip" else "")
        )
        for number, (question, truth) in enumerate(zip(asked, truths, strict=True)):
            ways = told["questions"][number]["ways"]
            plain = ways["plain"]
            line = f"{question.name:<15} {truth.files:>6,} |{_columns(plain, None, 13)} |"
            line += (
                _columns(ways["rewritten"], plain, 17) if "rewritten" in ways else f"{'the same query':>42}"
            )
            line += f" |{_columns(ways['peer'], plain, 16)}"
            if engine.name == "starskip":
                milliseconds = duck[number]
                line += f" |{'-' if milliseconds is None else f'{milliseconds:.0f}':>10}"
            print(line)
    if len(found) > 1 and found[0].name == "starskip":
        print("\nTime of plain Spark in the same process, divided by the time of")
        print(f"{'query':<15}" + "".join(f"{engine.title:>16}" for engine in found))
        for number, question in enumerate(asked):
            ratios = [_ratio(answers[engine.name]["questions"][number]["ways"]) for engine in found]
            print(f"{question.name:<15}" + "".join(f"{ratio:>15.1f}x" for ratio in ratios))


def _columns(way: Mapping[str, Any], plain: Mapping[str, Any] | None, width: int) -> str:
    files = "?" if way["files"] is None else f"{way['files']:,}"
    text = f"{files:>{width}} {way['read_bytes'] / 1e6:>8,.1f} {way['ms']:>8,.0f}"
    return text if plain is None else f"{text} {plain['ms'] / way['ms']:>5.1f}x"


def _ratio(ways: Mapping[str, Any]) -> float:
    return float(ways["plain"]["ms"] / ways["peer"]["ms"])


def _wrong(
    log: LogFiles,
    found: Sequence[Engine],
    answers: Mapping[str, Mapping[str, Any]],
    asked: Sequence[Question],
    truths: Sequence[Truth],
) -> list[str]:
    problems = []
    for engine in found:
        for number, (question, truth) in enumerate(zip(asked, truths, strict=True)):
            ways = answers[engine.name]["questions"][number]["ways"]
            for name, way in ways.items():
                if way["answers"] != [[truth.rows, truth.total]]:
                    problems.append(
                        f"{engine.title}, {question.name}, {name}: {way['answers']} instead of "
                        f"{[truth.rows, truth.total]}"
                    )
            read = ways["peer"]["files"]
            most = (
                truth.files
                + round(2 * question.false_ratio * (log.files - truth.files))
                + bool(question.false_ratio)
            )
            if engine.name == "starskip" and (read is None or not truth.files <= read <= most):
                problems.append(f"{question.name}: {read} files read where {truth.files} hold matching rows")
    return problems


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=2000, help="how many files")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a file")
    parser.add_argument("--data", help="where files are kept; a temporary folder if left out")
    parser.add_argument("--runs", type=int, default=3, help="how often each answer is timed")
    parser.add_argument("--peers", default="delta,iceberg", help="of delta and iceberg, comma separated")
    parser.add_argument("--only", help=f"only these parts, comma separated: {', '.join(PARTS)}")
    parser.add_argument("--days", type=int, default=10, help="days of the figures' log, 20 files each")
    parser.add_argument("--months", type=int, default=60, help="months of weather")
    parser.add_argument("--cells", type=int, default=32, help="grid cells of weather, a power of two")
    parser.add_argument("--cell-rows", type=int, default=500, help="rows of weather a month and cell")
    return parser.parse_args()


if __name__ == "__main__":
    main()
