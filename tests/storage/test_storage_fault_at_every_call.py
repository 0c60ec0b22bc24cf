"""Every call to the store fails once, in every way: readers see old or new, the next run needs no human."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.errors import StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage import Storage
from starskip.storage.vacuum import vacuum

pytestmark = pytest.mark.slow

LONG_AFTER = datetime(2100, 1, 1, tzinfo=UTC)


def sweep(store: ArtefactStore, keep_manifests: int = 1) -> Any:
    return vacuum(store, now=LONG_AFTER, grace=timedelta(0), keep_manifests=keep_manifests)


def names(storage: Storage) -> set[str]:
    return {found.name for found in storage.objects_below("")}


Step = Callable[[ArtefactStore], Any]


@dataclass(frozen=True)
class Outcome:
    store: ArtefactStore
    finished: bool
    was_commit: bool


@pytest.fixture(params=["local", "s3"])
def copy_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Storage | None], Storage]:
    """Give a function that returns a store of the kind, empty or with the objects of another."""
    numbers = count()
    if request.param == "local":

        def copy(template: Any) -> Storage:
            target = tmp_path / str(next(numbers))
            if template is not None and template.root.exists():
                shutil.copytree(template.root, target)
            return LocalStorage(target)

        return copy
    fresh = request.getfixturevalue("fresh_s3_storage")

    def copy_objects(template: Storage | None) -> Storage:
        target: Storage = fresh()
        for found in template.objects_below("") if template else ():
            content = template.read(found.name) if template else None
            assert content is not None
            target.put_if_absent(found.name, content)
        return target

    return copy_objects


def every_fault(
    support: SimpleNamespace,
    copy_of: Callable[[Storage | None], Storage],
    template: Storage,
    step: Step,
    every: int = 1,
) -> list[Outcome]:
    """Run ``step`` on copies of ``template`` with each fault at each of its calls, or every so many."""
    dry_run = support.FaultyStorage(copy_of(template))
    step(support.store_on(dry_run))
    commit = len(dry_run.calls) if dry_run.calls[-1] == "put_if_absent" else 0
    outcomes = []
    for fault in support.Fault:
        for fault_at in range(1, len(dry_run.calls) + 1, every):
            inner = copy_of(template)
            storage = support.FaultyStorage(inner, fault, fault_at)
            try:
                step(support.store_on(storage))
                finished = True
            except StorageError as error:
                assert str(error).startswith("injected")
                finished = False
            assert len(storage.calls) >= fault_at, "the fault was not reached"
            if storage.late is not None:
                storage.late()
            outcomes.append(Outcome(support.store_on(inner), finished, fault_at == commit))
    return outcomes


PUBLICATIONS = {
    "first of a night": ({}, {"a": 1, "b": 1}, "tables", {"a": 1, "b": 1}),
    "two tables of three": (
        {"a": 1, "b": 1, "c": 1},
        {"a": 2, "b": 2},
        "tables",
        {"a": 2, "b": 2, "c": 1},
    ),
    "a whole night": ({"a": 1, "b": 1}, {"b": 2, "d": 2}, "all", {"b": 2, "d": 2}),
}


@pytest.mark.parametrize("situation", PUBLICATIONS)
def test_every_call_of_a_publish_fails_once(
    situation: str, support: SimpleNamespace, copy_of: Callable[[Storage | None], Storage]
) -> None:
    before, published, replace, after = PUBLICATIONS[situation]
    template = copy_of(None)
    if before:
        support.publish(support.store_on(template), before)

    def step(store: ArtefactStore) -> Any:
        return support.publish(store, published, replace)

    outcomes = every_fault(support, copy_of, template, step)
    for outcome in outcomes:
        store = outcome.store
        assert support.seen(store) in ([after] if outcome.finished else [before, after])
        step(store)
        assert support.seen(store) == after
        manifest = store.snapshot("numbers", support.NIGHT).manifest
        sweep(store)
        assert support.seen(store) == after
        kept = {file.name for part in manifest.parts.values() for file in part.files}
        assert names(store.storage) == kept | {
            store.chain("numbers", support.NIGHT).manifest_name(manifest.version)
        }
    settled = [outcome.finished for outcome in outcomes if outcome.was_commit]
    assert settled == [True] * len(support.Fault), "an unknown answer to the commit was not settled"
    print(f"{situation}: {len(outcomes)} faults")
    assert len(outcomes) >= 20


def test_every_call_of_a_vacuum_fails_once(
    support: SimpleNamespace, copy_of: Callable[[Storage | None], Storage]
) -> None:
    template = copy_of(None)
    store = support.store_on(template)
    for generation in range(1, 6):
        support.publish(store, {"a": generation, "b": generation})
        support.publish(store, {"a": generation}, night="2026-11-19")
    store.staged_write("numbers", support.NIGHT).write("a", support.numbers("a", 99))
    kill_left_this = f"numbers/{support.NIGHT}/manifests/00000000000000000009.json.1.partial"
    template.put_if_absent(kill_left_this, b'{"body"')
    clean = support.store_on(copy_of(template))
    # of each night three manifests, their data files, and what the two killed writers left
    assert len(sweep(clean, keep_manifests=2).removed) == (3 + 6) + (3 + 3) + 2
    end = names(clean.storage)
    assert names(template) > end

    # A copy of this store is 50 requests, where a disk copies a folder.
    every = 1 if isinstance(template, LocalStorage) else 5
    outcomes = every_fault(support, copy_of, template, lambda store: sweep(store, keep_manifests=2), every)
    for store in (outcome.store for outcome in outcomes):
        assert names(store.storage) >= end
        assert support.seen(store) == {"a": 5, "b": 5}
        assert support.seen(store, "2026-11-19") == {"a": 5}
        for night in store.run_dates("numbers"):  # every manifest that is left still has all its files
            chain = store.chain("numbers", night)
            for version in chain.versions():
                named = [file.name for part in chain.read(version).parts.values() for file in part.files]
                assert set(named) <= names(store.storage)
        sweep(store, keep_manifests=2)
        assert names(store.storage) == end
    print(f"vacuum: {len(outcomes)} faults")
    assert len(outcomes) >= 80 / every
