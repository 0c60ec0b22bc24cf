"""Run as a script: forks builders, kills them at their writes, and prints as JSON what readers saw.

A script of its own, as tests/artefacts/crash_worker.py is: it forks from a process without threads, and only
children read or build.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from killed_writes import kill_at
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.measure import COUNT_ROWS
from starskip.star_tree.serving.star_tree import ScanRequest
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
os.fsync = lambda _: None  # a kill leaves the page cache as it was
gc.freeze()  # each child would else visit, and so copy, all that was imported


def order(source: str, leaf: int) -> TreeOrder:
    document = {
        "dimensionsSplitOrder": ["a", "b", "c"],
        "functionColumnPairs": ["SUM__m", "COUNT__*"],
        "maxLeafRecords": leaf,
    }
    return TreeOrder("t", source, (StarTreeConfig.from_document(document),), {})


def publish(store: ArtefactStore, source: str, leaf: int) -> None:
    def run(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        return [function(item) for item in items]

    now = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
    publish_trees(run, store, order(source, leaf), now=now, created_by="test", documents_per_task=100)


def seen(store: ArtefactStore) -> int:
    """Return the published tree's T, having read all of it; 0 if it is not whole."""
    tree = open_trees(store).trees[0]
    counted = tree.scan(ScanRequest({}, ("c",), (COUNT_ROWS,))).measures[COUNT_ROWS].results()
    rows = sum(counted.to_pylist())
    return tree.config.max_leaf_records if len(tree.nodes) > 1 and rows == tree.rows == 80 else 0


def answer_of(work: Callable[[], int]) -> int:
    """Return the number that ``work`` returns in a child; -1 if it was killed."""
    child = os.fork()
    if not child:
        try:
            os._exit(work())
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(source: str, scratch: str) -> dict[str, int]:
    template, place = Path(scratch, "template"), Path(scratch, "place")
    assert answer_of(lambda: publish(ArtefactStore(LocalStorage(template)), source, 1) or 0) == 0
    counts = {"killed": 0, "old": 0, "new": 0, "wrong": 0, "stuck": 0}
    number, exit_code = 1, -9
    while exit_code == -9:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        store = ArtefactStore(LocalStorage(place))

        def work(number: int = number, store: ArtefactStore = store) -> int:
            kill_at(number)
            publish(store, source, 3)
            return 0

        def repeated(store: ArtefactStore = store) -> int:
            publish(store, source, 3)
            return seen(store)

        exit_code = answer_of(work)
        counts["killed"] += exit_code == -9
        found = answer_of(lambda store=store: seen(store))
        counts[{1: "old", 3: "new"}.get(found, "wrong")] += 1
        counts["stuck"] += answer_of(repeated) != 3
        number += 1
    return counts


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
