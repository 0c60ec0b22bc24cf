"""In whatever order stages publish, vacuum and read, the store is a dictionary of nights and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot
from starskip.storage.staged_write import StagedWrite
from starskip.storage.vacuum import vacuum

pytestmark = pytest.mark.slow

GRACE_S = 10
NIGHTS = ("2026-11-18", "2026-11-18", "2026-11-17")

nights = st.sampled_from(NIGHTS)
tables = st.sets(st.sampled_from(["a", "b\n/../c"]), min_size=1)
runs = st.tuples(nights, tables, st.sampled_from(["tables", "tables", "all"]))
operations = st.lists(
    st.one_of(
        runs.map(lambda run: [("write", *run), ("publish",)]),
        runs.map(lambda run: [("read", run[0]), ("write", *run), ("publish",)]),
        runs.map(lambda run: [("write", *run)]),
        st.just([("publish",)]),
        nights.map(lambda night: [("read", night)]),
        st.integers(1, 2 * GRACE_S).map(lambda seconds: [("wait", seconds)]),
        st.integers(1, 2).map(lambda keep: [("vacuum", keep)]),
    ),
    min_size=4,
    max_size=20,
).map(lambda groups: [step for group in groups for step in group])


@dataclass
class Pending:
    night: str
    parts: Mapping[str, Part]
    content: dict[str, bytes]
    replace: Any
    started_s: int


@dataclass
class Pinned:
    night: str
    snapshot: Snapshot
    content: dict[str, bytes]


def content_of(snapshot: Snapshot) -> dict[str, bytes]:
    return {
        table: b"".join(snapshot.read_file(file) for file in part.files)
        for table, part in snapshot.parts().items()
    }


@settings(max_examples=500, deadline=None)
@given(operations)
def test_store_equals_a_dictionary(support: SimpleNamespace, steps: list[Any]) -> None:
    storage = support.MemoryStorage()
    store = support.store_on(storage)
    model: dict[str, dict[str, bytes]] = {}
    pending: list[Pending] = []
    pinned: list[Pinned] = []
    overtaken_s: dict[tuple[str, int], int] = {}
    for number, step in enumerate(steps):
        match step:
            case ("write", night, written, replace):
                aside: StagedWrite = store.staged_write("numbers", night)
                content = {table: f"{number} {table}".encode() for table in written}
                parts = {
                    table: Part((aside.write_file(table, "x", content[table]),)) for table in sorted(written)
                }
                pending.append(Pending(night, parts, content, replace, storage.now_s))
            case ("publish",) if pending:
                work = pending.pop(0)
                old = store.snapshot("numbers", work.night)
                if old is not None:
                    overtaken_s[(work.night, old.manifest.version)] = storage.now_s
                store.publish("numbers", work.night, work.parts, replace=work.replace, **support.CREATED)
                kept = {} if work.replace == "all" else model.get(work.night, {})
                model[work.night] = kept | work.content
            case ("read", night):
                snapshot = store.snapshot("numbers", night)
                if snapshot is not None:
                    pinned.append(Pinned(night, snapshot, dict(model[night])))
            case ("wait", seconds):
                storage.now_s += seconds
            case ("vacuum", keep):
                now = datetime.fromtimestamp(storage.now_s, UTC)
                report = vacuum(store, now=now, grace=timedelta(seconds=GRACE_S), keep_manifests=keep)
                assert report.left_alone == ()
                oldest = storage.now_s - GRACE_S
                pending = [work for work in pending if work.started_s >= oldest]
                pinned = [
                    pin
                    for pin in pinned
                    if overtaken_s.get((pin.night, pin.snapshot.manifest.version), storage.now_s) >= oldest
                ]
        assert store.run_dates("numbers") == tuple(sorted(model))
        for night, expected in model.items():
            snapshot = store.snapshot("numbers", night)
            assert snapshot is not None
            assert content_of(snapshot) == expected
        for pin in pinned:
            assert content_of(pin.snapshot) == pin.content
    # With no one left who reads or writes, a vacuum leaves what the newest manifests name and nothing else.
    if model:
        vacuum(store, now=datetime(2100, 1, 1, tzinfo=UTC), grace=timedelta(0), keep_manifests=1)
        for night in model:
            snapshot = store.snapshot("numbers", night)
            assert snapshot is not None
            named = {file.name for part in snapshot.parts().values() for file in part.files}
            stored = {found.name for found in storage.objects_below(f"numbers/{night}")}
            assert stored == named | {f"numbers/{night}/manifests/{snapshot.manifest.version:020d}.json"}
