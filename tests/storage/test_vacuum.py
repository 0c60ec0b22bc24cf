from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.errors import StorageError
from starskip.storage.vacuum import vacuum

DAY_S = 86_400


@pytest.fixture
def memory(support: SimpleNamespace) -> Any:
    return support.MemoryStorage()


@pytest.fixture
def store(memory: Any, support: SimpleNamespace) -> Any:
    return support.store_on(memory)


def sweep(store: Any, keep: int = 1, grace_s: int = DAY_S) -> Any:
    now = datetime.fromtimestamp(store.storage.now_s, UTC)
    return vacuum(store, now=now, grace=timedelta(seconds=grace_s), keep_manifests=keep)


def content(snapshot: Any) -> list[bytes]:
    return [snapshot.read_file(file) for part in snapshot.parts().values() for file in part.files]


def test_manifests_stay_bounded_over_many_runs(store: Any, memory: Any, support: SimpleNamespace) -> None:
    for generation in range(40):
        memory.now_s += DAY_S
        support.publish(store, {"a": generation})
        sweep(store, keep=5)
        assert len(store.chain("numbers", support.NIGHT).versions()) <= 5
    assert store.chain("numbers", support.NIGHT).versions() == (36, 37, 38, 39, 40)


def test_month_old_file_that_was_overtaken_a_minute_ago(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    support.publish(store, {"a": 1})
    memory.now_s += 30 * DAY_S
    reader = store.snapshot("numbers", support.NIGHT)
    support.publish(store, {"a": 2})
    memory.now_s += 60
    assert sweep(store).removed == ()
    assert len(content(reader)) == 1
    memory.now_s += DAY_S
    assert len(sweep(store).removed) == 2
    assert store.snapshot("numbers", support.NIGHT).manifest.version == 2


def test_file_that_a_newer_manifest_carries_on(store: Any, memory: Any, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1, "b": 1})
    for generation in range(2, 6):
        memory.now_s += 2 * DAY_S
        support.publish(store, {"a": generation})
    memory.now_s += 2 * DAY_S
    report = sweep(store)
    assert len(report.removed) == 4 + 4
    assert report.removed_bytes > 0
    assert len(content(store.snapshot("numbers", support.NIGHT))) == 2


def test_writer_that_has_not_published_yet(store: Any, memory: Any, support: SimpleNamespace) -> None:
    support.publish(store, {"a": 1})
    memory.now_s += 9 * DAY_S
    aside = store.staged_write("numbers", support.NIGHT)
    aside.write_file("a", "x", b"slow")
    memory.now_s += DAY_S
    assert sweep(store).removed == ()
    memory.now_s += 1
    assert len(sweep(store).removed) == 1


def test_files_of_a_run_that_was_killed_before_its_first_commit(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    store.staged_write("numbers", support.NIGHT).write_file("a", "x", b"nobody will publish it")
    memory.now_s += DAY_S
    assert sweep(store).removed == ()
    memory.now_s += 1
    store.staged_write("numbers", support.NIGHT).write_file("a", "x", b"the run that was tried again")
    assert len(sweep(store).removed) == 1
    assert list(memory.objects.values()) == [b"the run that was tried again"]


def test_what_somebody_copied_beside_the_artefacts_is_not_touched(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    support.publish(store, {"a": 1})
    key = store.chain("numbers", support.NIGHT).key
    for name in (
        f"{key}/lineitem/report.html",
        f"{key}/notes.txt",
        "numbers/readme",
        "elsewhere/2026-11-18/x",
    ):
        memory.put_if_absent(name, b"ours")
    before = set(memory.objects)
    memory.now_s += 100 * DAY_S
    assert sweep(store).removed == ()
    assert set(memory.objects) == before


def test_slow_vacuum_beside_another_one_and_a_backfill(
    store: Any, memory: Any, support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow one has listed a chain that has ended, and been begun anew, before it deletes anything."""
    key = store.chain("numbers", support.NIGHT).key
    support.publish(store, {"a": 1})
    store.publish("numbers", support.NIGHT, {}, replace="all", **support.CREATED)
    memory.now_s += 2 * DAY_S
    now = datetime.fromtimestamp(memory.now_s, UTC)
    delete = memory.delete

    def late(name: str) -> None:
        monkeypatch.setattr(memory, "delete", delete)
        vacuum(store, now=now, grace=timedelta(days=1), settled=[key])
        assert store.run_dates("numbers") == ()
        support.publish(store, {"a": 7})
        delete(name)

    monkeypatch.setattr(memory, "delete", late)
    vacuum(store, now=now, grace=timedelta(days=1), settled=[key])
    snapshot = store.snapshot("numbers", support.NIGHT)
    assert snapshot.parts()["a"].properties == {"generation": 7}
    assert len(content(snapshot)) == 1


def test_artefact_that_cannot_be_listed_is_named_and_stops_no_other(
    store: Any, memory: Any, support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put_if_absent(f"broken/{support.NIGHT}/data/x", b"x")
    for generation in (1, 2):
        support.publish(store, {"a": generation})
    memory.now_s += 100 * DAY_S
    listed = memory.objects_below

    def failing(folder: str) -> Any:
        if folder == "broken":
            raise StorageError("broken: does not answer", location="broken")
        return listed(folder)

    monkeypatch.setattr(memory, "objects_below", failing)
    report = sweep(store)
    assert report.left_alone == (("broken", "broken: does not answer"),)
    assert len(report.removed) == 2


def test_listing_that_leaves_the_manifests_out_is_a_doubt(
    store: Any, memory: Any, support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.publish(store, {"a": 1})
    memory.now_s += 100 * DAY_S
    complete = memory.objects_below

    def incomplete(folder: str) -> Any:
        found = complete(folder)
        return found if folder.endswith("manifests") else (o for o in found if "/manifests/" not in o.name)

    monkeypatch.setattr(memory, "objects_below", incomplete)
    assert sweep(store).removed == ()


def test_damaged_manifest_stops_its_chain_and_no_other(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    for night in (support.NIGHT, "2026-11-19"):
        for generation in (1, 2, 3):
            support.publish(store, {"a": generation}, night=night)
    name = store.chain("numbers", support.NIGHT).manifest_name(3)
    memory.objects[name] = b"{}"
    memory.now_s += 100 * DAY_S
    report = sweep(store)
    assert {removed.split("/")[1] for removed in report.removed} == {"2026-11-19"}
    ((key, reason),) = report.left_alone
    assert key == f"numbers/{support.NIGHT}"
    assert "damaged" in reason


def test_damaged_manifest_that_was_overtaken_long_ago_keeps_nothing(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    for generation in (1, 2, 3):
        support.publish(store, {"a": generation})
    chain = store.chain("numbers", support.NIGHT)
    memory.objects[chain.manifest_name(2)] = b"{}"
    memory.now_s += DAY_S // 2
    report = sweep(store, keep=3)
    assert (report.removed, report.left_alone) == ((), ()), "all is within the grace"
    memory.now_s += DAY_S
    support.publish(store, {"a": 4})
    support.publish(store, {"a": 5})
    memory.objects[chain.manifest_name(4)] = b"{}"
    report = sweep(store, keep=5)
    assert (report.removed, report.left_alone) == ((), ()), "who read it before may still be at its files"
    memory.now_s += 2 * DAY_S
    report = sweep(store, keep=5)
    assert len(report.removed) == 2, "the files that the damaged ones alone named"
    assert report.left_alone == ()
    assert [len(content(store.snapshot("numbers", support.NIGHT)))] == [1]


def test_of_chosen_artefacts_alone(store: Any, memory: Any, support: SimpleNamespace) -> None:
    for generation in (1, 2):
        support.publish(store, {"a": generation})
    memory.now_s += 9 * DAY_S
    now = datetime.fromtimestamp(memory.now_s, UTC)
    for artefacts, removed in ((["star_trees"], 0), (["numbers"], 2)):
        report = vacuum(store, now=now, grace=timedelta(days=1), keep_manifests=1, artefacts=artefacts)
        assert len(report.removed) == removed


def test_clock_that_ran_ahead_removes_nothing_it_should_not(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    memory.now_s += 1000 * DAY_S
    support.publish(store, {"a": 1})
    memory.now_s -= 1000 * DAY_S
    support.publish(store, {"a": 2})
    support.publish(store, {"a": 3})
    memory.now_s += 2 * DAY_S
    assert sweep(store).removed == ()


def test_must_keep_one(store: Any) -> None:
    with pytest.raises(ValueError, match="at least one"):
        sweep(store, keep=0)


def test_chain_that_has_ended_goes_on_behind_its_last_number(
    store: Any, memory: Any, support: SimpleNamespace
) -> None:
    key = store.chain("numbers", support.NIGHT).key
    for last in (2, 4):
        support.publish(store, {"a": last})
        store.publish("numbers", support.NIGHT, {}, replace="all", **support.CREATED)
        memory.now_s += 2 * DAY_S
        vacuum(store, now=datetime.fromtimestamp(memory.now_s, UTC), grace=timedelta(days=1), settled=[key])
        assert store.run_dates("numbers") == ()
        assert store.snapshot("numbers", support.NIGHT) is None
        assert max(memory.objects) == f"_ended/{key}/{last:020d}"
    support.publish(store, {"a": 5})
    assert store.chain("numbers", support.NIGHT).versions() == (5,)
    assert support.publish(store, {"a": 6}).version == 6
