"""Old or new, whatever fails: each call to the store, and a kill behind each write."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from failing_store import FailingStore, Killed
from starskip.errors import StorageError
from starskip.star_tree.build.publish_trees import Outcome
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.vacuum import vacuum

pytestmark = pytest.mark.slow

FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("step", ["build", "growth"])
def test_every_call_to_the_store_fails_once_or_is_the_last(table: Any, step: str) -> None:
    table.configs = table.configs[1:]
    table.publish()
    before = table.documents()
    table.write("1.parquet" if step == "build" else "3.parquet", table.rows(9, 30))
    template = table.store.storage

    def attempt(storage: Any) -> None:
        replace(table, store=ArtefactStore(storage), read=[]).publish()

    dry_run = FailingStore(copy.deepcopy(template))
    attempt(dry_run)
    after = replace(table, store=ArtefactStore(dry_run.inner), read=[]).documents()
    assert after == table.in_full() and after != before
    states = set()
    for fault in dry_run.faults():
        storage = FailingStore(copy.deepcopy(template), *fault)
        try:
            attempt(storage)
        except StorageError as error:
            assert str(error) == "injected"
        except Killed:
            assert fault[2]
        found = replace(table, store=ArtefactStore(storage.inner), read=[])
        seen = found.documents()
        assert seen in (before, after)
        states.add(seen == after)
        assert found.publish().outcome is not Outcome.UNCHANGED or seen == after
        assert found.documents() == after
        vacuum(found.store, now=FOREVER, grace=timedelta(0), keep_manifests=1)
        assert found.documents() == after
        part = found.store.snapshot(ARTEFACT, CURRENT).manifest.parts["t"]  # type: ignore[union-attr]
        assert len(found.objects) == len(part.files) + 1
    assert states == {False, True}
    assert len(dry_run.faults()) >= 30
