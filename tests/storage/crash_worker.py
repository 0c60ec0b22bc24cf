"""Run as a script: forks writers, kills them, and prints as JSON what readers saw; see ``test_kill.py``.

A script of its own, so that it forks from a process without threads; a child costs milliseconds then,
where a fresh interpreter costs half a second. The client of an object store has threads: with a URL for a
place, only children ask the store.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from starskip.errors import StorageError
from starskip.storage import local_storage, manifest_log, object_storage, storage
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.object_storage import ObjectStorage
from starskip.storage.storage import PutVerdict
from starskip.storage.storage_for import storage_for
from starskip.storage.vacuum import vacuum

NUMBERS = pa.schema([("table", pa.string()), ("generation", pa.int64())])
NIGHT = "2026-11-18"
CREATED = {"created_at": datetime(2026, 11, 19, 1, 30, tzinfo=UTC), "created_by": "test"}
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
# Each child would else visit, and so copy, all that was imported.
gc.freeze()


def store_at(place: str) -> ArtefactStore:
    return ArtefactStore(storage_for(place), {"numbers": NUMBERS})


def is_url(place: str) -> bool:
    return "://" in place


def copied(place: str, target: str) -> None:
    """Make ``target`` hold what ``place`` holds, and nothing else; a URL must be new."""
    if not is_url(place):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(place, target)
        return
    source, copy = storage_for(place), storage_for(target)
    for found in source.objects_below(""):
        content = source.read(found.name)
        assert content is not None
        copy.put_if_absent(found.name, content)


def answer_of(place: str, work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns; of an object store from a child, as JSON."""
    if not is_url(place):
        return work()
    read_end, write_end = os.pipe()
    child = forked(lambda: os.write(write_end, json.dumps(work()).encode()))
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answer:
        content = answer.read()
    assert ended(child) == 0
    return json.loads(content)


def generation_seen(store: ArtefactStore) -> int:
    """Read all rows as a reader does; -1 for a mix of generations or rows too few."""
    snapshot = store.snapshot("numbers", NIGHT)
    if snapshot is None:
        return 0
    rows = snapshot.read_table()
    generations = set(rows["generation"].to_pylist())
    whole = rows["table"].to_pylist() == ["a"] * 3 + ["b"] * 3
    return generations.pop() if whole and len(generations) == 1 else -1


def publish(store: ArtefactStore, generation: int) -> None:
    aside = store.staged_write("numbers", NIGHT)
    parts = {
        table: Part(
            aside.write(
                table, pa.table({"table": [table] * 3, "generation": [generation] * 3}, schema=NUMBERS)
            )
        )
        for table in ("a", "b")
    }
    store.publish("numbers", NIGHT, parts, replace="tables", **CREATED)


def sweep(store: ArtefactStore) -> None:
    left = vacuum(store, now=datetime(2100, 1, 1, tzinfo=UTC), grace=timedelta(0), keep_manifests=1)
    assert not left.left_alone, left


def forked(work: Callable[[], None]) -> int:
    """Start ``work`` in a child and return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)


def ended(child: int) -> int:
    """Wait for the child; 0 if it finished its work, -9 if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at_line(number: int) -> Callable[[FrameType, str, Any], Any]:
    """Trace the modules that touch the store; kill -9 this process before their line ``number``."""
    watched = {module.__file__ for module in (manifest_log, local_storage, object_storage, storage)}
    passed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in watched:
            return None
        if event == "line":
            passed += 1
            if passed == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def kill_before_lines(root: str, every: int) -> dict[str, Any]:
    """Publish over generation 1, then vacuum: each killed before every so many lines until it is through."""
    counts = {"killed": 0, "old": 0, "new": 0, "wrong": 0, "stuck": 0}
    template = f"{root}/template"
    answer_of(root, lambda: publish(store_at(template), 1))
    for step, seen_before in ((lambda store: publish(store, 2), 1), (sweep, 2)):
        line, exit_code = 1, -9
        while exit_code == -9:
            scratch = f"{root}/scratch-{seen_before}-{line}" if is_url(root) else f"{root}/scratch"
            answer_of(root, lambda scratch=scratch: copied(template, scratch))
            store = store_at(scratch)

            def work(store: ArtefactStore = store, line: int = line, step: Any = step) -> None:
                sys.settrace(kill_at_line(line))
                step(store)

            def mended(store: ArtefactStore = store, step: Any = step) -> tuple[int, int, int]:
                seen = generation_seen(store)
                step(store)
                sweep(store)
                return seen, generation_seen(store), len(list(store.storage.objects_below("")))

            exit_code = ended(forked(work))
            counts["killed"] += exit_code == -9
            seen, seen_after, left = answer_of(root, mended)
            counts["old" if seen == seen_before else "new" if seen == 2 else "wrong"] += 1
            counts["stuck"] += seen_after != 2 or left != 3
            line += every
        if step is not sweep:  # the vacuum starts from what a published second generation leaves

            def second() -> None:
                publish(store_at(template), 2)
                store_at(template).staged_write("numbers", NIGHT).write_file("a", "orphan", b"x")

            answer_of(root, second)
    return counts


def kill_at_random(root: str, kills: int, seed: int) -> dict[str, Any]:
    """Let a child publish and vacuum in a loop and kill -9 it at a random moment, ``kills`` times."""
    chance = random.Random(seed)
    store = store_at(f"{root}/random")
    longest_s = 0.4 if is_url(root) else 0.08  # a child needs that long to reach the store
    counts = {"killed": 0, "wrong": 0, "published": 0}

    def loop() -> None:
        while True:
            publish(store, generation_seen(store) + 1)
            # A vacuum without grace would be right to take the files of a reader: none runs here.
            if chance.random() < 0.2:
                sweep(store)

    def publish_next() -> tuple[int, int]:
        now = generation_seen(store)
        publish(store, now + 1)
        return now, generation_seen(store)

    def clean() -> int:
        sweep(store)
        return len(list(store.storage.objects_below("")))

    seen = 0
    for _ in range(kills):
        child = forked(loop)
        time.sleep(chance.uniform(0.0, longest_s))
        os.kill(child, signal.SIGKILL)
        counts["killed"] += ended(child) == -9
        now, after = answer_of(root, publish_next)
        counts["wrong"] += (now < seen) + (after != now + 1)
        seen = after
    counts["published"] = seen
    counts["left"] = answer_of(root, clean)
    return counts


_chance = random.Random()


def _lossy(put: Callable[[str, bytes], PutVerdict], name: str, content: bytes) -> PutVerdict:
    """Lose one answer to a put in four, half of them after the put took effect."""
    lost, after = _chance.random() < 0.25, _chance.random() < 0.5
    if lost and not after:
        raise StorageError("lost before", location=name)
    verdict = put(name, content)
    if lost:
        raise StorageError("lost after", location=name)
    return verdict


class LossyFolder(LocalStorage):
    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        return _lossy(super().put_if_absent, name, content)


class LossyBucket(ObjectStorage):
    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        return _lossy(super().put_if_absent, name, content)


def race(root: str, processes: int, commits: int) -> dict[str, Any]:
    """Let each process count itself up in one manifest log, and report that log at the end."""
    place: Any = storage_for(f"{root}/race")
    lossy = LossyBucket(place.root) if is_url(root) else LossyFolder(place.root)
    contended = ManifestLog(lossy, "numbers/race")
    manifest_log.MAX_ATTEMPTS = 10_000

    def writer(process: int) -> None:
        _chance.seed(process)
        mine = f"process {process}"

        def change(parts: Any) -> Any:
            def one_more(table: str) -> Part:
                count = parts[table].properties["count"] if table in parts else 0
                return Part((), {"count": count + 1})

            return {**parts, mine: one_more(mine), "all": one_more("all")}

        for number in range(commits):
            contended.commit(change, commit_id=f"{process}/{number}", **CREATED)

    children = [forked(lambda process=process: writer(process)) for process in range(processes)]
    failed = sum(ended(child) != 0 for child in children)

    def report() -> dict[str, Any]:
        versions = contended.versions()
        manifests = [contended.read(version) for version in versions]
        return {
            "failed": failed,
            "versions": versions,
            "commit_ids": [manifest.commit_id for manifest in manifests],
            "running_counts": [manifest.parts["all"].properties["count"] for manifest in manifests],
            "counts": {table: part.properties["count"] for table, part in manifests[-1].parts.items()},
        }

    found: dict[str, Any] = answer_of(root, report)
    return found


if __name__ == "__main__":
    mode, place, *numbers = sys.argv[1:]
    function = {
        "lines": kill_before_lines,
        "random": kill_at_random,
        "race": race,
    }[mode]
    print(json.dumps(function(place, *map(int, numbers))))
