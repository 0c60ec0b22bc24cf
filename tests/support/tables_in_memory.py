"""A table of files that exist in Python alone, an engine that reads them, and what its metadata must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from starskip.file_metadata import write_collected as of_collected
from starskip.file_metadata.collect_order import FILES, Collection, CollectOrder, collection_of
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.metadata_files import FILES_SCHEMA
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.refresh_metadata import Clock, Refreshed, refresh_metadata
from starskip.file_metadata.table_files import TableFiles
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.write_collected import write_collected
from starskip.skipping.index_types.min_max import MinMax
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.local_storage import LocalStorage
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
LONG_AGO_MS = NOW_MS - 36_000_000


@dataclass(frozen=True)
class File:
    """A version of a file: ``values`` of its only column, of which indexes ``minmax:x``, ``minmax:y`` are."""

    values: tuple[int, ...]
    modified_ms: int = LONG_AGO_MS
    version: int = 0

    @property
    def size_bytes(self) -> int:
        return 100 + len(self.values) + 1000 * self.version

    def bounds(self) -> tuple[int | None, int | None, int]:
        return (min(self.values), max(self.values), len(self.values)) if self.values else (None, None, 0)


def index(name: str) -> MinMax:
    return MinMax([name])


@dataclass
class Table:
    """The table, and the TableReader that reads it; a hook may do something while it is read."""

    files: dict[str, File] = field(default_factory=dict)
    fingerprint: str = "one"
    now_ms: int = NOW_MS
    meanwhile: Callable[[], None] | None = None
    read: list[str] = field(default_factory=list)
    listed: dict[str, File] = field(default_factory=dict)
    rows_per_batch: int = 3
    bytes_per_file: int = 1 << 20

    @property
    def source(self) -> TableSource:
        return TableSource("file:/t", "parquet", {"schema": self.fingerprint})

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:
        del anew, clock_behind_ms
        self.listed = dict(self.files)
        return TableFiles(
            pa.array(list(self.listed), pa.string()),
            np.array([file.size_bytes for file in self.listed.values()], np.int64),
            np.array([file.modified_ms for file in self.listed.values()], np.int64),
            self.now_ms,
        )

    def collect(self, order: CollectOrder, aside: StagedWrite) -> Collection:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()

        def found() -> Any:
            paths = order.files["path"].to_pylist()
            for start in range(0, len(paths), self.rows_per_batch):
                some = [
                    None if path is None else self.files.get(path, File(()))
                    for path in paths[start : start + self.rows_per_batch]
                ]
                bounds = [(None, None, None) if file is None else file.bounds() for file in some]
                columns = [pa.array([each[number] for each in bounds], pa.int64()) for number in range(3)]
                groups = {
                    each.specification: pa.table(columns, ["min", "max", "values"]) for each in order.indexes
                }
                if order.with_files:
                    mine = order.files.slice(start, self.rows_per_batch)
                    rows = pa.array([each[2] for each in bounds], pa.int64())
                    table = mine.append_column("rows", rows).select(FILES_SCHEMA.names).cast(FILES_SCHEMA)
                    groups[FILES] = table
                yield start, groups

        self.read += [path for path in order.files["path"].to_pylist() if path is not None]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(of_collected, "BYTES_PER_FILE", self.bytes_per_file)
            written = list(write_collected(aside, order.row_counts, found(), keys=order.keys))
        return collection_of(order, written)

    def changed_files(self, chosen: Any) -> pa.Array:
        names = [path for path, is_chosen in zip(self.listed, chosen, strict=True) if is_chosen]
        return pa.array([path for path in names if self.files.get(path) != self.listed[path]], pa.string())

    def wait(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)

    def refresh(
        self, storage: Storage, *created: str, in_full: bool = False, encryption: Encryption | None = None
    ) -> Refreshed:
        self.read.clear()
        clock = Clock(lambda: datetime.fromtimestamp(0, UTC), self.wait)
        indexes = [index(name) for name in created]
        return refresh_metadata(
            storage, self, indexes, clock, created_by="test", in_full=in_full, encryption=encryption
        )


def commit() -> Commit:
    return Commit(uuid4().hex, NOW, "test")


def known(storage: Storage, keyring: Keyring | None = None) -> dict[str, Any]:
    """Return by path what metadata knows of a file: identity, rows, and each active index's columns."""
    metadata = read_metadata(storage, keyring=keyring)
    assert metadata is not None
    paths = metadata.paths.to_pylist()
    assert len(set(paths)) == len(paths) == metadata.files, "a file is there twice"
    columns = {
        name: list(
            zip(*(metadata.column(name, of).to_pylist() for of in ("min", "max", "values")), strict=True)
        )
        for name in (each.specification for each in metadata.indexes)
    }
    found = {}
    for row, path in enumerate(paths):
        identity = (int(metadata.sizes[row]), int(metadata.modified_ms[row]))
        of = {name: values[row] for name, values in columns.items()}
        found[path] = (identity, metadata.rows[row].as_py(), bool(metadata.trusted[row]), of)
    return found


def expected(files: Mapping[str, File], *indexes: str, now_ms: int = NOW_MS) -> dict[str, Any]:
    return {
        path: (
            (file.size_bytes, file.modified_ms),
            len(file.values),
            file.modified_ms <= now_ms - 2000,
            {f"minmax:{name}": file.bounds() for name in indexes},
        )
        for path, file in files.items()
    }


def require_no_wrong(storage: Storage, versions: Mapping[str, list[File]]) -> None:
    """Every row that is known must be what that version of the file holds; null says nothing."""
    for path, (identity, rows, _, columns) in known(storage).items():
        file = next(each for each in versions[path] if (each.size_bytes, each.modified_ms) == identity)
        assert rows == len(file.values)
        for values in columns.values():
            assert values in (file.bounds(), (None, None, None))


@pytest.fixture(scope="session")
def lake() -> SimpleNamespace:
    """Give the tests what this file defines."""
    return SimpleNamespace(
        File=File,
        Table=Table,
        NOW=NOW,
        NOW_MS=NOW_MS,
        LONG_AGO_MS=LONG_AGO_MS,
        commit=commit,
        known=known,
        expected=expected,
        index=index,
        require_no_wrong=require_no_wrong,
        grace=timedelta(0),
        forever=datetime(2100, 1, 1, tzinfo=UTC),
    )


@pytest.fixture
def fresh_storage(tmp_path: Path) -> Callable[[], LocalStorage]:
    numbers = count()
    return lambda: LocalStorage(tmp_path / f"store {next(numbers)}")


@pytest.fixture
def storage(fresh_storage: Callable[[], LocalStorage]) -> LocalStorage:
    return fresh_storage()


@pytest.fixture
def table() -> Table:
    return Table({f"file:/t/{name}": File((ord(name), ord(name) * 2)) for name in "bdac"})
