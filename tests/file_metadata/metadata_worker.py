"""Run as a script: forks writers of metadata, kills some, and prints as JSON what readers saw.

A script of its own, so that it forks from a process without threads; only children read and write.
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
from pathlib import Path
from typing import Any

import pyarrow as pa
import tables_in_memory as lake
from killed_writes import kill_at
from patiently import patiently
from starskip.errors import StorageError
from starskip.file_metadata.open_metadata import existing_metadata, metadata_chain, read_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage import PutVerdict

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
os.fsync = lambda _: None  # a kill leaves the page cache as it was
gc.freeze()  # each child would else visit, and so copy, all that was imported


def answer_of(work: Callable[[], int]) -> int:
    """Return the number that ``work`` returns in a child; -9 if it was killed."""
    return ended(forked(work))


def forked(work: Callable[[], int]) -> int:
    child = os.fork()
    if not child:
        try:
            os._exit(work())
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(99)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def files(generation: int) -> dict[str, Any]:
    """Some files stay, some change, some are new in each generation."""
    names = [f"file:/t/{number}" for number in range(generation, generation + 6)]
    return {
        name: lake.File((number, generation if number % 2 else 0), version=generation if number % 2 else 0)
        for number, name in enumerate(names)
    }


def seen(storage: LocalStorage) -> int:
    """Return the generation that metadata tells of, 0 for none, 98 for a mix."""
    if read_metadata(storage) is None:
        return 0
    found = lake.known(storage)
    for generation in range(1, 90):
        if found == lake.expected(files(generation), "x", "y"):
            return generation
    return 98


def writes(root: str) -> dict[str, int]:
    counts = {"killed": 0, "old": 0, "new": 0, "wrong": 0, "stuck": 0}
    template, place = Path(root, "template"), Path(root, "place")
    steps: list[tuple[int, Callable[[LocalStorage], Any]]] = [
        (1, lambda storage: lake.Table(files(1)).refresh(storage, "x", "y")),
        (2, lambda storage: lake.Table(files(2)).refresh(storage)),
        (2, lambda storage: optimize_metadata(storage, lake.commit())),
        (3, lambda storage: lake.Table(files(3)).refresh(storage, in_full=True)),
    ]
    before = 0
    for after, step in steps:
        number, exit_code = 1, -9
        while exit_code == -9:
            shutil.rmtree(place, ignore_errors=True)
            if template.exists():
                shutil.copytree(template, place)
            storage = LocalStorage(place)

            def work(number: int = number, step: Any = step, storage: Any = storage) -> int:
                kill_at(number)
                step(storage)
                return 0

            def repeated(step: Any = step, storage: Any = storage) -> int:
                step(storage)
                return seen(storage)

            exit_code = answer_of(work)
            counts["killed"] += exit_code == -9
            found = answer_of(lambda storage=storage: seen(storage))
            counts["new" if found == after else "old" if found == before else "wrong"] += 1
            counts["stuck"] += answer_of(repeated) != after
            number += 1
        before = after

        def done(step: Any = step) -> int:
            step(LocalStorage(template))
            return 0

        assert answer_of(done) == 0
    return counts


def random_kills(root: str, kills: int, seed: int = 7) -> dict[str, int]:
    """Let a child refresh through the generations and kill -9 it at a random moment."""
    chance = random.Random(seed)
    storage = LocalStorage(Path(root, "random"))
    counts = {"killed": 0, "wrong": 0, "reached": 0}

    def loop() -> int:
        generation = max(seen(storage), 1)
        while True:
            lake.Table(files(generation)).refresh(storage, "x", "y")
            if chance.random() < 0.3:
                optimize_metadata(storage, lake.commit())
            generation = generation % 80 + 1

    for _ in range(kills):
        child = forked(loop)
        time.sleep(chance.uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        counts["killed"] += ended(child) == -9
        found = answer_of(lambda: seen(storage))
        counts["wrong"] += found > 90
        counts["reached"] = max(counts["reached"], found)
    return counts


_chance = random.Random()


class Lossy(LocalStorage):
    """Loses one answer to a put of a manifest in four, half of them after the put took effect."""

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        is_lost = "/manifests/" in name and _chance.random() < 0.25
        is_after = _chance.random() < 0.5
        if is_lost and not is_after:
            raise StorageError("lost before", location=name)
        verdict = super().put_if_absent(name, content)
        if is_lost:
            raise StorageError("lost after", location=name)
        return verdict


def race(root: str, writers: int, commits: int) -> dict[str, Any]:
    """Let each writer refresh after each file that it adds; all of them see the files of all."""
    folder = Path(root, "files")
    folder.mkdir()
    storage = Lossy(Path(root, "race"))

    def table() -> Any:
        found = sorted(folder.iterdir())
        return lake.Table({f"file:/t/{path.name}": lake.File((int(path.name),)) for path in found})

    def writer(process: int) -> int:
        _chance.seed(process)
        for number in range(commits):
            (folder / str(process * commits + number)).touch()
            patiently(lambda: table().refresh(storage, "x"))
            if _chance.random() < 0.05:
                patiently(lambda: optimize_metadata(storage, lake.commit()))
        return 0

    children = [forked(lambda process=process: writer(process)) for process in range(writers)]
    failed = sum(ended(child) != 0 for child in children)

    def report() -> int:
        metadata = existing_metadata(storage)
        paths = metadata.paths.to_pylist()
        known = lake.known(storage) if len(set(paths)) == len(paths) else {}
        expected = lake.expected(table().files, "x")
        found = {
            "failed": failed,
            "files": len(paths),
            "doubled": len(paths) - len(set(paths)),
            "missing": len(expected.keys() - set(paths)),
            "wrong": sum(expected.get(path) != what for path, what in known.items()),
            "versions": len(metadata_chain(storage).versions()),
            "segments": len(metadata.segments),
        }
        Path(root, "report").write_text(json.dumps(found))
        return 0

    assert answer_of(report) == 0
    found: dict[str, Any] = json.loads(Path(root, "report").read_text())
    return found


if __name__ == "__main__":
    mode, place, *numbers = sys.argv[1:]
    function: Callable[..., Any] = {"writes": writes, "random": random_kills, "race": race}[mode]
    print(json.dumps(function(place, *map(int, numbers))))
