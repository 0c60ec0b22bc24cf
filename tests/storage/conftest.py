"""Stores for the tests of artefacts, one of which fails on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from memory_storage import MemoryStorage
from starskip.errors import StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.storage import PutVerdict, Storage, StoredObject
from starskip.storage.storage_for import storage_for

NUMBERS = pa.schema([("table", pa.string()), ("generation", pa.int64())])
NIGHT = "2026-11-18"
CREATED = {"created_at": datetime(2026, 11, 19, 1, 30, tzinfo=UTC), "created_by": "test"}


class Fault(Enum):
    BEFORE = "raised before the effect"
    AFTER = "raised after the effect: the answer is lost"
    LATE = "raised, and the effect comes only before the next call"
    PARTIAL = "raised after a part of it was written aside"


WRITES = ("put_if_absent", "delete")


@dataclass
class FaultyStorage:
    """Counts the calls to ``inner`` and lets number ``fault_at`` (from 1) fail."""

    inner: Storage
    fault: Fault = Fault.BEFORE
    fault_at: int = 0
    calls: list[str] = field(default_factory=list)
    late: Callable[[], object] | None = None

    def _call(self, method: str, *arguments: Any) -> Any:
        if self.late is not None:
            late, self.late = self.late, None
            late()
        self.calls.append(method)

        def effect() -> Any:
            return getattr(self.inner, method)(*arguments)

        if len(self.calls) != self.fault_at:
            return effect()
        if self.fault is Fault.AFTER:
            effect()
        if self.fault is Fault.LATE and method in WRITES:
            self.late = effect
        # An object store takes a request whole or not at all.
        if self.fault is Fault.PARTIAL and method == "put_if_absent" and isinstance(self.inner, LocalStorage):
            name, content = arguments
            path = self.inner.root / f"{name}.0.partial"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[: len(content) // 2])
        raise StorageError(f"injected: {self.fault.value}", location=method)

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        return self._call("put_if_absent", name, content)  # type: ignore[no-any-return]

    def read(self, name: str) -> bytes | None:
        return self._call("read", name)  # type: ignore[no-any-return]

    def delete(self, name: str) -> None:
        self._call("delete", name)

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        return self._call("objects_below", folder)  # type: ignore[no-any-return]

    def folders_in(self, folder: str) -> tuple[str, ...]:
        return self._call("folders_in", folder)  # type: ignore[no-any-return]

    @property
    def place(self) -> str:
        return self.inner.place

    def arrow_filesystem(self) -> pafs.FileSystem:
        return self.inner.arrow_filesystem()


def numbers(table: str, generation: int, rows: int = 3) -> pa.Table:
    return pa.table({"table": [table] * rows, "generation": [generation] * rows}, schema=NUMBERS)


def publish(store: ArtefactStore, tables: dict[str, int], replace: Any = "tables", night: str = NIGHT) -> Any:
    """Write each table's generation aside and publish them in one commit."""
    aside = store.staged_write("numbers", night)
    parts = {
        table: Part(aside.write(table, numbers(table, generation)), {"generation": generation})
        for table, generation in tables.items()
    }
    return store.publish("numbers", night, parts, replace=replace, **CREATED)


def seen(store: ArtefactStore, night: str = NIGHT) -> dict[str, int]:
    """Read the generations that a reader sees, from the rows and the properties, which must agree."""
    snapshot = store.snapshot("numbers", night)
    if snapshot is None:
        return {}
    rows = snapshot.read_table()
    assert rows.num_rows == 3 * len(snapshot.tables)
    found = dict(zip(rows["table"].to_pylist(), rows["generation"].to_pylist(), strict=True))
    assert found == {table: part.properties["generation"] for table, part in snapshot.parts().items()}
    assert rows.group_by(["table", "generation"]).aggregate([]).num_rows == len(found)
    return found


def store_on(storage: Storage) -> ArtefactStore:
    return ArtefactStore(storage, {"numbers": NUMBERS})


@pytest.fixture(scope="session")
def support() -> SimpleNamespace:
    """Give the tests what this file defines: with importlib import mode they cannot import it."""
    return SimpleNamespace(
        CREATED=CREATED,
        NIGHT=NIGHT,
        NUMBERS=NUMBERS,
        Fault=Fault,
        FaultyStorage=FaultyStorage,
        MemoryStorage=MemoryStorage,
        numbers=numbers,
        publish=publish,
        seen=seen,
        store_on=store_on,
    )


@pytest.fixture
def local_storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "artefacts")


@pytest.fixture
def fresh_s3_storage(s3: Any) -> Callable[[], Storage]:
    """Give a function for folders of the S3 server in which a former process has proved conditional puts.

    Proving it in a new one takes this server seconds, since racing writers wait for a lock there.
    """

    def fresh() -> Storage:
        url: str = s3.fresh_url()
        obstore.put(s3.store(), f"{url.removeprefix(s3.url())}/_conditional_put_probe", b"")
        return storage_for(url)

    return fresh


@pytest.fixture
def s3_storage(fresh_s3_storage: Callable[[], Storage]) -> Storage:
    return fresh_s3_storage()


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.slow)])
def storage(request: pytest.FixtureRequest) -> Storage:
    chosen: Storage = request.getfixturevalue(f"{request.param}_storage")
    return chosen


@pytest.fixture
def store(storage: Storage) -> ArtefactStore:
    return store_on(storage)


@pytest.fixture
def local_store(local_storage: LocalStorage) -> ArtefactStore:
    return store_on(local_storage)
