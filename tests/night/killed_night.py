"""Run as a script: runs a night by forked stages, kills them in the middle, prints what readers saw.

A script of its own, so that it forks from a process without threads that has imported all that stages import.
Arguments: the folder of the cluster. See ``test_many_tables.py``.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES, Stage
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.stage_functions import stage_function
from starskip.night.stage_here import stage_here
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage_for import storage_for

Read = Mapping[str, Mapping[str, str]]
"""A hash of what readers see of each table of each artefact."""


def in_child(work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns in a child, None if it was killed; raise RuntimeError if it failed."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write_end, json.dumps(work()).encode())
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answer:
        content = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a child ended with {code}")
    return json.loads(content) if code == 0 else None


def run(stage: Stage, night: Night, kill_before: Callable[[int, str], bool] = lambda *_: False) -> int | None:
    """Run a stage in a child and return its number of writes; None if it was killed.

    ``kill_before``: whether it is killed before the write of that number and name.
    """

    def work() -> int:
        writes = 0
        put = LocalStorage.put_if_absent

        def counted(storage: LocalStorage, name: str, content: bytes) -> Any:
            nonlocal writes
            writes += 1
            if kill_before(writes, name):
                os.kill(os.getpid(), signal.SIGKILL)
            return put(storage, name, content)

        LocalStorage.put_if_absent = counted  # type: ignore[method-assign]
        stage_here(stage.name, night)
        return writes

    writes: int | None = in_child(work)
    return writes


def readable(night: Night) -> Read:
    """Read every artefact that stages have published, to its last byte."""

    def work() -> Read:
        found: dict[str, dict[str, str]] = {}
        for artefact in (name for stage in STAGES for name in (stage.artefact, *stage.beside)):
            if snapshot := night.store.snapshot(artefact, night.date_text):
                found[artefact] = {table: seen_of(snapshot, table) for table in snapshot.tables}
        return found

    read: Read = in_child(work)
    return read


def seen_of(snapshot: Any, table: str) -> str:
    part = snapshot.parts([table])[table]
    if snapshot.schema is None:
        seen = sorted((file.name.rpartition("-")[2], snapshot.read_file(file)) for file in part.files)
    else:
        rows = snapshot.read_table([table]).to_pylist()
        seen = sorted(str({name: _rounded(value) for name, value in row.items()}) for row in rows)
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def _rounded(value: object) -> object:
    """Return a float without its last digits, which depend on the order of summing."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def _is_doomed(middle: int | None, writes: int, name: str) -> bool:
    return "/manifests/" in name if middle is None else writes == middle


def main(cluster: Path) -> dict[str, Any]:
    """Run the night undisturbed; then in another store killed in each stage, twice, and run again each time.

    The first time a stage is killed in the middle of its writes, with nothing of the night there before; the
    second time with all files written and none published, over the whole night.
    """
    arguments = NightArguments(date(2026, 11, 18), "test", datetime(2026, 11, 19, 2, tzinfo=UTC))
    sound = night_from_config(str(cluster / "night.yaml"), arguments, {})
    killed = replace(sound, store=ArtefactStore(storage_for(str(cluster / "killed"))))
    for stage in STAGES:
        stage_function(stage.name)
    gc.freeze()
    writes = {stage.name: run(stage, sound) for stage in STAGES}
    expected = readable(sound)
    kills = 0
    changed: list[str] = []
    for is_first in (True, False):
        for stage in STAGES:
            before = readable(killed)
            middle = ((writes[stage.name] or 0) + 1) // 2
            kill_before = partial(_is_doomed, middle if is_first else None)
            kills += run(stage, killed, kill_before) is None
            for artefact, seen in readable(killed).items():
                if seen not in (before.get(artefact), expected[artefact]):
                    changed.append(f"{artefact} after a killed {stage.name}")
            assert run(stage, killed)
    after = readable(killed)
    differing = [name for name, seen in expected.items() if after.get(name) != seen]
    return {
        "kills": kills,
        "changed": changed,
        "differing": differing,
        "reports": len(after["reports"]),
        "writes": writes,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
