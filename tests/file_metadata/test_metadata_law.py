"""Whatever is done to a table and its metadata: what is known is true, and after a refresh all is known."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.local_storage import LocalStorage

HISTORIES = law_cases("STARSKIP_SKIPPING_CASES", 60)

paths = st.sampled_from([f"file:/t/{name}" for name in "abcdefgh"])
steps = st.one_of(
    st.tuples(st.just("write"), paths, st.lists(st.integers(-5, 5), max_size=3).map(tuple)),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("create"), st.sampled_from("xyz")),
    st.tuples(st.sampled_from(["refresh", "full", "optimize", "vacuum", "schema", "race"])),
    st.tuples(st.just("delete"), st.sampled_from("xyz")),
    st.tuples(st.just("restore"), st.sampled_from("xyz")),
)


class History:
    """A table, its metadata, all versions that its files ever had."""

    def __init__(self, lake: Any, storage: Any) -> None:
        self.lake = lake
        self.storage = storage
        self.table = lake.Table(rows_per_batch=2)
        self.versions: dict[str, list[Any]] = {}
        self.active: set[str] = set()
        self.kept: set[str] = set()
        self.clock = 0

    def write(self, path: str, values: tuple[int, ...]) -> None:
        self.clock += 1
        file = self.lake.File(values, modified_ms=self.lake.LONG_AGO_MS + self.clock)
        self.table.files[path] = file
        self.versions.setdefault(path, []).append(file)

    def remove(self, path: str) -> None:
        self.table.files.pop(path, None)

    def create(self, name: str) -> None:
        self.table.refresh(self.storage, name)
        self.active.add(name)
        self.kept.add(name)
        self.all_is_known()

    def refresh(self, *, in_full: bool = False) -> None:
        if self.kept:
            self.table.refresh(self.storage, in_full=in_full)
            self.all_is_known()

    def full(self) -> None:
        self.refresh(in_full=True)

    def race(self) -> None:
        """Another writer refreshes, then optimizes, while this one reads."""
        if not self.kept:
            return
        other = self.lake.Table(self.table.files)

        def meanwhile() -> None:
            other.refresh(self.storage)
            optimize_metadata(self.storage, self.lake.commit())

        other.fingerprint = self.table.fingerprint
        self.table.meanwhile = meanwhile
        self.table.refresh(self.storage)
        self.table.meanwhile = None
        assert self.lake.known(self.storage).keys() == self.table.files.keys()

    def schema(self) -> None:
        self.table.fingerprint += "+"

    def optimize(self) -> None:
        if self.kept:
            before = self.lake.known(self.storage)
            optimize_metadata(self.storage, self.lake.commit())
            assert self.lake.known(self.storage) == before

    def vacuum(self) -> None:
        vacuum_metadata(self.storage, self.lake.commit(), now=self.lake.forever, grace=self.lake.grace)
        self.kept = set(self.active)

    def delete(self, name: str) -> None:
        if name in self.kept:
            change_indexes(self.storage, [f"minmax:{name}"], self.lake.commit(), active=False)
            self.active.discard(name)

    def restore(self, name: str) -> None:
        if name in self.kept:
            change_indexes(self.storage, [f"minmax:{name}"], self.lake.commit(), active=True)
            self.active.add(name)

    def all_is_known(self) -> None:
        assert self.lake.known(self.storage) == self.lake.expected(self.table.files, *self.active)

    def nothing_is_wrong(self) -> None:
        if read_metadata(self.storage) is None:
            assert not self.kept
            return
        self.lake.require_no_wrong(self.storage, self.versions)
        state = existing_metadata(self.storage).state
        assert set(state.active) == {f"minmax:{name}" for name in self.active}


@pytest.mark.law
@settings(max_examples=HISTORIES, deadline=None)
@given(history=st.lists(steps, max_size=25))
def test_any_history(lake: Any, history: list[Any]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        found = History(lake, LocalStorage(folder))
        for name, *arguments in history:
            getattr(found, name)(*arguments)
            found.nothing_is_wrong()
    finally:
        shutil.rmtree(folder)


def test_what_an_index_that_is_not_active_did_not_see_is_collected_once_it_is_again(
    lake: Any, tmp_path: Path
) -> None:
    """An optimize in between must not make a merged segment seem to be covered whole."""
    found = History(lake, LocalStorage(tmp_path))
    for name, *arguments in [
        ("write", "file:/t/a", (1,)),
        ("write", "file:/t/b", (2,)),
        ("create", "x"),
        ("create", "y"),
        ("delete", "x"),
        ("write", "file:/t/b", (3,)),
        ("write", "file:/t/c", (4,)),
        ("refresh",),
        ("optimize",),
        ("restore", "x"),
        ("optimize",),
        ("refresh",),
    ]:
        getattr(found, name)(*arguments)
        found.nothing_is_wrong()
