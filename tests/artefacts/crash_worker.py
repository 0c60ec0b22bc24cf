"""Run as a script: forks writers, kills them, and prints as JSON what readers saw; see ``test_kill.py``.

A script of its own, so that it forks from a process without threads; a child costs milliseconds then,
where a fresh interpreter costs half a second.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from starskip.artefacts import chain, local_storage
from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.chain import Chain
from starskip.artefacts.local_storage import LocalStorage
from starskip.artefacts.manifest import Part
from starskip.artefacts.storage import PutVerdict
from starskip.artefacts.vacuum import vacuum
from starskip.errors import StorageError

NUMBERS = pa.schema([("table", pa.string()), ("generation", pa.int64())])
NIGHT = "2026-11-18"
CREATED = {"created_at": datetime(2026, 11, 19, 1, 30, tzinfo=UTC), "created_by": "test"}
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
# A kill -9 leaves the page cache as it was, so that syncing would only cost time here; what it is for, a
# power cut, no test of ours can make.
os.fsync = lambda _: None


def store_at(root: Path) -> ArtefactStore:
    return ArtefactStore(LocalStorage(root), {"numbers": NUMBERS})


def generation_seen(store: ArtefactStore) -> int:
    """Read all rows as a reader does; -1 for a mix of generations or rows too few."""
    snapshot = store.snapshot("numbers", NIGHT)
    if snapshot is None:
        return 0
    rows = snapshot.dataset().to_table(use_threads=False)
    generations = set(rows["generation"].to_pylist())
    whole = rows["table"].to_pylist() == ["a"] * 3 + ["b"] * 3
    return generations.pop() if whole and len(generations) == 1 else -1


def publish(store: ArtefactStore, generation: int) -> None:
    aside = store.write_aside("numbers", NIGHT)
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
    """Trace the two modules that touch the store; kill -9 this process before their line ``number``."""
    watched = {local_storage.__file__, chain.__file__}
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


def kill_before_every_line(root: Path) -> dict[str, Any]:
    """Publish over generation 1, then vacuum: each killed before line 1, 2, 3 ... until it gets through."""
    counts = {"killed": 0, "old": 0, "new": 0, "wrong": 0, "stuck": 0}
    template = root / "template"
    publish(store_at(template), 1)
    for step, seen_before in ((lambda store: publish(store, 2), 1), (sweep, 2)):
        line, exit_code = 1, -9
        while exit_code == -9:
            scratch = root / "scratch"
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(template, scratch)
            store = store_at(scratch)

            def work(store: ArtefactStore = store, line: int = line, step: Any = step) -> None:
                sys.settrace(kill_at_line(line))
                step(store)

            exit_code = ended(forked(work))
            counts["killed"] += exit_code == -9
            seen = generation_seen(store)
            counts["old" if seen == seen_before else "new" if seen == 2 else "wrong"] += 1
            step(store)
            sweep(store)
            left = list(store.storage.objects_below(""))
            counts["stuck"] += generation_seen(store) != 2 or len(left) != 3
            line += 1
        if step is not sweep:  # the vacuum starts from what a published second generation leaves
            publish(store_at(template), 2)
            store_at(template).write_aside("numbers", NIGHT).write_file("a", "orphan", b"x")
    return counts


def kill_at_random(root: Path, kills: int, seed: int) -> dict[str, Any]:
    """Let a child publish and vacuum in a loop and kill -9 it at a random moment, ``kills`` times."""
    chance = random.Random(seed)
    store = store_at(root / "random")
    counts = {"killed": 0, "wrong": 0, "published": 0}

    def loop() -> None:
        while True:
            publish(store, generation_seen(store) + 1)
            # A vacuum without grace would be right to take the files of a reader: none runs here.
            if chance.random() < 0.2:
                sweep(store)

    seen = 0
    for _ in range(kills):
        child = forked(loop)
        time.sleep(chance.uniform(0.0, 0.08))
        os.kill(child, signal.SIGKILL)
        counts["killed"] += ended(child) == -9
        now = generation_seen(store)
        counts["wrong"] += now < seen
        publish(store, now + 1)
        seen = generation_seen(store)
        counts["wrong"] += seen != now + 1
    counts["published"] = seen
    sweep(store)
    counts["left"] = len(list(store.storage.objects_below("")))
    return counts


class LossyStorage(LocalStorage):
    """Loses one answer to a put in four, half of them after the put took effect."""

    chance = random.Random()

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        lost, after = self.chance.random() < 0.25, self.chance.random() < 0.5
        if lost and not after:
            raise StorageError("lost before", location=name)
        verdict = super().put_if_absent(name, content)
        if lost:
            raise StorageError("lost after", location=name)
        return verdict


def race(root: Path, processes: int, commits: int) -> dict[str, Any]:
    """Let each process count itself up on one chain, and report the chain at the end."""
    contended = Chain(LossyStorage(root / "race"), "numbers/race")

    def writer(process: int) -> None:
        LossyStorage.chance.seed(process)
        mine = f"process {process}"

        def change(parts: Any) -> Any:
            def one_more(table: str) -> Part:
                count = parts[table].properties["count"] if table in parts else 0
                return Part((), {"count": count + 1})

            return {**parts, mine: one_more(mine), "all": one_more("all")}

        for number in range(commits):
            contended.commit(change, commit_id=f"{process}/{number}", max_attempts=10_000, **CREATED)

    children = [forked(lambda process=process: writer(process)) for process in range(processes)]
    failed = sum(ended(child) != 0 for child in children)
    versions = contended.versions()
    manifests = [contended.read(version) for version in versions]
    return {
        "failed": failed,
        "versions": versions,
        "commit_ids": [manifest.commit_id for manifest in manifests],
        "running_counts": [manifest.parts["all"].properties["count"] for manifest in manifests],
        "counts": {table: part.properties["count"] for table, part in manifests[-1].parts.items()},
    }


if __name__ == "__main__":
    mode, folder, *numbers = sys.argv[1:]
    function = {
        "lines": kill_before_every_line,
        "random": kill_at_random,
        "race": race,
    }[mode]
    print(json.dumps(function(Path(folder), *map(int, numbers))))
