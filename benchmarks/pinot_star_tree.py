"""Starskip's star-trees beside those of a real Apache Pinot 0.11.0: same rows, same configurations.

Fetches Pinot with Maven (once), starts it, lets both build trees of TPC-H lineitem (tpchgen-cli), and asks
both the same queries, and DuckDB the rows. It prints: documents of each tree, Pinot's predicted from ours by
the rules in which the two differ; bytes on disk; documents read for each query, Pinot's predicted likewise;
how far approximate answers are off. The exit code is 1 if an exact answer differs, an approximate one is
outside of its bound, or a number is not what the rules say.

    python benchmarks/pinot_star_tree.py [--factor 0.05] [--pinot-dir DIR] [--heap 2g] [--case NAME]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pinot.benchmark_run import benchmark_folder
from pinot.built_case import BuiltCase, build_case
from pinot.compare_approximate import compare_approximate
from pinot.compare_exact import compare_exact
from pinot.raw_rows import RawRows
from pinot.running_pinot import CACHE, RunningPinot, pinot_jars
from pinot.star_tree_cases import CASES, SEED_ROWS, Case
from tpch import generate_tpch

SEGMENTS = 4


def main() -> None:
    """Build, compare, print; exit code 1 if something is not as it must be."""
    arguments = _arguments()
    cases = [case for case in CASES if arguments.case in (None, case.name)]
    problems: list[str] = []
    start = time.monotonic()
    with benchmark_folder() as folder:
        jars = pinot_jars(arguments.pinot_dir)
        files = _files(folder, arguments.factor)
        (folder / "trees").mkdir()
        print("starting Pinot", file=sys.stderr)
        with RunningPinot(jars, folder / "pinot", arguments.heap) as pinot:
            built = [build_case(case, files[_kind(case)], pinot, folder / "trees") for case in cases]
            problems += _print_documents(built)
            _print_sizes(built)
            raw = RawRows(files["one"][0])
            problems += compare_exact([each for each in built if _is_asked(each.case)], pinot, raw)
            problems += compare_approximate([each for each in built if _is_sketched(each.case)], pinot, raw)
    print(f"\n{time.monotonic() - start:.0f} s in all.")
    if problems:
        print(f"{len(problems)} things are not as they must be:", *problems, sep="\n  ")
        sys.exit(1)
    print("Every number is as the rules say, every answer is the rows' own or within its bound.")


def _kind(case: Case) -> str:
    if case.is_seed:
        return "seed"
    return "one" if case.segments == 1 else "several"


def _is_sketched(case: Case) -> bool:
    return any(pair.startswith("PERCENTILE") for pair in case.pairs)


def _is_asked(case: Case) -> bool:
    return not case.is_seed and not _is_sketched(case) and not case.name.startswith("small")


def _files(folder: Path, factor: float) -> dict[str, list[Path]]:
    """Write the rows as one file and as several, and those of the star-tree page; a folder for each kind."""
    found: dict[str, list[Path]] = {}
    for kind in ("one", "several", "seed"):
        (folder / kind).mkdir()
    generate_tpch(folder / "one", factor, "lineitem", file_format="csv")
    found["one"] = [folder / "one" / "lineitem.csv"]
    header, *lines = found["one"][0].read_text().splitlines(keepends=True)
    length = -(-len(lines) // SEGMENTS)
    found["several"] = [folder / "several" / f"lineitem-{number}.csv" for number in range(SEGMENTS)]
    for number, file in enumerate(found["several"]):
        file.write_text("".join([header, *lines[number * length : (number + 1) * length]]))
    found["seed"] = [folder / "seed" / "impressions.csv"]
    found["seed"][0].write_text(SEED_ROWS)
    return found


def _print_documents(built: Sequence[BuiltCase]) -> list[str]:
    """Print how many documents there are; return what the rules do not explain."""
    print(
        "\nDocuments. Pinot makes one more for a split node whose dimension has one value there (our node\n"
        "points to its child's), splits the root always (we: above maxLeafRecords, as LinkedIn's article\n"
        "has it), and builds a tree a segment (we: one of all files).\n"
    )
    print(
        f"{'tree':<18} {'dims':>4} {'T':>6} {'segments':>8} {'rows':>8} {'ours':>9} {'by segment':>10} "
        f"{'+ only child':>12} {'+ root':>7} {'= predicted':>11} {'Pinot':>9}"
    )
    problems = []
    for each in built:
        case = each.case
        by_segment = sum(tree.documents_total for tree in each.of_segments)
        only = sum(more.of_only_children for more in each.more)
        root = sum(more.of_root for more in each.more)
        pinot = sum(tree.documents for tree in each.pinot)
        print(
            f"{case.name:<18} {len(case.dimensions):>4} {case.max_leaf_records:>6,} {case.segments:>8} "
            f"{each.rows:>8,} {each.tree.documents_total:>9,} {by_segment:>10,} {only:>12,} {root:>7,} "
            f"{by_segment + only + root:>11,} {pinot:>9,}{'' if each.is_explained else '  NOT EXPLAINED'}"
        )
        if not each.is_explained:
            problems.append(f"{case.name}: Pinot has {pinot} documents, predicted {by_segment + only + root}")
        if each.config_read_back != case.config:
            problems.append(f"{case.name}: Pinot's table config is read as {each.config_read_back}")
        if case.is_seed and (by_segment, pinot) != (27, 28):
            problems.append(
                f"rows of that page: {by_segment} documents instead of 27, Pinot {pinot} instead of 28"
            )
    unchanged = sum(each.config_read_back == each.case.config for each in built)
    print(f"Configurations that Pinot took from us and we read back unchanged: {unchanged} of {len(built)}.")
    return problems


def _print_sizes(built: Sequence[BuiltCase]) -> None:
    print("\nBytes on disk (Pinot: star_tree_index by its map; we: Parquet, dictionaries included)\n")
    print(
        f"{'tree':<18} {'Pinot: nodes':>12} {'documents':>11} {'all':>11}   {'ours: nodes':>11} "
        f"{'documents':>11} {'all':>11} {'ours/Pinot':>10}"
    )
    for each in built:
        nodes = sum(tree.node_bytes for tree in each.pinot)
        documents = sum(tree.document_bytes for tree in each.pinot)
        ours = each.trees.size_bytes
        print(
            f"{each.case.name:<18} {nodes:>12,} {documents:>11,} {nodes + documents:>11,}   "
            f"{each.our_bytes('nodes'):>11,} {each.our_bytes('base', 'star'):>11,} {ours:>11,} "
            f"{ours / (nodes + documents):>10.2f}"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--factor", type=float, default=0.05, help="TPC-H scale factor; 6 million rows at 1")
    parser.add_argument("--pinot-dir", default=CACHE, help=f"where Pinot's jars are kept ({CACHE})")
    parser.add_argument("--heap", default="2g", help="Pinot's heap")
    parser.add_argument("--case", choices=[case.name for case in CASES], help="only this one")
    return parser.parse_args()


if __name__ == "__main__":
    main()
