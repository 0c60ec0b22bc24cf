"""Cost of planning by the store of the metadata: Parquet files, warm and cold, and OpenSearch.

What is timed tells ``skipping/min_max_metadata.py``. For each condition the least of some runs in
milliseconds, the stores in turn, and OpenSearch's as a ratio of Parquet's.

    python benchmarks/skipping_stores.py [--files 100000] [--runs 5] [--root opensearch://HOST:PORT/PREFIX]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from skipping.min_max_metadata import NAMES, VALUES, Planner, compared, write_metadata

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from running_opensearch import RunningOpenSearch
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.table_keys import TableKeys
from starskip.predicates.expression import Expression
from starskip.storage.encryption.keyring import Keyring


def main() -> None:
    """Write the metadata to both stores, ask both, print."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="starskip-") as folder, _root(arguments.root, folder) as root:
        stores = {
            "Parquet": metadata_storage(f"{folder}/metadata"),
            "OpenSearch": metadata_storage(f"{root}/t-{uuid4().hex}"),
        }
        print(f"{arguments.files:,} files, min/max of {len(NAMES)} columns")
        for name, storage in stores.items():
            start = time.perf_counter()
            write_metadata(storage, arguments.files, TableKeys(), Keyring())
            size = sum(each.size_bytes for each in storage.objects_below("")) / 1e6
            print(f"  {name}: written in {time.perf_counter() - start:.1f} s, {size:.1f} MB of columns")
        _print_planning(Planner(stores), arguments.files, arguments.runs)


def _print_planning(planner: Planner, files: int, runs: int) -> None:
    width = VALUES // files
    conditions: dict[str, list[Expression]] = {
        "1 file is left": [compared("EqualTo", "c0", files // 2 * width + width // 2)],
        "1 % are left": [compared("LessThan", "c0", VALUES // 100)],
        "half are left": [compared("LessThan", "c0", VALUES // 2)],
        "ten clauses, 3 % are left": [compared("LessThan", name, VALUES * 7 // 10) for name in NAMES],
    }
    columns = ("Parquet cold", "OpenSearch cold", "ratio", "Parquet warm", "OpenSearch warm", "ratio")
    print(f"  {'planning, ms':<28} {'files left':>10}" + "".join(f"{each:>17}" for each in columns))
    for name, predicates in conditions.items():
        count, least = planner.least_ms(predicates, runs)
        line = f"  {name:<28} {count:>10,}"
        for is_cold in (True, False):
            ours, theirs = (least[store, is_cold] for store in ("Parquet", "OpenSearch"))
            line += f"{ours:>17.1f}{theirs:>17.1f}{theirs / ours:>17.2f}"
        print(line)


@contextmanager
def _root(given: str | None, folder: str) -> Iterator[str]:
    if given:
        yield given
        return
    server = RunningOpenSearch(Path(folder) / "opensearch")
    server.folder.mkdir()
    try:
        server.start()
        yield server.url("benchmark")
    finally:
        server.kill()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=100_000, help="number of files")
    parser.add_argument("--runs", type=int, default=5, help="how often each is timed")
    parser.add_argument("--root", help="an OpenSearch that runs; by default one is started here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
