"""Cost of encryption when a query is planned: metadata with a key for each index, and file names under one.

The table is made up: no file of it is there. Its metadata is real, min/max of ten columns, written by
Starskip's own code. What is timed is what a plan does with a store: find the newest version, unwrap the data
keys, judge a condition, and know the files' paths, sizes and times. Cold: in a process that has read nothing
yet (the disk has). Warm: again, with what the process has kept. For each condition the least of some runs in
milliseconds, the stores in turn, and as a ratio of plain metadata (aim: at most 1.3 cold, 1.05 warm).

    python benchmarks/skipping_encryption.py [--files 100000] [--runs 40]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
import pyarrow as pa
from starskip.indexes.skipping.build_clause import build_clause
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.collect_order import FILES
from starskip.indexes.skipping.metadata.metadata_files import FILES_SCHEMA
from starskip.indexes.skipping.metadata.new_keys import new_keys, with_checks
from starskip.indexes.skipping.metadata.open_metadata import metadata_chain, read_metadata
from starskip.indexes.skipping.metadata.segment import Segment
from starskip.indexes.skipping.metadata.store_of import store_of
from starskip.indexes.skipping.metadata.table_keys import TableKeys
from starskip.indexes.skipping.metadata.table_metadata import COLUMNS as KEPT
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.metadata.table_source import TableSource
from starskip.indexes.skipping.metadata.table_state import ARTEFACT, CURRENT, TableState
from starskip.indexes.skipping.registry import index_from_specification
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.encryption.wrapping_key import LocalKey
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for

NAMES = tuple(f"c{number}" for number in range(10))
INDEXES = tuple(f"minmax:{name}" for name in NAMES)
VALUES = 1_000_000_000
SOURCE = TableSource("file:/lake/made_up", "parquet", {"schema": "one"})
SECRETS = {name: bytes([number + 1]) * 32 for number, name in enumerate((*NAMES, "names"))}
VARIANTS = {
    "plain": TableKeys(),
    "a key an index": TableKeys({f"minmax:{name}": name for name in NAMES}),
    "and file names": TableKeys({f"minmax:{name}": name for name in NAMES}, "names"),
}
COLD_AIM, WARM_AIM = 1.3, 1.05


def main() -> None:
    """Write the metadata plain and encrypted, plan with each, print."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="starskip-") as folder:
        stores = {name: storage_for(f"{folder}/{number}") for number, name in enumerate(VARIANTS)}
        print(f"{arguments.files:,} files, min/max of {len(NAMES)} columns")
        for name, storage in stores.items():
            start = time.perf_counter()
            _write(storage, arguments.files, VARIANTS[name])
            size = sum(each.size_bytes for each in storage.objects_below("")) / 1e6
            print(f"  {name}: written in {time.perf_counter() - start:.2f} s, {size:.2f} MB")
        _print_planning(stores, arguments.files, arguments.runs)


def _print_planning(stores: Mapping[str, Storage], files: int, runs: int) -> None:
    width = VALUES // files
    conditions: dict[str, list[Expression]] = {
        "1 file is left": [_compared("EqualTo", "c0", files // 2 * width + width // 2)],
        "half are left": [_compared("LessThan", "c0", VALUES // 2)],
        "ten clauses": [_compared("LessThan", name, VALUES * 7 // 10) for name in NAMES],
    }
    print(f"  aim: at most {COLD_AIM} cold, {WARM_AIM} warm")
    print(f"  {'planning, ms':<16} {'':<16}{'cold':>8}{'ratio':>8}{'warm':>8}{'ratio':>8}")
    for condition, predicates in conditions.items():
        clause = build_clause([index_from_specification(each) for each in INDEXES], predicates)
        assert clause is not None
        times: dict[tuple[str, bool], list[float]] = {}
        left = set()
        for run in range(1 + runs):
            # Each comes first as often as the others: what a processor still holds is of the one before.
            first = run % len(stores)
            for name, storage in [*stores.items()][first:] + [*stores.items()][:first]:
                for is_cold in (True, False):
                    milliseconds, mask = _planned(storage, clause, is_cold=is_cold)
                    times.setdefault((name, is_cold), []).append(milliseconds)
                    left.add(int(np.count_nonzero(mask)))
        assert len(left) == 1, "all leave the same files"
        for name in stores:
            line = f"  {condition:<16} {name:<16}"
            for is_cold in (True, False):
                mine, plain = (min(times[each, is_cold][1:]) for each in (name, "plain"))
                line += f"{mine:>8.2f}{mine / plain:>8.2f}"
            print(line)


_opened: dict[str, TableMetadata] = {}


def _planned(storage: Storage, clause: Clause, *, is_cold: bool) -> tuple[float, Mask]:
    """Return how many milliseconds a plan takes, and which files are left."""
    if is_cold:
        KEPT.clear()
        _opened.clear()
        keyring = _keyring()
    start = time.perf_counter()
    if is_cold:
        opened = read_metadata(storage, keyring=keyring)
        assert opened is not None and not opened.unlocked.locked
        _opened[storage.place] = opened
    else:
        # What a finder asks once a second: whether there is a newer version.
        assert max(metadata_chain(storage).listed()) == _opened[storage.place].version
    metadata = _opened[storage.place]
    mask = metadata.may_match(clause)
    assert len(metadata.paths) == len(metadata.sizes) == len(metadata.modified_ms) == len(mask)
    return (time.perf_counter() - start) * 1000, mask


def _keyring() -> Keyring:
    return Keyring({name: LocalKey(secret) for name, secret in SECRETS.items()})


def _write(storage: Storage, files: int, keys: TableKeys) -> None:
    aside = ArtefactStore(storage).staged_write(ARTEFACT, CURRENT)
    keys = with_checks(keys, _keyring())
    made, wrapped = new_keys([FILES, *INDEXES], SOURCE.path, keys, _keyring())
    groups = store_of(storage).with_keys({}, made).write(aside, _groups(files))
    others = {name: of for name, of in groups.items() if name != FILES}
    segment = Segment(files, SOURCE.generation, groups[FILES], others, keys=wrapped)
    state = TableState(SOURCE, dict.fromkeys(others, True), {"one": segment}, keys)
    metadata_chain(storage).commit(
        lambda _: state.to_parts(),
        commit_id=uuid4().hex,
        created_at=datetime.now(UTC),
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=100_000, help="number of files")
    parser.add_argument("--runs", type=int, default=40, help="how often each is timed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
