"""Metadata of files that are not there, min/max of ten columns, and the time that a plan takes with it.

Starskip's own code writes it, to any store. What is timed is what a plan does with a store: find the newest
version, unwrap data keys, judge a condition, and know the files' paths, sizes and times. Cold: in a process
that has read nothing yet (a server and the disk have). Warm: again, with what the process has kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np
import pyarrow as pa
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.metadata_files import FILES_SCHEMA
from starskip.file_metadata.new_keys import new_keys, with_checks
from starskip.file_metadata.open_metadata import metadata_chain, read_metadata
from starskip.file_metadata.parquet_store import store_of
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_keys import TableKeys
from starskip.file_metadata.table_metadata import COLUMNS as KEPT
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.build_clause import build_clause
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import Mask
from starskip.skipping.registry import index_from_specification
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock
from starskip_opensearch import known_details

NAMES = tuple(f"c{number}" for number in range(10))
INDEXES = tuple(f"minmax:{name}" for name in NAMES)
VALUES = 1_000_000_000
_SOURCE = TableSource("file:/lake/made_up", "parquet", {"schema": "one"})


def write_metadata(storage: Storage, files: int, keys: TableKeys, keyring: Keyring) -> None:
    """Write and publish the metadata of so many files; ``keys`` encrypt what they name."""
    aside = ArtefactStore(storage).staged_write(ARTEFACT, CURRENT)
    keys = with_checks(keys, keyring)
    made, wrapped = new_keys([FILES, *INDEXES], _SOURCE.path, keys, keyring)
    groups = store_of(storage).with_keys({}, made).write(aside, _groups(files))
    others = {name: of for name, of in groups.items() if name != FILES}
    segment = Segment(files, _SOURCE.generation, groups[FILES], others, keys=wrapped)
    state = TableState(_SOURCE, dict.fromkeys(others, True), {"one": segment}, keys)
    metadata_chain(storage).commit(
        lambda _: state.to_parts(),
        commit_id=uuid4().hex,
        created_at=store_clock(storage),
        created_by="benchmark",
    )


def compared(operator: str, column: str, value: int) -> Expression:
    """Return the comparison of a column with a value."""
    return Call(operator, (Column((column,), "bigint"), Literal(pa.scalar(value, pa.int64()))))


@dataclass
class Planner:
    """Plans with several stores of the same metadata; ``keyring`` makes the keys of a cold process."""

    stores: Mapping[str, Storage]
    keyring: Callable[[], Keyring] = Keyring
    _opened: dict[str, TableMetadata] = field(default_factory=dict)

    def least_ms(
        self, predicates: Sequence[Expression], runs: int
    ) -> tuple[int, Mapping[tuple[str, bool], float]]:
        """Return how many files are left, and the least time by store and whether it is cold.

        The first run is not counted.
        """
        clause = build_clause([index_from_specification(each) for each in INDEXES], predicates)
        assert clause is not None
        times: dict[tuple[str, bool], list[float]] = {}
        left = set()
        for run in range(1 + runs):
            # Each comes first as often as the others: what a processor still holds is of the one before.
            first = run % len(self.stores)
            for name in [*self.stores][first:] + [*self.stores][:first]:
                for is_cold in (True, False):
                    milliseconds, mask = self._planned(self.stores[name], clause, is_cold=is_cold)
                    times.setdefault((name, is_cold), []).append(milliseconds)
                    left.add(int(np.count_nonzero(mask)))
        (count,) = left  # all leave the same files
        return count, {of: min(each[1:]) for of, each in times.items()}

    def _planned(self, storage: Storage, clause: Clause, *, is_cold: bool) -> tuple[float, Mask]:
        if is_cold:
            KEPT.clear()
            known_details._kept.clear()
            self._opened.clear()
            keyring = self.keyring()
        start = time.perf_counter()
        if is_cold:
            opened = read_metadata(storage, keyring=keyring)
            assert opened is not None and not opened.unlocked.locked
            self._opened[storage.place] = opened
        else:
            # What a finder asks once a second: whether there is a newer version.
            assert max(metadata_chain(storage).listed()) == self._opened[storage.place].version
        metadata = self._opened[storage.place]
        mask = metadata.may_match(clause)
        assert len(metadata.paths) == len(metadata.sizes) == len(metadata.modified_ms) == len(mask)
        return (time.perf_counter() - start) * 1000, mask


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
