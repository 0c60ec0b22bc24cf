from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.errors import StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock


def test_it_is_the_stores_time_and_not_ours(support: SimpleNamespace) -> None:
    storage = support.MemoryStorage(now_s=86_400)
    assert store_clock(storage) == datetime(1970, 1, 2, tzinfo=UTC)
    assert storage.objects == {}


def test_on_a_disk_and_in_a_bucket_it_leaves_nothing_behind(storage: Storage) -> None:
    assert abs(store_clock(storage) - datetime.now(UTC)) < timedelta(hours=1)
    assert list(storage.objects_below("")) == []
    assert ArtefactStore(storage).artefacts() == ()


def test_listing_that_leaves_out_what_was_just_written(
    support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage: Any = support.MemoryStorage()
    monkeypatch.setattr(storage, "objects_below", lambda folder: iter(()))
    with pytest.raises(StorageError, match="memory: does not list an object that was just written"):
        store_clock(storage)
    assert storage.objects == {}
