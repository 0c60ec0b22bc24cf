"""A changed bit in a footer of a run: told in one line, by whatever reads the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flipped_footers import flipped_footers
from secondary_tables import CLOCK
from starskip.errors import StorageError
from starskip.secondary import open_table, run_reader
from starskip.secondary.lifecycle import create_indexes, existing_indexes
from starskip.secondary.run_reader import RunReader
from starskip.storage import checked_parquet

WHERE = {
    "btree:a": "a BETWEEN 5 AND 40",
    "rtree:x,y": "x BETWEEN 0.3 AND 0.5 AND y BETWEEN 0.2 AND 0.6",
    "ngram:s": "s LIKE '%word 7%'",
}
ROWS = 600
_QUERIED = 211
"""Flips for each one that a query meets, which takes longer than a reader."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    values = {"a": draw.permutation(ROWS), "x": draw.random(ROWS), "y": draw.random(ROWS)}
    texts = [f"word {each}" for each in draw.permutation(ROWS)]
    (tmp_path / "t").mkdir()
    path = tmp_path / "t" / "0.parquet"
    pq.write_table(pa.table(values | {"s": texts}), path)
    # One that was written just now would count as unknown, and be scanned.
    os.utime(path, (1_700_000_000, 1_700_000_000))
    create_indexes(str(tmp_path / "t"), list(WHERE), clock=CLOCK)
    return tmp_path / "t"


def answer(folder: Path, index: str, path: str) -> pa.Table:
    run_reader.BLOCKS.clear()
    return open_table(str(folder)).query(WHERE[index], ["a"], path=[path]).sort_by("a")


def met(read: Callable[[], Any], name: str) -> str:
    """Return what became of reading a file: told, another exception, or read."""
    try:
        read()
    except StorageError as error:
        is_line = str(error) == f"{name}: is gone or damaged; refresh the metadata in full"
        return "told" if is_line else str(error)
    except Exception as error:
        return repr(error)
    return "read"


def flips_met(folder: Path, index: str, kind: str) -> dict[str, int]:
    """Return how often each became of a flip in the footer of the rows or the blocks of an index's run."""
    metadata = existing_indexes(str(folder))
    ((rows, blocks),) = (segment.groups[index] for segment in metadata.segments.values())
    file = rows if kind == "rows" else blocks
    path = Path(metadata.storage.place.removeprefix("file:"), file.name)
    path.chmod(0o644)
    content = path.read_bytes()
    found: dict[str, int] = {}
    for number, flipped in enumerate(flipped_footers(content)):
        path.write_bytes(flipped)
        reader = RunReader(metadata.storage, rows, blocks)
        became = {met(lambda: reader.empty if kind == "rows" else reader.bounds, file.name)}  # noqa: B023
        if number % _QUERIED == 0:
            became.add(met(lambda: answer(folder, index, index), file.name))
        for each in became:
            found[each] = found.get(each, 0) + 1
    path.write_bytes(content)
    return found


@pytest.mark.parametrize("index", WHERE)
@pytest.mark.parametrize("kind", ["rows", "blocks"])
def test_each_changed_bit_of_a_footer_is_told(table: Path, index: str, kind: str) -> None:
    found = flips_met(table, index, kind)
    assert found.keys() == {"told"} and found["told"] > 2_000
    assert answer(table, index, index).equals(answer(table, index, "scan"))


def test_without_their_digests_footers_are_believed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_parquet, "_checked_footer", lambda *given: None)
    found = flips_met(table, "btree:a", "rows")
    assert found["read"] > 100
