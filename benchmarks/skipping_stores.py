"""Cost of planning by the store of the metadata: Parquet files, warm and cold, and OpenSearch.

The table is made up: no file of it is there. Its metadata is real, min/max of ten columns, written to both
stores by Starskip's own code. What is timed is what a plan does with a store: find the newest version, judge
a condition, and know the files' paths, sizes and times. Cold: in a process that has read nothing yet (the
server and the disk have). Warm: again, with what the process has kept. For each condition the least of some
runs in milliseconds, the stores in turn, and OpenSearch's as a ratio of Parquet's.

    python benchmarks/skipping_stores.py [--files 100000] [--runs 5] [--root opensearch://HOST:PORT/PREFIX]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from running_opensearch import RunningOpenSearch
from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.collect_order import FILES
from starskip.indexes.skipping.metadata.metadata_files import FILES_SCHEMA
from starskip.indexes.skipping.metadata.metadata_storage import metadata_storage
from starskip.indexes.skipping.metadata.open_metadata import metadata_chain, read_metadata
from starskip.indexes.skipping.metadata.opensearch import known_details
from starskip.indexes.skipping.metadata.segment import Segment
from starskip.indexes.skipping.metadata.store_of import store_of
from starskip.indexes.skipping.metadata.table_metadata import COLUMNS as KEPT
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.metadata.table_source import TableSource
from starskip.indexes.skipping.metadata.table_state import ARTEFACT, CURRENT, TableState
from starskip.indexes.skipping.registry import index_from_specification
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock

NAMES = tuple(f"c{number}" for number in range(10))
VALUES = 1_000_000_000
SOURCE = TableSource("file:/lake/made_up", "parquet", {"schema": "one"})


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
            _write(storage, arguments.files)
            size = sum(each.size_bytes for each in storage.objects_below("")) / 1e6
            print(f"  {name}: written in {time.perf_counter() - start:.1f} s, {size:.1f} MB of columns")
        _print_planning(stores, arguments.files, arguments.runs)


def _print_planning(stores: Mapping[str, Storage], files: int, runs: int) -> None:
    width = VALUES // files
    conditions: dict[str, list[Expression]] = {
        "1 file is left": [_compared("EqualTo", "c0", files // 2 * width + width // 2)],
        "1 % are left": [_compared("LessThan", "c0", VALUES // 100)],
        "half are left": [_compared("LessThan", "c0", VALUES // 2)],
        "ten clauses, 3 % are left": [_compared("LessThan", name, VALUES * 7 // 10) for name in NAMES],
    }
    columns = ("Parquet cold", "OpenSearch cold", "ratio", "Parquet warm", "OpenSearch warm", "ratio")
    print(f"  {'planning, ms':<28} {'files left':>10}" + "".join(f"{each:>17}" for each in columns))
    for name, predicates in conditions.items():
        clause = build_clause([index_from_specification(f"minmax:{each}") for each in NAMES], predicates)
        assert clause is not None
        times: dict[tuple[str, bool], list[float]] = {}
        left = set()
        for _ in range(1 + runs):
            for store, storage in stores.items():
                for is_cold in (True, False):
                    milliseconds, mask = _planned(storage, clause, is_cold=is_cold)
                    times.setdefault((store, is_cold), []).append(milliseconds)
                    left.add(int(np.count_nonzero(mask)))
        (count,) = left  # both stores leave the same files
        line = f"  {name:<28} {count:>10,}"
        for is_cold in (True, False):
            ours, theirs = (min(times[store, is_cold][1:]) for store in ("Parquet", "OpenSearch"))
            line += f"{ours:>17.1f}{theirs:>17.1f}{theirs / ours:>17.2f}"
        print(line)


_opened: dict[str, TableMetadata] = {}


def _planned(storage: Storage, clause: Clause, *, is_cold: bool) -> tuple[float, Mask]:
    """Return how many milliseconds a plan takes with a store, and which files are left."""
    if is_cold:
        KEPT.clear()
        known_details._kept.clear()
        _opened.clear()
    start = time.perf_counter()
    if is_cold:
        opened = read_metadata(storage)
        assert opened is not None
        _opened[storage.place] = opened
    else:
        # What a finder asks once a second: whether there is a newer version.
        assert max(metadata_chain(storage).listed()) == _opened[storage.place].version
    metadata = _opened[storage.place]
    mask = metadata.may_match(clause)
    assert len(metadata.paths) == len(metadata.sizes) == len(metadata.modified_ms) == len(mask)
    return (time.perf_counter() - start) * 1000, mask


def _write(storage: Storage, files: int) -> None:
    aside = ArtefactStore(storage).staged_write(ARTEFACT, CURRENT)
    groups = store_of(storage).write(aside, _groups(files))
    others = {name: of for name, of in groups.items() if name != FILES}
    segment = Segment(files, SOURCE.generation, groups[FILES], others)
    state = TableState(SOURCE, dict.fromkeys(others, True), {"one": segment})
    metadata_chain(storage).commit(
        lambda _: state.to_parts(),
        commit_id=uuid4().hex,
        created_at=store_clock(storage),
        created_by="benchmark",
    )


def _groups(files: int) -> Iterator[tuple[str, pa.Table]]:
    """``c0`` is sorted and its ranges lie side by side; ranges of the others lie anywhere, 1 % wide."""
    numbers = np.arange(files)
    paths = [f"file:/lake/made_up/part-{number:08d}.parquet" for number in range(files)]
    same = {name: np.full(files, 1_000_000, np.int64) for name in ("size_bytes", "modified_ms", "rows")}
    yield FILES, pa.table({"path": paths, **same, "trusted": np.ones(files, np.bool_)}, schema=FILES_SCHEMA)
    for name in NAMES:
        if name == "c0":
            least, width = numbers * (VALUES // files), VALUES // files - 1
        else:
            random = np.random.default_rng(int(name[1:]))
            least, width = random.integers(0, VALUES, files), VALUES // 100
        yield (
            f"minmax:{name}",
            pa.table({"min": least, "max": least + width, "values": same["rows"]}),
        )


def _compared(operator: str, column: str, value: int) -> Expression:
    return Call(operator, (Column((column,), "bigint"), Literal(pa.scalar(value, pa.int64()))))


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
