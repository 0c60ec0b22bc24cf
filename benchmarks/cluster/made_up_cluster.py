"""A made-up cluster on disk: tarred segments, broker logs, table configs, and the night's configuration.

The second night has the first night's segments and 1 % new ones, and a log as long. What is new waits in
``second/`` until ``add_second_night`` links it beside the first night's.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from made_up_logs import write_log
from made_up_segments import write_segments
from made_up_tables import FIRST_NIGHT, SECOND_NIGHT, TIME_COLUMN, ClusterSize, Table, made_up_tables

_SEGMENTS_AT_ONCE = 500
_RECORDS_A_FILE = 500_000
_FEWEST_FILES = 4
_DONE = "made.json"
_NEW = "second"


def write_cluster(folder: Path, size: ClusterSize) -> bool:
    """Write a cluster into ``folder`` by a process for each core; return False if it is there already."""
    if (folder / _DONE).exists():
        remove_second_night(folder)
        return False
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "config").mkdir(parents=True)
    tables = made_up_tables(size)
    for table in tables:
        path = folder / "config" / f"{table.name}.json"
        path.write_text(json.dumps(_table_config(table.name), indent=2), encoding="utf-8")
    (folder / "night.yaml").write_text(_configuration([table.name for table in tables]), encoding="utf-8")
    context = get_context("fork")
    with context.Pool(os.cpu_count()) as pool:
        waiting = [pool.apply_async(work) for work in _works(folder, size, tables)]
        for each in waiting:
            each.get()
    counts = {"segments": sum(table.segments for table in tables), "shapes": [len(t.shapes) for t in tables]}
    (folder / _DONE).write_text(json.dumps(counts), encoding="utf-8")
    return True


def _works(folder: Path, size: ClusterSize, tables: Sequence[Table]) -> Iterator[Callable[[], None]]:
    for root, day in ((folder, FIRST_NIGHT), (folder / _NEW, SECOND_NIGHT)):
        files = max(_FEWEST_FILES, -(-size.records // _RECORDS_A_FILE))
        for broker in range(files):
            records = (broker + 1) * size.records // files - broker * size.records // files
            path = root / "logs" / f"broker-{broker:02}-{day}.log"
            yield partial(write_log, path, size, day, records, broker)
    for table in tables:
        for place in range(0, table.segments, _SEGMENTS_AT_ONCE):
            numbers = range(place, min(place + _SEGMENTS_AT_ONCE, table.segments))
            yield partial(write_segments, folder / "segments" / table.name, table, numbers)
        new = range(table.segments, table.segments + table.new_segments)
        if new:
            yield partial(write_segments, folder / _NEW / "segments" / table.name, table, new)


def add_second_night(folder: Path) -> None:
    """Link what is new in the second night beside the files of the first."""
    for source, target in _links(folder):
        os.link(source, target)


def remove_second_night(folder: Path) -> None:
    """Leave the files of the first night."""
    for _, target in _links(folder):
        target.unlink(missing_ok=True)


def _links(folder: Path) -> Iterator[tuple[Path, Path]]:
    new = folder / _NEW
    for source in new.rglob("*"):
        if source.is_file():
            yield source, folder / source.relative_to(new)


def nights() -> tuple[date, date]:
    """Return the days of both nights."""
    return FIRST_NIGHT, SECOND_NIGHT


def _table_config(table: str) -> dict[str, object]:
    segments = {"timeColumnName": TIME_COLUMN, "replication": "1", "segmentPushType": "APPEND"}
    index = {"loadMode": "MMAP"}
    return {
        "tableName": table, "tableType": "OFFLINE", "segmentsConfig": segments, "tenants": {},
        "tableIndexConfig": index, "metadata": {},
    }  # fmt: skip


def _configuration(tables: Sequence[str]) -> str:
    configs = "".join(f"    - config/{table}.json\n" for table in tables)
    return (
        "store:\n  artefacts: artefacts\nsources:\n  log_paths:\n    - logs/broker-*-{run_date}.log\n"
        f"  segments_root: segments\n  table_configs:\n{configs}"
    )
