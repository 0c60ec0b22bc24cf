"""A box over a dense place: its index blocks tell far too few rows, until they are read and counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skipping_tables import aged
from starskip.secondary import IndexedTable, open_table
from starskip.secondary.lifecycle import create_indexes

ROWS, DENSE = 20_000, 0.1
BOX = "x BETWEEN -0.003 AND 0.003 AND y BETWEEN -0.003 AND 0.003"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Points all over the world, a tenth of them within some kilometres, with long texts beside."""
    random = np.random.default_rng(3)
    is_near = random.random(ROWS) < DENSE
    letters = random.integers(97, 123, (ROWS, 700), np.uint8)
    ends = np.arange(ROWS + 1, dtype=np.int32) * 700
    return pa.table(
        {
            "x": np.where(is_near, random.normal(0, 0.01, ROWS), random.uniform(-180, 180, ROWS)),
            "y": np.where(is_near, random.normal(0, 0.01, ROWS), random.uniform(-60, 60, ROWS)),
            "kind": random.integers(0, 30, ROWS),
            "text": pa.StringArray.from_buffers(ROWS, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())),
        }
    )


@pytest.fixture(scope="module")
def table(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    folder = tmp_path_factory.mktemp("dense")
    pages = {"row_group_size": 2_000, "data_page_size": 1 << 14, "write_page_index": True}
    pq.write_table(rows, folder / "a.parquet", **pages)
    aged(folder)
    create_indexes(str(folder), ["rtree:x,y", "btree:kind"])
    return open_table(str(folder))


def in_box(rows: pa.Table) -> pa.Table:
    near = [pc.and_(pc.greater_equal(rows[name], -0.003), pc.less_equal(rows[name], 0.003)) for name in "xy"]
    return rows.filter(pc.and_(*near))


def test_what_was_counted_counts_for_the_scan_and_for_other_indexes(
    table: IndexedTable, rows: pa.Table
) -> None:
    plan = table.explain(f"{BOX} AND kind = 3")
    assert set(plan.chosen) == {"rtree:x,y", "btree:kind"}
    told = {each.path: each for each in plan.candidates}
    assert told["rtree:x,y",].estimated_rows == in_box(rows).num_rows > 50
    # Each of them fetches the texts of the same rows in the end; a scan filters all rows before.
    chosen_ms = told[plan.chosen].estimated_ms
    assert chosen_ms < told["scan",].estimated_ms


def test_each_candidate_is_told_once(table: IndexedTable) -> None:
    paths = [each.path for each in table.explain(f"{BOX} AND kind = 3").candidates]
    assert len(paths) == len(set(paths))


def test_two_lists_of_one_index_are_told_apart(tmp_path: Path) -> None:
    texts = [f"{'abc' * (n % 3 == 0)}{'xyz' * (n % 5 == 0)}-{n:04}" for n in range(600)]
    pq.write_table(pa.table({"t": texts}), tmp_path / "a.parquet", row_group_size=50)
    aged(tmp_path)
    create_indexes(str(tmp_path), ["ngram:t"])
    plan = open_table(str(tmp_path)).explain("t LIKE '%abc%' AND t LIKE '%xyz%'")
    rows = [each.estimated_rows for each in plan.candidates if each.path == ("ngram:t",)]
    assert {200, 120} <= set(rows)
