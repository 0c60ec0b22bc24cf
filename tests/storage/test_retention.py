from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_nights import (
    ARTEFACTS,
    DAY_S,
    GRACE,
    NOVEMBER_S,
    TABLES,
    expected,
    found,
    publish,
    published,
    retire,
)
from starskip.errors import StorageError
from starskip.storage.manifest import Part
from starskip.storage.retention import retire_nights
from starskip.storage.vacuum import vacuum

pytestmark = pytest.mark.slow


def sweep(store: Any, retired: Any) -> Any:
    now = datetime.fromtimestamp(store.storage.now_s, UTC)
    return vacuum(store, now=now, grace=GRACE, settled=retired.settled)


def left_of_nights(memory: Any) -> set[tuple[str, ...]]:
    """Return the nights of which anything is left, but for the note of its last number."""
    places = (tuple(name.split("/")[:2]) for name in memory.objects)
    return {place for place in places if place[0] != "_ended"}


@pytest.fixture
def store(support: SimpleNamespace) -> Any:
    return support.store_on(support.MemoryStorage(now_s=NOVEMBER_S))


@settings(max_examples=300, deadline=None)
@given(published, st.integers(1, 5))
def test_each_artefact_keeps_its_newest_nights_and_each_table_its_newest_one(
    support: SimpleNamespace, model: dict[tuple[str, str], set[str]], keep: int
) -> None:
    store = support.store_on(support.MemoryStorage())
    for (artefact, night), tables in model.items():
        publish(store, artefact, night, tables)
    store.storage.now_s += 2 * DAY_S
    told = retire(store, keep, dry_run=True)
    assert found(store) == model
    retired = retire(store, keep)
    assert retired.old == told.old
    assert retired.left_alone == ()
    assert found(store) == expected(model, keep)
    for table in TABLES:
        for artefact in ARTEFACTS:
            of_table = [night for (a, night), tables in model.items() if a == artefact and table in tables]
            if of_table:
                assert table in found(store)[artefact, max(of_table)]
    assert retire(store, keep).old == ()


@settings(max_examples=300, deadline=None)
@given(published, st.integers(1, 3), st.data())
def test_whatever_call_fails_everything_stays_readable_and_the_next_nights_end_it(
    support: SimpleNamespace, model: dict[tuple[str, str], set[str]], keep: int, data: Any
) -> None:
    memory = support.MemoryStorage()
    store = support.store_on(memory)
    for (artefact, night), tables in model.items():
        publish(store, artefact, night, tables)
    memory.now_s += 2 * DAY_S
    fault = data.draw(st.sampled_from([support.Fault.BEFORE, support.Fault.AFTER, support.Fault.LATE]))
    faulty = support.FaultyStorage(memory, fault, data.draw(st.integers(1, 120)))
    broken = support.store_on(faulty)
    now = datetime.fromtimestamp(memory.now_s, UTC)
    try:
        retired = retire_nights(broken, nights=keep, days={}, now=now, grace=GRACE, created_by="test")
        vacuum(broken, now=now, grace=GRACE, settled=retired.settled)
    except StorageError:
        pass
    wanted = expected(model, keep)
    for place, tables in found(store).items():
        assert wanted.get(place, set()) <= tables <= model[place]
    for _ in range(4):
        memory.now_s += 2 * DAY_S
        sweep(store, retire(store, keep))
    assert found(store) == wanted
    assert left_of_nights(memory) == wanted.keys()


def test_reader_of_a_night_that_goes_is_safe_for_the_grace(store: Any) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        publish(store, "reports", day, {"a"})
    store.storage.now_s += 30 * DAY_S
    reader = store.snapshot("reports", "2026-11-01")
    retired = retire(store, 1)
    assert retired.nights == ("2026-11-01",)
    store.storage.now_s += DAY_S - 1
    sweep(store, retire(store, 1))
    assert [reader.read_file(file) for file in reader.parts()["a"].files] == [b"x"]
    store.storage.now_s += 2
    removed = sweep(store, retire(store, 1)).removed
    assert len(removed) == 3
    assert store.run_dates("reports") == ("2026-11-02",)


def test_night_of_which_anything_was_published_within_the_grace_is_left_alone(store: Any) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        for artefact in ARTEFACTS:
            publish(store, artefact, day, {"a"})
    store.storage.now_s += 30 * DAY_S
    publish(store, "numbers", "2026-11-01", {"a"})  # a backfill has reached its first stage
    assert retire(store, 1).old == ()
    store.storage.now_s += 2 * DAY_S
    assert {each.artefact for each in retire(store, 1).old} == set(ARTEFACTS)


def test_part_that_is_published_anew_in_between_stays(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.storage.manifest_log import ManifestLog

    for day in ("2026-11-01", "2026-11-02"):
        publish(store, "reports", day, {"a", "b"})
    store.storage.now_s += 30 * DAY_S
    commit = ManifestLog.commit

    def late(chain: Any, change: Any, **options: Any) -> Any:
        monkeypatch.setattr(ManifestLog, "commit", commit)
        publish(store, "reports", "2026-11-01", {"a"})
        return commit(chain, change, **options)

    monkeypatch.setattr(ManifestLog, "commit", late)
    retire(store, 1)
    assert found(store)["reports", "2026-11-01"] == {"a"}


def test_last_report_of_a_table_that_is_stopped_since_long_stays(store: Any) -> None:
    publish(store, "reports", "2026-01-01", {"stopped", "fine"})
    for day in range(1, 10):
        publish(store, "reports", f"2026-11-0{day}", {"fine"})
    store.storage.now_s += 30 * DAY_S
    retire(store, 3)
    assert found(store)["reports", "2026-01-01"] == {"stopped"}
    assert sorted(night for _, night in found(store)) == [
        "2026-01-01",
        "2026-11-07",
        "2026-11-08",
        "2026-11-09",
    ]


def test_words_of_a_log_are_no_tables_that_keep_nights(store: Any) -> None:
    for day in range(1, 6):
        publish(store, "rejected_records", f"2026-11-0{day}", {f"forged {day}", "-"})
    store.storage.now_s += 30 * DAY_S
    retire(store, 9, days={"rejected_records": 2})
    assert sorted(night for _, night in found(store)) == ["2026-11-04", "2026-11-05"]


@settings(max_examples=100, deadline=None)
@given(published, st.integers(1, 3), st.sets(st.sampled_from(TABLES)))
def test_only_the_wanted_tables_lose_nights(
    support: SimpleNamespace, model: dict[tuple[str, str], set[str]], keep: int, wanted: set[str]
) -> None:
    store = support.store_on(support.MemoryStorage())
    for (artefact, night), tables in model.items():
        publish(store, artefact, night, tables)
    store.storage.now_s += 2 * DAY_S
    retire(store, keep, tables=wanted)
    all_gone, seen = expected(model, keep), found(store)
    for place, tables in model.items():
        left = (tables - wanted) | (all_gone.get(place, set()) & wanted)
        assert seen.get(place, set()) == left


def test_what_belongs_to_no_table_goes_whichever_tables_are_wanted(store: Any) -> None:
    for day in range(1, 4):
        publish(store, "rejected_records", f"2026-11-0{day}", {f"forged {day}", "-"})
        publish(store, "reports", f"2026-11-0{day}", {"a", "b"})
    store.storage.now_s += 30 * DAY_S
    retire(store, 1, days={"rejected_records": 1}, tables={"a"})
    seen = found(store)
    assert [night for artefact, night in seen if artefact == "rejected_records"] == ["2026-11-03"]
    assert [seen["reports", f"2026-11-0{day}"] for day in (1, 2, 3)] == [{"b"}, {"b"}, {"a", "b"}]


class Killed(BaseException):
    """Nothing of the program runs after it: no handler of ours may catch it."""


class Mortal:
    """A storage whose process dies before call number ``at``, or after it has done its work."""

    def __init__(self, inner: Any, at: int, after: bool) -> None:
        self.inner, self.left, self.after = inner, at, after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method

        def call(*arguments: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.after):
                raise Killed
            answer = method(*arguments)
            if self.left == 0:
                raise Killed
            return answer

        return call


def is_killed(
    support: SimpleNamespace,
    model: dict[tuple[str, str], set[str]],
    keep: int,
    which: int,
    at: int,
    after: bool,
) -> bool:
    """Let night number ``which`` die at a call; tell whether it did. What must hold is asserted."""
    memory = support.MemoryStorage()
    store = support.store_on(memory)
    for (artefact, night), tables in model.items():
        publish(store, artefact, night, tables)
    wanted, was_killed = expected(model, keep), False
    # The first night takes parts away, the second their files, the third has nothing left to do.
    for number in range(which + 4):
        memory.now_s += 2 * DAY_S
        now = datetime.fromtimestamp(memory.now_s, UTC)
        readers = {place: store.snapshot(*place) for place in found(store)}
        working = support.store_on(Mortal(memory, at, after)) if number == which else store
        try:
            retired = retire_nights(working, nights=keep, days={}, now=now, grace=GRACE, created_by="test")
            vacuum(working, now=now, grace=GRACE, settled=retired.settled)
        except Killed:
            was_killed = True
        seen = found(store)
        assert wanted.keys() <= seen.keys()
        for place, tables in seen.items():
            assert wanted.get(place, set()) <= tables <= model[place]
        for reader in readers.values():
            assert all(
                reader.read_file(file) == b"x" for part in reader.parts().values() for file in part.files
            )
    assert found(store) == wanted
    assert left_of_nights(memory) == wanted.keys()
    return was_killed


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_killed_at_every_call_what_must_stay_is_readable_and_the_next_nights_end_it(
    support: SimpleNamespace, which: int, after: bool
) -> None:
    model = {("reports", f"2026-11-0{day}"): {"a", "b"} if day < 3 else {"a"} for day in (1, 2, 3)}
    calls = 0
    while is_killed(support, model, 1, which, calls + 1, after):
        calls += 1
    assert calls > 15


@settings(max_examples=100, deadline=None)
@given(published, st.integers(1, 3), st.integers(0, 2), st.integers(1, 150), st.booleans())
def test_killed_at_some_call_of_any_nights(
    support: SimpleNamespace,
    model: dict[tuple[str, str], set[str]],
    keep: int,
    which: int,
    at: int,
    after: bool,
) -> None:
    is_killed(support, model, keep, which, at, after)


def test_on_an_object_store_and_on_a_disk(
    support: SimpleNamespace, fresh_s3_storage: Callable[[], Any], local_storage: Any
) -> None:
    for storage in (fresh_s3_storage(), local_storage):
        store = support.store_on(storage)
        for day in (1, 2, 3):
            aside = store.staged_write("reports", f"2026-11-0{day}")
            tables = ["stopped", "fine"] if day == 1 else ["fine"]
            parts = {table: Part((aside.write_file(table, "f", b"x"),)) for table in tables}
            store.publish("reports", f"2026-11-0{day}", parts, replace="tables", **support.CREATED)
        reader = store.snapshot("reports", "2026-11-02")
        # These have clocks of their own: what was written just now is looked at from days ahead.
        now = datetime.now(UTC)
        options: dict[str, Any] = {"nights": 1, "days": {}, "grace": GRACE, "created_by": "test"}
        assert retire_nights(store, now=now, **options).old == ()
        told = retire_nights(store, now=now + 2 * GRACE, dry_run=True, **options)
        retired = retire_nights(store, now=now + 2 * GRACE, **options)
        assert told.old == retired.old
        assert retired.nights == ("2026-11-01", "2026-11-02")
        assert vacuum(store, now=now, grace=GRACE, settled=retired.settled).removed == ()
        assert reader.read_file(reader.parts()["fine"].files[0]) == b"x"
        retired = retire_nights(store, now=now + 4 * GRACE, **options)
        swept = vacuum(store, now=now + 4 * GRACE, grace=GRACE, settled=retired.settled)
        assert (retired.old, swept.left_alone) == ((), ())
        assert found(store) == {("reports", "2026-11-01"): {"stopped"}, ("reports", "2026-11-03"): {"fine"}}
        assert not list(storage.objects_below("reports/2026-11-02"))


def test_damaged_manifest_stops_nobody_and_its_night_goes_as_the_others_do(store: Any) -> None:
    for day in range(1, 4):
        for artefact in ARTEFACTS:
            publish(store, artefact, f"2026-11-0{day}", {"a"})
    name = store.chain("numbers", "2026-11-02").manifest_name(1)
    store.storage.objects[name] = b"{}"
    store.storage.now_s += 30 * DAY_S
    retired = retire(store, 1)
    assert {(each.artefact, each.run_date) for each in retired.old} == {
        (artefact, f"2026-11-0{day}") for artefact in ARTEFACTS for day in (1, 2)
    }
    assert retired.left_alone == ()
    settled = retired.settled
    for _ in range(2):
        store.storage.now_s += 2 * DAY_S
        now = datetime.fromtimestamp(store.storage.now_s, UTC)
        report = vacuum(store, now=now, grace=timedelta(days=1), settled=settled)
        assert report.left_alone == ()
    assert store.run_dates("numbers") == ("2026-11-03",)
    assert not list(store.storage.objects_below("numbers/2026-11-02"))


def test_must_keep_one(store: Any) -> None:
    with pytest.raises(ValueError, match="at least one"):
        retire(store, 0)
