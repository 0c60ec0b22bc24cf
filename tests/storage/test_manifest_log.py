from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import CommitConflict, DamagedManifest, StorageError
from starskip.storage import manifest_log
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.storage import PutVerdict, Storage


def count_up(table: str) -> Any:
    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        count = parts[table].properties["count"] if table in parts else 0
        return {**parts, table: Part((), {"count": count + 1})}

    return change


def counts(chain: ManifestLog) -> dict[str, int]:
    latest = chain.latest()
    return {} if latest is None else {t: part.properties["count"] for t, part in latest.parts.items()}


def test_nothing_published_yet(storage: Storage) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    assert chain.latest() is None
    assert chain.versions() == ()


def test_versions_follow_one_another_and_stay_readable(storage: Storage, support: SimpleNamespace) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    written = [chain.commit(count_up("t"), commit_id=str(n), **support.CREATED) for n in range(3)]
    assert chain.versions() == (1, 2, 3)
    assert chain.latest() == written[-1]
    assert [chain.read(version) for version in (1, 2, 3)] == written


def test_another_writer_comes_first_and_the_change_is_applied_again(
    storage: Storage, support: SimpleNamespace
) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    others = iter(range(3))

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        for other in others:
            chain.commit(count_up("other"), commit_id=f"other {other}", **support.CREATED)
            break
        return count_up("mine")(parts)  # type: ignore[no-any-return]

    assert chain.commit(change, commit_id="mine", **support.CREATED).version == 4
    assert counts(chain) == {"other": 3, "mine": 1}


def test_others_come_first_for_ever(
    storage: Storage, support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_log, "MAX_ATTEMPTS", 5)
    chain = ManifestLog(storage, "queries/2026-11-18")

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        number = len(chain.versions())
        chain.commit(count_up("other"), commit_id=f"other {number}", **support.CREATED)
        return count_up("mine")(parts)  # type: ignore[no-any-return]

    with pytest.raises(CommitConflict, match="queries/2026-11-18: other writers came first 5 times"):
        chain.commit(change, commit_id="mine", **support.CREATED)
    assert counts(chain) == {"other": 5}


class Unsteady:
    """Puts answer by a plan: done, lost before or after the effect, late, or overtaken by another writer."""

    def __init__(self, support: SimpleNamespace, plan: list[str]) -> None:
        self.inner = support.MemoryStorage()
        self.plan = plan
        self.late: list[tuple[int, str, bytes]] = []
        self.calls = 0
        self.other = ManifestLog(self.inner, "c/1")
        self.created = support.CREATED
        self.others = 0

    def _tick(self) -> None:
        self.calls += 1
        due = [put for put in self.late if put[0] <= self.calls]
        self.late = [put for put in self.late if put[0] > self.calls]
        for _, name, content in due:
            self.inner.put_if_absent(name, content)

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        self._tick()
        action, _, number = (self.plan.pop(0) if self.plan else "done").partition(" ")
        if action == "overtaken":
            self.others += 1
            self.other.commit(count_up("other"), commit_id=f"other {self.others}", **self.created)
        if action == "late":
            self.late.append((self.calls + int(number), name, content))
        verdict = PutVerdict.ALREADY_EXISTS
        if action not in ("before", "late"):
            verdict = self.inner.put_if_absent(name, content)
        if action in ("before", "after", "late"):
            raise StorageError("the answer is lost", location=name)
        if action == "repeated":  # the request was sent twice on the way: the second one finds the first
            return PutVerdict.ALREADY_EXISTS
        return verdict  # type: ignore[no-any-return]

    def read(self, name: str) -> bytes | None:
        self._tick()
        return self.inner.read(name)  # type: ignore[no-any-return]

    def objects_below(self, folder: str) -> Any:
        self._tick()
        return self.inner.objects_below(folder)

    def delete(self, name: str) -> None:
        raise AssertionError(f"a commit deletes nothing, not {name}")


actions = st.sampled_from(["done", "before", "after", "repeated", "overtaken"]) | st.integers(1, 9).map(
    lambda calls: f"late {calls}"
)


@given(st.lists(actions, max_size=8), st.integers(1, 4))
def test_whatever_becomes_of_its_answers_each_commit_happens_exactly_once(
    support: SimpleNamespace, plan: list[str], commits: int
) -> None:
    storage: Any = Unsteady(support, list(plan))
    chain = ManifestLog(storage, "c/1")
    for number in range(commits):
        chain.commit(count_up("mine"), commit_id=f"mine {number}", **support.CREATED)
    for _ in range(10):
        storage._tick()
    expected = {"mine": commits} | ({"other": storage.others} if storage.others else {})
    assert counts(chain) == expected
    assert chain.versions() == tuple(range(1, commits + storage.others + 1))


def test_store_that_never_takes_a_put(support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_log, "MAX_ATTEMPTS", 3)
    storage: Any = Unsteady(support, ["before"] * 3)
    with pytest.raises(StorageError, match="the answer is lost"):
        ManifestLog(storage, "c/1").commit(count_up("t"), commit_id="x", **support.CREATED)


def test_last_attempt_took_effect_though_its_answer_was_lost(
    support: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_log, "MAX_ATTEMPTS", 1)
    storage: Any = Unsteady(support, ["after"])
    chain = ManifestLog(storage, "c/1")
    assert chain.commit(count_up("t"), commit_id="x", **support.CREATED).version == 1


def test_the_newest_whole_manifest_stands_in_for_damaged_and_misplaced_ones(
    storage: Storage, support: SimpleNamespace
) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    chain.commit(count_up("t"), commit_id="1", **support.CREATED)
    content = storage.read(chain.manifest_name(1))
    assert content is not None
    storage.put_if_absent(chain.manifest_name(2), content)
    storage.put_if_absent(chain.manifest_name(3), content[:-1])
    with pytest.raises(DamagedManifest, match=r"0002\.json: holds version 1"):
        chain.read(2)
    with pytest.raises(DamagedManifest, match=r"0003\.json: the manifest is damaged"):
        chain.read(3)
    with pytest.raises(StorageError, match="a vacuum may have removed it"):
        chain.read(4)
    assert [chain.read_or_before(version).version for version in (1, 2, 3)] == [1, 1, 1]
    assert counts(chain) == {"t": 1}
    committed = chain.commit(count_up("t"), commit_id="2", **support.CREATED)
    assert (committed.version, chain.latest()) == (4, committed)
    assert counts(chain) == {"t": 2}


def test_no_manifest_is_whole(storage: Storage, support: SimpleNamespace) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    for version, content in ((1, b""), (2, b"torn")):
        storage.put_if_absent(chain.manifest_name(version), content)
    with pytest.raises(DamagedManifest, match=r"0002\.json: the manifest is damaged; run the step"):
        chain.latest()
    assert chain.commit(count_up("t"), commit_id="1", **support.CREATED).version == 3
    assert counts(chain) == {"t": 1}


def test_a_manifest_of_a_later_version_is_not_passed_over(storage: Storage, support: SimpleNamespace) -> None:
    chain = ManifestLog(storage, "queries/2026-11-18")
    chain.commit(count_up("t"), commit_id="1", **support.CREATED)
    storage.put_if_absent(chain.manifest_name(2), b'{"body":{},"checksum":"","format_version":2}')
    with pytest.raises(StorageError, match="use the version that wrote it"):
        chain.latest()
    with pytest.raises(StorageError, match="use the version that wrote it"):
        chain.commit(count_up("t"), commit_id="2", **support.CREATED)


def test_newest_is_by_number_whatever_the_times_and_strangers_say(
    local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    import os

    chain = ManifestLog(local_storage, "queries/2026-11-18")
    for number in range(12):
        chain.commit(count_up("t"), commit_id=str(number), **support.CREATED)
    os.utime(local_storage.root / chain.manifest_name(3), (4e9, 4e9))
    folder = local_storage.root / "queries/2026-11-18/manifests"
    (folder / "00000000000000000099.json.abc.partial").write_bytes(b"half")
    (folder / "notes.txt").write_bytes(b"left by a person")
    (folder / "00000000000000000098").mkdir()
    latest = chain.latest()
    assert latest is not None
    assert latest.version == 12


def test_overtaken_and_vacuumed_between_listing_and_reading(
    local_storage: LocalStorage, support: SimpleNamespace
) -> None:
    chain = ManifestLog(local_storage, "queries/2026-11-18")
    chain.commit(count_up("t"), commit_id="1", **support.CREATED)

    class Slow(LocalStorage):
        def read(self, name: str) -> bytes | None:
            if name == chain.manifest_name(1) and len(chain.versions()) == 1:
                chain.commit(count_up("t"), commit_id="2", **support.CREATED)
                local_storage.delete(name)
            return LocalStorage.read(self, name)

    latest = ManifestLog(Slow(local_storage.root), chain.key).latest()
    assert latest is not None
    assert latest.version == 2
